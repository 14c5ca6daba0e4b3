use serde_json::{Map, Value};

use super::context::ToolContext;
use super::error::ToolError;
use super::output::Output;
use super::schema::ToolDescription;
use super::tool::Tool;
use super::{code, files, history, memory, search};

/// The explorer's tools by name.
pub struct Registry {
    tools: Vec<Tool>,
}

impl Registry {
    /// Returns a registry with all tools that an explorer may call.
    pub fn of_engine() -> Self {
        let mut tools = vec![search::grep_tool()];
        tools.extend(files::tools());
        tools.extend(code::tools());
        tools.extend(memory::tools());
        Self { tools }
    }

    /// Runs one call. An error is the text of the output.
    pub fn run(&self, name: &str, call: &Map<String, Value>, context: &ToolContext<'_>) -> Output {
        self.run_all(name, &[call], context).pop().unwrap_or_default()
    }

    /// Runs several calls of one tool, and returns their outputs in the same order.
    pub(crate) fn run_all(&self, name: &str, calls: &[&Map<String, Value>], context: &ToolContext<'_>) -> Vec<Output> {
        if let Some(tool) = self.get(name) {
            return tool.run(calls, context);
        }
        let known = self.tools.iter().map(|tool| tool.description.name).collect();
        let unknown = ToolError::Unknown { name: name.to_owned(), known };
        vec![Output::failed(unknown.to_string()); calls.len()]
    }

    /// Returns whether calls of this tool are faster together.
    pub(crate) fn shares_work(&self, name: &str) -> bool {
        self.get(name).is_some_and(|tool| tool.shares_work)
    }

    /// Returns the description of a tool for models.
    pub(crate) fn described(&self, name: &str) -> Option<&ToolDescription> {
        self.get(name).map(|tool| &tool.description)
    }

    fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.description.name == name)
    }
}

/// The tools with these names, in this order.
pub fn engine_tools(names: &[&str]) -> Vec<Tool> {
    let mut all = Registry::of_engine().tools;
    all.push(history::git_log_tool());
    let mut tools = Vec::new();
    for name in names {
        let position = all.iter().position(|tool| tool.description.name == *name);
        tools.extend(position.map(|position| all.swap_remove(position)));
    }
    tools
}

#[cfg(test)]
mod tests;
