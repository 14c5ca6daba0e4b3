//! The tools of an explorer's model: those tools of the registry that read the repository, and two tools of the
//! explorer itself.

use muninn_text::model::Tool;
use schemars::JsonSchema;

use super::dialect::KnownTool;
use crate::tools::{Effect, Registry, ToolDescription};

/// The tool that opens a child exploration. The explorer runs this tool itself.
pub(super) const EXPLORE: &str = "explore";
/// The tool that ends an exploration.
pub(super) const FINAL: &str = "final";

/// The registry's tools that an explorer's model is offered, in the order of the prompt.
pub const REGISTRY_TOOLS: [&str; 10] =
    ["grep", "read", "tree", "list", "find", "symbols", "definition", "callers", "metis", "recall"];

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the fields are the schema; what models write is read far more tolerantly")]
struct ExploreArguments {
    /// what to find out, complete in itself
    question: String,
    /// the directory to look in; without it the whole repository
    scope: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the fields are the schema; what models write is read far more tolerantly")]
struct FinalArguments {
    /// the places, each a text `path:first-last` with line numbers, at most 12
    citations: Vec<String>,
    /// the answer in one or two sentences, if you know it
    answer: Option<String>,
}

/// The descriptions of all tools of an explorer.
pub(crate) struct Toolset(Vec<ToolDescription>);

impl Toolset {
    pub(super) fn of(registry: &Registry) -> Self {
        let from_registry = REGISTRY_TOOLS.iter().filter_map(|name| registry.described(name).cloned());
        let explore = ToolDescription::new(EXPLORE, Effect::Reads, "")
            .about(
                "Open an exploration of its own for a part of the question. It has a share of what may still be spent, \
                 sees only its scope, and returns the places that it found. For parts that take many calls.",
            )
            .parameter("question", &[])
            .parameter("scope", &[])
            .with_arguments::<ExploreArguments>();
        let last = ToolDescription::new(FINAL, Effect::Reads, "")
            .about(
                "End the exploration with the places that answer the question, the most important first. Cite only lines \
                 that you have seen.",
            )
            .parameter("citations", &[])
            .parameter("answer", &[])
            .with_arguments::<FinalArguments>();
        Self(from_registry.chain([explore, last]).collect())
    }

    /// Returns the tools in the backend's format. With `deeper`, the tool for child explorations is included. `strict`
    /// is for backends that enforce the schemas.
    pub(super) fn tools(&self, deeper: bool, strict: bool) -> Vec<Tool> {
        let tool = |described: &ToolDescription| Tool {
            name: described.name,
            description: described.description.to_owned(),
            schema: described.schema(strict).to_string(),
            strict,
        };
        self.offered(deeper).map(tool).collect()
    }

    /// Returns the tools as prompt text, for a backend without tool support.
    pub(super) fn prompt_text(&self, deeper: bool) -> String {
        self.offered(deeper).map(ToolDescription::prompt_text).collect()
    }

    /// Returns the tools that calls are parsed with.
    pub(super) fn known(&self) -> Vec<KnownTool<'_>> {
        let known = self.0.iter();
        let known =
            known.map(|described| KnownTool { name: described.name, first_parameter: described.first_parameter() });
        known.collect()
    }

    fn offered(&self, deeper: bool) -> impl Iterator<Item = &ToolDescription> {
        self.0.iter().filter(move |described| deeper || described.name != EXPLORE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tool descriptions are recorded, because a change of a description invalidates the measured quality of
    /// models.
    #[test]
    fn tool_descriptions_equal_the_recorded_text() {
        let toolset = Toolset::of(&Registry::of_engine());
        let mut text = toolset.prompt_text(true);
        for strict in [false, true] {
            for tool in toolset.tools(true, strict) {
                text.push_str(&format!("\n{} {strict}\n{}\n", tool.name, tool.schema));
            }
        }
        assert_eq!(text, include_str!("../tests/recorded/offered.txt"));
    }

    #[test]
    fn the_explore_tool_is_offered_only_if_a_child_may_open() {
        let toolset = Toolset::of(&Registry::of_engine());
        let names = |deeper| toolset.tools(deeper, false).iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(true).len(), REGISTRY_TOOLS.len() + 2);
        assert!(names(true).contains(&EXPLORE) && !names(false).contains(&EXPLORE));
        assert!(!toolset.prompt_text(false).contains(EXPLORE));
    }
}
