use std::collections::HashSet;
use std::time::{Duration, Instant};

use muninn_base::{RelPath, Until};
use muninn_text::redact;
use serde_json::{Map, Value};

use super::budget::Budget;
use super::call_cache::CallCache;
use super::citation::{self, Citation};
use super::dialect::citations::Cited;
use super::task::{DeepLimits, Evidence, ExplorationTask, ExploreInputs, ExploreOutcome, Explorer, Observer, millis};
use super::toolset::Toolset;
use super::trace::Trace;
use super::{fuse, prompt};
use crate::tools::{self, PathArgument, Registry, ToolContext, ToolError, TreeArguments};

impl Default for DeepLimits {
    /// Limits for an interactive exploration of half a minute.
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

/// Ignores all calls.
impl Observer for () {
    fn calls(&self, _: &str, _: &str) {}
}

/// The result of the lexical lane. The model starts from it.
pub(crate) struct LexicalResult {
    /// The files, best first.
    pub(crate) files: Vec<RelPath>,
    /// One line for each of the best files: `path:first-last title`.
    pub(crate) candidates: Vec<String>,
}

/// Tokens of the directory tree: in the root exploration, and in a child exploration.
const TREE_TOKENS: usize = 600;

const CHILD_TREE_TOKENS: usize = 200;

/// Runs an exploration with its children.
pub(crate) async fn explore(
    inputs: &ExploreInputs<'_>,
    question: &str,
    lexical: &LexicalResult,
    limits: &DeepLimits,
) -> ExploreOutcome {
    let registry = Registry::of_engine();
    let explorer = Explorer { inputs, toolset: Toolset::of(&registry), registry, limits, cache: CallCache::default() };
    let budget = Budget::new(limits.tokens, limits.calls, limits.depth, limits.until.clone());
    let task = ExplorationTask {
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
    /// Runs one exploration.
    async fn explore(&self, task: &ExplorationTask<'_>, budget: &Budget) -> ExploreOutcome {
        let started = Instant::now();
        let mut trace = Trace {
            model: self.inputs.model.id().to_owned(),
            question: redact(task.question).into_owned(),
            scope: task.scope.map(RelPath::to_string).unwrap_or_default(),
            ..Trace::default()
        };
        let mut evidence = Evidence::default();
        let answer = self.turns(task, budget, &mut trace, &mut evidence).await;
        trace.ended = answer.ended;
        trace.answer = answer.text.filter(|text| !text.trim().is_empty());
        trace.answer = trace.answer.map(|text| redact(&text).into_owned());
        let (worktree, cap) = (self.inputs.context.worktree, self.inputs.context.max_file_bytes);
        let (mut citations, invented) = citation::validate(worktree, task.scope, cap, answer.cited);
        trace.invented = invented;
        if citations.is_empty() {
            let best = evidence.best(task.likely);
            (citations, _) = citation::validate(worktree, task.scope, cap, best);
        }
        trace.citations = citations.iter().map(Citation::to_string).collect();
        trace.ms = millis(started.elapsed());
        ExploreOutcome { citations, files: Vec::new(), trace }
    }

    /// Runs the child exploration that a call requests.
    pub(crate) async fn open_child(
        &self,
        task: &ExplorationTask<'_>,
        budget: &Budget,
        siblings: u32,
        call: &Map<String, Value>,
    ) -> Result<ExploreOutcome, ChildError> {
        let question = question_of(call).ok_or(ChildError::NoQuestion)?;
        let share = budget.share(siblings).ok_or(ChildError::TooDeep)?;
        let written = ["scope", "path", "directory"].iter().find_map(|name| call.get(*name)?.as_str());
        let written = written.map(|written| PathArgument::Written(written.to_owned()));
        let scope = self.context(task, budget).under(written.as_slice())?.pop();
        let child = ExplorationTask {
            question,
            scope: scope.as_ref(),
            candidates: &[],
            likely: task.likely,
            level: task.level + 1,
        };
        Ok(self.explore(&child, &share).await)
    }

    pub(crate) fn context<'t>(&'t self, task: &ExplorationTask<'t>, budget: &Budget) -> ToolContext<'t> {
        ToolContext { scope: task.scope, until: budget.until().clone(), ..self.inputs.context.clone() }
    }

    /// Returns the directory tree that an exploration starts with.
    pub(crate) fn tree(&self, task: &ExplorationTask<'_>, budget: &Budget) -> String {
        let tokens = if task.level == 0 { TREE_TOKENS } else { CHILD_TREE_TOKENS };
        let arguments = TreeArguments { tokens: Some(tokens), ..TreeArguments::default() };
        let tree = tools::tree(&self.context(task, budget), &arguments);
        tree.map(|tree| tree.text()).unwrap_or_default()
    }
}

/// Why no child exploration was opened. The message is sent to the parent's model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChildError {
    #[error("`question` is missing: say what is to be found out")]
    NoQuestion,
    #[error("no exploration may be opened below this one: call other tools")]
    TooDeep,
    #[error(transparent)]
    Scope(#[from] ToolError),
}

/// Returns the question of a call that opens a child exploration.
fn question_of(call: &Map<String, Value>) -> Option<&str> {
    let names = ["question", "query", "task", "prompt"];
    let question = names.iter().find_map(|name| call.get(*name))?.as_str()?.trim();
    Some(question).filter(|question| !question.is_empty())
}

impl Evidence {
    /// Returns the citations of the children. If there are none, returns the lines that were read in the lexical
    /// candidates, latest first.
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
