//! The tool `explore`: a model explores the repository for a question.

use std::time::Instant;

use muninn_context_engine::explore::{Ended, ExploreOutcome};
use muninn_context_engine::tools::{Output, Parameter, ToolError};
use muninn_ledger::{Outcome, Receipt};
use muninn_text::model::block_on;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{SessionTool, failed};
use super::{ModelUse, ToolSession};
use crate::deep::Explorer;

/// Lets the configured model explore.
pub(super) struct Explore;

/// The arguments of [`Explore`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct ExploreArguments {
    /// the question, in full sentences, with the names that matter
    question: String,
}

/// The answer of [`Explore`].
#[derive(Debug, Serialize)]
pub(super) struct Explored {
    receipt: String,
    /// The cited places, the most important first; without any, the files that match best.
    places: Vec<String>,
    /// The model's answer in words.
    text: Option<String>,
}

impl SessionTool for Explore {
    type Arguments = ExploreArguments;
    type Answer = Explored;

    const NAME: &'static str = "explore";
    const HINT: &'static str = "explore code with a model answer question";
    const DESCRIPTION: &'static str = "Let another model explore the repository for a question that takes many searches. It \
        answers in words, with places. Takes up to a minute.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("question", &["query", "task", "text"])];
    const IS_PROSE: bool = true;
    const MODEL: ModelUse = ModelUse::Explorer;
    const PAGED: bool = true;

    fn answer(session: &ToolSession, arguments: &ExploreArguments) -> Result<Explored, ToolError> {
        let settings = session.app.settings();
        // The route of the explorer names the model.
        let explorer = Explorer::configured(&session.app, &settings, &session.caller, "");
        let (Some(explorer), Some(engine)) = (explorer, &session.workspace.engine) else {
            return Err(failed(ExploreError::NoModel));
        };
        let until = session.until.no_later_than(Instant::now() + explorer.deadline());
        let found = block_on(explorer.explore(engine, &arguments.question, until, &()));
        let receipt = record(session, &arguments.question, &found);
        if found.trace.ended == Ended::Model && found.citations.is_empty() {
            let problem = found.trace.problem.unwrap_or_default();
            return Err(failed(ExploreError::Failed(problem)));
        }
        let places = if found.trace.citations.is_empty() {
            found.files.iter().take(5).map(ToString::to_string).collect()
        } else {
            found.trace.citations
        };
        Ok(Explored { receipt, places, text: found.trace.answer })
    }

    fn output(_: &ExploreArguments, explored: &Explored) -> Output {
        let answer = explored.text.iter().map(|text| format!("\n\n{text}"));
        let (receipt, places) = (&explored.receipt, explored.places.join("\n"));
        Output::from_text(format!("receipt {receipt}\n{places}{}", answer.collect::<String>()))
    }
}

/// Why nothing was explored.
#[derive(Debug, thiserror::Error)]
enum ExploreError {
    #[error("no model explores here: name one with `backend` and `model` under [explore] in muninn.toml")]
    NoModel,
    #[error("the model failed: {0}")]
    Failed(String),
}

/// Writes the receipt, and returns its id.
fn record(session: &ToolSession, question: &str, found: &ExploreOutcome) -> String {
    let receipt = session.receipt(question);
    let id = receipt.id.clone();
    if let Some(store) = &session.app.store {
        store.note_receipt(Receipt {
            model: found.trace.model.clone(),
            outcome: Outcome::Explored,
            reason: Some("explored by the tool `explore`".to_owned()),
            exploration: Some(Box::new(found.trace.clone())),
            ms: found.trace.ms,
            explore_ms: found.trace.ms,
            ..receipt
        });
    }
    id
}
