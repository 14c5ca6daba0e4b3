//! The tools: questions about a worktree for models, the command line and other doors.
//!
//! A [`Tool`] has a name, a description, an argument type with a JSON Schema from `schemars`, and one implementation.
//! Typed callers such as the command line build the arguments, call [`Tool::answer`] and render the answer themselves.
//! Callers with a name and JSON, such as the explorer, use a [`Registry`]. It reads the JSON tolerantly and limits each
//! call: at most five seconds, a panic is an error, and the text is redacted and at most 256 KiB. Every tool stays
//! inside the worktree and the scope, never shows a secret file, and names the limits that shortened its answer.
//!
//! The tools here need only the engine. The application adds tools that need its use cases with [`Registry::add`].

mod arguments;
mod candidate_files;
mod code;
mod context;
mod error;
mod files;
mod history;
mod memory;
mod output;
mod schema;
mod search;
mod tool;

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

pub(crate) use arguments::path_of;
pub use arguments::{Globs, PathArgument, Paths, page};
pub use code::{Callers, Definition, NameArguments, Outline, OutlineArguments, References, Symbols, SymbolsArguments};
pub use context::ToolContext;
pub use error::ToolError;
pub use files::{Find, FindArguments, List, ListArguments, Read, ReadArguments, Tree, TreeArguments};
pub use history::{GitLog, GitLogArguments, Log};
pub use memory::{Metis, MetisArguments, PlanningDocuments, Recall, RecallArguments};
pub use output::Output;
pub use schema::{Parameter, ToolDescription};
pub use search::{Grep, GrepArguments};
use tool::{DynTool, Registered};
pub use tool::{Effect, Tool};

/// Maximum duration of a call.
const MAX_CALL_TIME: Duration = Duration::from_secs(5);

/// Tools by name.
#[derive(Default)]
pub struct Registry {
    tools: Vec<Box<dyn DynTool>>,
}

impl Registry {
    /// Returns a registry with all tools that need only the engine.
    pub fn of_engine() -> Self {
        let mut registry = Self { tools: Vec::new() };
        registry.add(Grep);
        registry.add(Read);
        registry.add(Tree);
        registry.add(List);
        registry.add(Find);
        registry.add(Symbols);
        registry.add(Outline);
        registry.add(Definition);
        registry.add(References);
        registry.add(Callers);
        registry.add(Metis);
        registry.add(Recall);
        registry
    }

    pub fn add(&mut self, tool: impl Tool + 'static) {
        self.tools.push(Box::new(Registered::new(tool)));
    }

    /// Runs one call. An error is the text of the output.
    pub fn run(&self, name: &str, call: &Map<String, Value>, context: &ToolContext<'_>) -> Output {
        self.run_all(name, &[call], context).pop().unwrap_or_default()
    }

    /// Runs one call outside of all worktrees. An error is the text of the output.
    pub fn run_anywhere(&self, name: &str, call: &Map<String, Value>) -> Output {
        let ran = match self.get(name) {
            Some(tool) => tool.run_anywhere(call),
            None => Err(self.unknown(name)),
        };
        ran.unwrap_or_else(|error| Output::failed(error.to_string()))
    }

    fn unknown(&self, name: &str) -> ToolError {
        ToolError::Unknown {
            name: name.to_owned(),
            known: self.tools.iter().map(|tool| tool.described().name).collect(),
        }
    }

    /// Runs several calls of one tool, and returns their outputs in the same order.
    pub(crate) fn run_all(&self, name: &str, calls: &[&Map<String, Value>], context: &ToolContext<'_>) -> Vec<Output> {
        let context =
            ToolContext { until: context.until.no_later_than(Instant::now() + MAX_CALL_TIME), ..context.clone() };
        let ran = match self.get(name) {
            Some(tool) => tool.run(&context, calls),
            None => calls.iter().map(|_| Err(self.unknown(name))).collect(),
        };
        let failed = |error: ToolError| Output::failed(error.to_string());
        ran.into_iter().map(|ran| ran.unwrap_or_else(failed)).collect()
    }

    /// Returns whether calls of this tool are faster together.
    pub(crate) fn shares_work(&self, name: &str) -> bool {
        self.get(name).is_some_and(DynTool::shares_work)
    }

    /// Returns the description of a tool for models.
    pub(crate) fn described(&self, name: &str) -> Option<&ToolDescription> {
        self.get(name).map(DynTool::described)
    }

    fn get(&self, name: &str) -> Option<&dyn DynTool> {
        let mut tools = self.tools.iter();
        tools.find(|tool| tool.described().name == name).map(|tool| &**tool)
    }
}

#[cfg(test)]
mod tests;
