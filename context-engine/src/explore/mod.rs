//! The deep lane: a model explores the repository with tools, under a budget, and what it finds is cited.
//!
//! A question that no ranking can answer ("how does a cancelled stream release its permit?") is given to a model with the
//! candidates of the lexical lane, a tree, and tools. It makes many calls in one turn; for a part of the question it may
//! open an exploration below its own, with a share of what is left to spend. It ends by citing places. Only those that
//! exist count, and nothing that it says takes anything from what the lexical lane found: see `fuse`.
//!
//! Whatever happens (no turn, no token, no time left, a model that fails, or says nothing of sense), an exploration ends
//! in the best answer so far, never in an error. After it returns, nothing that it began is still running.
//!
//! An exploration is a future that waits for its model only; tools run within its polls, so polls take milliseconds and
//! belong on a thread that may block. No thread is held between two of them. Dropping the future ends the exploration.

mod batch;
mod budget;
mod citation;
mod dialect;
mod fuse;
mod memo;
mod offer;
mod prompt;
mod recording;
mod talk;
mod trace;
mod turns;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use muninn_memory::model::Model;
use muninn_memory::redact;
use muninn_repo_tools::{RelPath, Until};
use serde::Serialize;
use serde_json::{Map, Value};

use budget::Budget;
pub use citation::Citation;
use dialect::citations::Cited;
use memo::Memo;
use offer::Offer;
pub use recording::{Recorder, Recording, RecordingError};
pub use trace::{CallTrace, Ended, Totals, Trace, TurnTrace};

use crate::tools::{PathArgument, Registry, Tool, ToolContext, ToolError, Tree, TreeArguments};

/// How far an exploration may go, all that it opens included.
#[derive(Debug, Clone)]
pub struct DeepLimits {
    /// Tokens of all its model calls together, as the backend counts them.
    pub tokens: u64,
    /// Calls of tools. Repetitions are answered from memory and cost none.
    pub calls: u32,
    /// Levels of explorations below it.
    pub depth: u32,
    /// Turns of the model in each exploration.
    pub turns: u32,
    /// The longest answer of the model, in its tokens.
    pub max_answer_tokens: u32,
    /// Have the backend make the model call a tool each turn, for models that would rather talk.
    pub tool_required: bool,
    /// When to stop.
    pub until: Until,
}

impl Default for DeepLimits {
    /// What a person waits for: half a minute.
    fn default() -> Self {
        Self {
            tokens: 60_000,
            calls: 64,
            depth: 2,
            turns: 6,
            max_answer_tokens: 1_024,
            tool_required: false,
            until: Until::within(Duration::from_secs(30)),
        }
    }
}

/// Who wants to know what an exploration is doing.
pub trait Observer: Sync {
    /// A tool is being called, with these arguments in short. Not redacted.
    fn calls(&self, tool: &str, arguments: &str);
}

/// Nobody does.
impl Observer for () {
    fn calls(&self, _: &str, _: &str) {}
}

/// What an exploration found.
#[derive(Debug, Clone, Serialize)]
pub struct ExploreOutcome {
    /// The places, the most important first. Each existed when it was cited.
    pub citations: Vec<Citation>,
    /// Files, best first: what is cited fused with what the lexical lane found.
    pub files: Vec<RelPath>,
    /// What was done.
    pub trace: Trace,
}

/// What the lexical lane says before the model is asked.
pub(crate) struct Lexical {
    /// Best first.
    pub(crate) files: Vec<RelPath>,
    /// One line for each of the best: `path:first-last title`.
    pub(crate) candidates: Vec<String>,
}

/// What explorations work on and with.
pub(crate) struct Sources<'a> {
    pub(crate) context: ToolContext<'a>,
    pub(crate) model: &'a dyn Model,
    pub(crate) observer: &'a dyn Observer,
}

/// What all explorations of one tree share.
struct Explorer<'a> {
    sources: &'a Sources<'a>,
    registry: Registry,
    offer: Offer,
    limits: &'a DeepLimits,
    memo: Memo,
}

/// What one of them is about.
struct Task<'t> {
    question: &'t str,
    scope: Option<&'t RelPath>,
    candidates: &'t [String],
    /// The files of the candidates: what is read of these counts where nothing is cited.
    likely: &'t [RelPath],
    /// Levels above it.
    level: u32,
}

/// Of the tree at the root, and at a child's.
const TREE_TOKENS: usize = 600;
const CHILD_TREE_TOKENS: usize = 200;

/// Explores.
pub(crate) async fn explore(
    sources: &Sources<'_>,
    question: &str,
    lexical: &Lexical,
    limits: &DeepLimits,
) -> ExploreOutcome {
    let registry = Registry::of_engine();
    let explorer = Explorer {
        sources,
        offer: Offer::of(&registry),
        registry,
        limits,
        memo: Memo::default(),
    };
    let budget = Budget::new(limits.tokens, limits.calls, limits.depth, limits.until.clone());
    let task = Task {
        question,
        scope: None,
        candidates: &lexical.candidates,
        likely: &lexical.files[..lexical.files.len().min(prompt::CANDIDATES)],
        level: 0,
    };
    let mut found = explorer.explore(&task, &budget).await;
    found.files = fuse::files(&lexical.files, &found.citations);
    found
}

