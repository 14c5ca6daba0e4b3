use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::code::{Callers, Definition, Outline, References, Symbols};
use super::context::ToolContext;
use super::error::ToolError;
use super::files::{Find, List, Read, Tree};
use super::memory::{Metis, Recall};
use super::output::Output;
use super::schema::ToolDescription;
use super::search::Grep;
use super::tool::{DynTool, Registered, Tool};

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
