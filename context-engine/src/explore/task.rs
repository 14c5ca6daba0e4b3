use std::time::Duration;

use muninn_base::{RelPath, Until};
use muninn_text::model::Model;
use serde::Serialize;

use super::call_cache::CallCache;
use super::citation::Citation;
use super::toolset::Toolset;
use super::trace::Trace;
use crate::tools::{Registry, ToolContext};

/// The limits of an exploration, including its children.
#[derive(Debug, Clone)]
pub struct DeepLimits {
    /// Maximum tokens of all model calls together, as counted by the backend.
    pub tokens: u64,
    /// Maximum number of tool calls. Repetitions are answered from the cache and do not count.
    pub calls: u32,
    /// Maximum levels of child explorations.
    pub depth: u32,
    /// Maximum turns of the model in each exploration.
    pub turns: u32,
    /// Maximum length of a model's answer, in tokens.
    pub max_answer_tokens: u32,
    /// Whether the backend must force a tool call in each turn. Used for models that tend to answer in text.
    pub tool_required: bool,
    /// The deadline.
    pub until: Until,
}

/// An observer that is told each tool call of an exploration.
pub trait Observer: Sync {
    /// Called for each tool call, with abbreviated arguments. They are not redacted.
    fn calls(&self, tool: &str, arguments: &str);
}

/// The outcome of an exploration.
#[derive(Debug, Clone, Serialize)]
pub struct ExploreOutcome {
    /// The cited places, the most important first. Each existed when it was cited.
    pub citations: Vec<Citation>,
    /// The files, best first: the lexical ranking fused with the citations.
    pub files: Vec<RelPath>,
    /// The record of turns and calls.
    pub trace: Trace,
}

/// The inputs of an exploration.
pub(crate) struct ExploreInputs<'a> {
    pub(crate) context: ToolContext<'a>,
    pub(crate) model: &'a dyn Model,
    pub(crate) observer: &'a dyn Observer,
}

/// The state that all explorations of a tree share.
pub(crate) struct Explorer<'a> {
    pub(crate) inputs: &'a ExploreInputs<'a>,
    pub(crate) registry: Registry,
    pub(crate) toolset: Toolset,
    pub(crate) limits: &'a DeepLimits,
    pub(crate) cache: CallCache,
}

pub(crate) struct ExplorationTask<'t> {
    pub(crate) question: &'t str,
    pub(crate) scope: Option<&'t RelPath>,
    pub(crate) candidates: &'t [String],
    /// The files of the candidates. If there are no citations, the lines that the exploration has read in these files
    /// are the answer.
    pub(crate) likely: &'t [RelPath],
    /// The number of levels below the root exploration.
    pub(crate) level: u32,
}

/// The lines that an exploration has seen. They are used if the model cites nothing.
#[derive(Default)]
pub(crate) struct Evidence {
    /// The citations of child explorations.
    pub(crate) cited: Vec<Citation>,
    /// The lines in results: file, first and last line.
    pub(crate) shown: Vec<(RelPath, u32, u32)>,
}

pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}