impl Explorer<'_> {
    /// One exploration from its first turn to its end.
    async fn explore(&self, task: &Task<'_>, budget: &Budget) -> ExploreOutcome {
        let started = Instant::now();
        let mut trace = Trace {
            model: self.sources.model.id().to_owned(),
            question: redact(task.question).into_owned(),
            scope: task.scope.map(RelPath::to_string).unwrap_or_default(),
            ..Trace::default()
        };
        let mut seen = Seen::default();
        let said = self.turns(task, budget, &mut trace, &mut seen).await;
        trace.ended = said.ended;
        trace.answer = said.answer.filter(|answer| !answer.trim().is_empty());
        trace.answer = trace.answer.map(|answer| redact(&answer).into_owned());
        let (worktree, cap) = (self.sources.context.worktree, self.sources.context.max_file_bytes);
        let (mut citations, invented) = citation::settle(worktree, task.scope, cap, said.cited);
        trace.invented = invented;
        if citations.is_empty() {
            let best = seen.best(task.likely);
            (citations, _) = citation::settle(worktree, task.scope, cap, best);
        }
        trace.citations = citations.iter().map(Citation::to_string).collect();
        trace.ms = millis(started.elapsed());
        ExploreOutcome {
            citations,
            files: Vec::new(),
            trace,
        }
    }

    /// An exploration below another, as a call of its model asks for it.
    async fn open_child(
        &self,
        task: &Task<'_>,
        budget: &Budget,
        siblings: u32,
        call: &Map<String, Value>,
    ) -> Result<ExploreOutcome, ChildError> {
        let question = question_of(call).ok_or(ChildError::NoQuestion)?;
        let share = budget.share(siblings).ok_or(ChildError::TooDeep)?;
        let written = ["scope", "path", "directory"]
            .iter()
            .find_map(|name| call.get(*name)?.as_str());
        let written = written.map(|written| PathArgument::Written(written.to_owned()));
        let scope = self.context(task, budget).under(written.as_slice())?.pop();
        let child = Task {
            question,
            scope: scope.as_ref(),
            candidates: &[],
            likely: task.likely,
            level: task.level + 1,
        };
        Ok(self.explore(&child, &share).await)
    }

    /// The context of the tools of one exploration.
    fn context<'t>(&'t self, task: &Task<'t>, budget: &Budget) -> ToolContext<'t> {
        ToolContext {
            scope: task.scope,
            until: budget.until().clone(),
            ..self.sources.context.clone()
        }
    }

    /// The tree that an exploration begins with.
    fn tree(&self, task: &Task<'_>, budget: &Budget) -> String {
        let tokens = if task.level == 0 {
            TREE_TOKENS
        } else {
            CHILD_TREE_TOKENS
        };
        let arguments = TreeArguments {
            tokens: Some(tokens),
            ..TreeArguments::default()
        };
        let tree = Tree.answer(&self.context(task, budget), &arguments);
        tree.map(|tree| tree.text()).unwrap_or_default()
    }
}

/// Why no exploration was opened below another; its model is shown the message.
#[derive(Debug, thiserror::Error)]
enum ChildError {
    #[error("`question` is missing: say what is to be found out")]
    NoQuestion,
    #[error("no exploration may be opened below this one: call other tools")]
    TooDeep,
    #[error(transparent)]
    Scope(#[from] ToolError),
}

/// The question of a call that opens an exploration.
fn question_of(call: &Map<String, Value>) -> Option<&str> {
    let names = ["question", "query", "task", "prompt"];
    let question = names.iter().find_map(|name| call.get(*name))?.as_str()?.trim();
    Some(question).filter(|question| !question.is_empty())
}

/// What an exploration came across, for the case that it cites nothing.
#[derive(Default)]
struct Seen {
    /// What its children cite.
    cited: Vec<Citation>,
    /// What it was shown.
    shown: Vec<(RelPath, u32, u32)>,
}

impl Seen {
    /// What its children found, or what it looked at in files that the words of the question point to as well.
    fn best(self, likely: &[RelPath]) -> Vec<Cited> {
        let of = |path: String, lines| Cited { path, lines };
        if !self.cited.is_empty() {
            return self.cited.into_iter().map(|one| of(one.path, one.lines)).collect();
        }
        let mut taken = HashSet::new();
        let shown = self.shown.into_iter().rev();
        shown
            .filter(|(path, first, last)| likely.contains(path) && last > first && taken.insert((path.clone(), *first)))
            .map(|(path, first, last)| of(path.to_string(), Some((first, last))))
            .collect()
    }
}

fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}
