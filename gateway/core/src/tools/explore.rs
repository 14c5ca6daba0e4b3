//! The tool `explore`: a model explores the repository for a question.

use std::time::Instant;

use muninn_context_engine::explore::{Ended, ExploreOutcome};
use muninn_context_engine::tools::{Effect, ToolError};
use muninn_ledger::{Outcome, Receipt};
use muninn_text::model::block_on;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{failed, tool};
use super::{ClientTool, ModelUse, ToolSession, ToolSet};
use crate::deep::Explorer;

#[derive(Deserialize, JsonSchema)]
struct ExploreArguments {
    /// the question, in full sentences, with the names that matter
    question: String,
}

#[derive(Serialize)]
struct Explored {
    receipt: String,
    /// The cited places, the most important first; without any, the files that match best.
    places: Vec<String>,
    /// The model's answer in words.
    text: Option<String>,
}

pub(super) fn explore_tool() -> ClientTool {
    tool("explore", ToolSet::Code, Effect::Reads, "explore code with a model answer question")
        .about(
            "Let another model explore the repository for a question that takes many searches. It answers in words, with \
             places. Takes up to a minute.",
        )
        .parameter("question", &["query", "task", "text"])
        .paged()
        .asks(ModelUse::Explorer)
        .answered_as_text(explore, |explored: &Explored| {
            let answer = explored.text.as_ref().map(|text| format!("\n\n{text}"));
            format!("receipt {}\n{}{}", explored.receipt, explored.places.join("\n"), answer.unwrap_or_default())
        })
}

/// Lets the configured model explore.
fn explore(session: &ToolSession, arguments: ExploreArguments) -> Result<Explored, ToolError> {
    let settings = session.app.settings();
    // The route of the explorer names the model.
    let explorer = Explorer::configured(&session.app, &settings, &session.caller, "");
    let (Some(explorer), Some(engine)) = (explorer, &session.workspace.engine) else {
        return Err(failed(
            "no model explores here: name one with `backend` and `model` under [explore] in muninn.toml",
        ));
    };
    let until = session.until.no_later_than(Instant::now() + explorer.deadline());
    let found = block_on(explorer.explore(engine, &arguments.question, until, &()));
    let receipt = record(session, &arguments.question, &found);
    if found.trace.ended == Ended::Model && found.citations.is_empty() {
        return Err(failed(format!("the model failed: {}", found.trace.problem.unwrap_or_default())));
    }
    let places = if found.trace.citations.is_empty() {
        found.files.iter().take(5).map(ToString::to_string).collect()
    } else {
        found.trace.citations
    };
    Ok(Explored { receipt, places, text: found.trace.answer })
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
