//! The registry of tools: the questions about a worktree that models, the command line and other doors ask.
//!
//! A [`Tool`] has a name, a description, an argument type whose JSON Schema `schemars` makes, and one implementation.
//! Typed callers, as the command line, build the arguments, call [`Tool::answer`] and render the answer their own way.
//! Callers that have a name and JSON, as the explorer, go through a [`Registry`], which reads the JSON as tolerantly as
//! models write it, and bounds each call: it takes at most five seconds, a panic is an error, and the text is redacted
//! and at most 256 KiB. Every tool stays inside the worktree and the scope, never shows a secret file, and says
//! which bounds left something out.
//!
//! The tools here need only the engine. The application adds those that need its use cases with [`Registry::add`], as
//! soon as one of its doors offers them; no such tool exists yet.

mod arguments;
mod code;
mod context;
mod error;
mod files;
mod named;
mod output;
mod remembered;
mod schema;
mod search;
mod tool;

use std::time::{Duration, Instant};

use serde_json::{Map, Value};

pub use arguments::{Globs, PathArgument, Paths};
pub(crate) use arguments::{page, path_of};
pub use code::{Callers, Definition, NameArguments, Outline, OutlineArguments, References, Symbols, SymbolsArguments};
pub use context::ToolContext;
pub use error::ToolError;
pub use files::{Find, FindArguments, List, ListArguments, Read, ReadArguments, Tree, TreeArguments};
pub use output::Output;
pub use remembered::{Metis, MetisArguments, PlanningDocuments, Recall, RecallArguments};
pub(crate) use schema::Described;
pub use schema::Parameter;
pub use search::{Grep, GrepArguments};
pub use tool::Tool;
use tool::{AnyTool, Registered};

/// No call takes longer than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tools by name.
pub struct Registry {
    tools: Vec<Box<dyn AnyTool>>,
}

impl Registry {
    /// The tools that need only the engine.
    #[must_use]
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

    /// Adds a tool.
    pub fn add(&mut self, tool: impl Tool + 'static) {
        self.tools.push(Box::new(Registered::new(tool)));
    }

    /// Runs one call. What went wrong is the output's text.
    #[must_use]
    pub fn run(&self, name: &str, call: &Map<String, Value>, context: &ToolContext<'_>) -> Output {
        self.run_all(name, &[call], context).pop().unwrap_or_default()
    }

    /// Runs several calls of one tool, and returns their outputs in the same order.
    pub(crate) fn run_all(&self, name: &str, calls: &[&Map<String, Value>], context: &ToolContext<'_>) -> Vec<Output> {
        let context = ToolContext {
            until: context.until.no_later_than(Instant::now() + PATIENCE),
            ..context.clone()
        };
        let unknown = || ToolError::Unknown {
            name: name.to_owned(),
            known: self.tools.iter().map(|tool| tool.described().name).collect(),
        };
        let ran = match self.get(name) {
            Some(tool) => tool.run(&context, calls),
            None => calls.iter().map(|_| Err(unknown())).collect(),
        };
        let failed = |error: ToolError| Output::failed(error.to_string());
        ran.into_iter().map(|ran| ran.unwrap_or_else(failed)).collect()
    }

    /// Whether calls of this tool share work if they are run together.
    pub(crate) fn shares_work(&self, name: &str) -> bool {
        self.get(name).is_some_and(AnyTool::shares_work)
    }

    /// A tool as models are told of it.
    pub(crate) fn described(&self, name: &str) -> Option<&Described> {
        self.get(name).map(AnyTool::described)
    }

    fn get(&self, name: &str) -> Option<&dyn AnyTool> {
        let mut tools = self.tools.iter();
        tools.find(|tool| tool.described().name == name).map(|tool| &**tool)
    }
}

#[cfg(test)]
mod tests;
