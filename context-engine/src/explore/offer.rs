//! The tools that an explorer's model is offered: those of the registry that look into the repository, and two of the
//! explorer's own.

use muninn_memory::model::Tool;
use schemars::JsonSchema;

use super::dialect::KnownTool;
use crate::tools::{Described, Parameter, Registry};

/// Opens a child exploration; it is run by the loop itself.
pub(super) const EXPLORE: &str = "explore";
/// Ends an exploration.
pub(super) const FINAL: &str = "final";

/// The tools of the registry, in the order in which they are told.
const LOOKING: [&str; 10] = [
    "grep",
    "read",
    "tree",
    "list",
    "find",
    "symbols",
    "definition",
    "callers",
    "metis",
    "recall",
];

#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "the fields are the schema; what models write is read far more tolerantly"
)]
struct ExploreArguments {
    /// what to find out, complete in itself
    question: String,
    /// the directory to look in; without it the whole repository
    scope: Option<String>,
}

#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "the fields are the schema; what models write is read far more tolerantly"
)]
struct FinalArguments {
    /// the places, each a text `path:first-last` with line numbers, at most 12
    citations: Vec<String>,
    /// the answer in one or two sentences, if you know it
    answer: Option<String>,
}

/// All that may be offered.
pub(super) struct Offer(Vec<Described>);

impl Offer {
    pub(super) fn of(registry: &Registry) -> Self {
        let looking = LOOKING.iter().filter_map(|name| registry.described(name).cloned());
        let explore = Described::of::<ExploreArguments>(
            EXPLORE,
            "Open an exploration of its own for a part of the question. It has a share of what may still be spent, sees \
             only its scope, and returns the places that it found. For parts that take many calls.",
            &[Parameter::told("question", &[]), Parameter::told("scope", &[])],
        );
        let last = Described::of::<FinalArguments>(
            FINAL,
            "End the exploration with the places that answer the question, the most important first. Cite only lines \
             that you have seen.",
            &[Parameter::told("citations", &[]), Parameter::told("answer", &[])],
        );
        Self(looking.chain([explore, last]).collect())
    }

    /// The tools in the backend's form. `deeper`: whether a child may be opened. `strict`: whether the backend holds
    /// arguments to their schemas.
    pub(super) fn tools(&self, deeper: bool, strict: bool) -> Vec<Tool> {
        let tool = |described: &Described| Tool {
            name: described.name,
            description: described.description.to_owned(),
            schema: described.schema(strict).to_string(),
            strict,
        };
        self.told(deeper).map(tool).collect()
    }

    /// The tools in words, for a model whose backend takes none.
    pub(super) fn words(&self, deeper: bool) -> String {
        self.told(deeper).map(Described::words).collect()
    }

    /// The tools that a model's calls are read for.
    pub(super) fn known(&self) -> Vec<KnownTool<'_>> {
        let known = self.0.iter();
        let known = known.map(|described| KnownTool {
            name: described.name,
            parameters: &described.parameters,
        });
        known.collect()
    }

    fn told(&self, deeper: bool) -> impl Iterator<Item = &Described> {
        self.0
            .iter()
            .filter(move |described| deeper || described.name != EXPLORE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model's prompt is part of the contract: models were measured with these words.
    #[test]
    fn a_model_is_told_the_recorded_words_and_schemas() {
        let offer = Offer::of(&Registry::of_engine());
        let mut text = offer.words(true);
        for strict in [false, true] {
            for tool in offer.tools(true, strict) {
                text.push_str(&format!("\n{} {strict}\n{}\n", tool.name, tool.schema));
            }
        }
        assert_eq!(text, include_str!("../tests/recorded/offered.txt"));
    }

    #[test]
    fn a_child_is_offered_only_where_one_may_be_opened() {
        let offer = Offer::of(&Registry::of_engine());
        let names = |deeper| {
            offer
                .tools(deeper, false)
                .iter()
                .map(|tool| tool.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(true).len(), LOOKING.len() + 2);
        assert!(names(true).contains(&EXPLORE) && !names(false).contains(&EXPLORE));
        assert!(!offer.words(false).contains(EXPLORE));
    }
}
