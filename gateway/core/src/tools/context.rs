//! The tool `find_context`: the pack for a question.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_base::Until;
use muninn_context_engine::tools::{Effect, ToolError};
use muninn_context_engine::{
    Completeness, Engine, Exploration, IndexStatus, Limits, PriorContext, block_tokens, render,
};
use muninn_ledger::{Outcome, Receipt, ReceiptItem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{failed, tool};
use super::{ClientTool, ToolSession, ToolSet};
use crate::millis;

/// Maximum time for exploring; a client waits for the result anyway.
const EXPLORE_TIME: Duration = Duration::from_secs(2);
/// Maximum time that the first call waits for the index, and the pause between two looks at it.
const INDEX_TIME: Duration = Duration::from_secs(3);
const INDEX_POLL: Duration = Duration::from_millis(10);

#[derive(Deserialize, JsonSchema)]
struct FindContextArguments {
    /// the question or the task, in full sentences, with the names that matter
    question: String,
}

#[derive(Serialize)]
struct FoundContext {
    receipt: String,
    /// What was found, as Markdown; empty if nothing was.
    text: String,
    /// Why nothing was found, or what is missing.
    reason: Option<String>,
}

pub(super) fn find_context_tool() -> ClientTool {
    tool("find_context", ToolSet::Code, Effect::Reads, "find code context memory for a question")
        .about(
            "Find the code and the team's knowledge for a question about this repository, in one call. Call it first, \
             before you search or read files.",
        )
        .parameter("question", &["query", "task", "text"])
        .paged()
        .answered_as_text(find_context, |found: &FoundContext| {
            let reason = found.reason.as_ref().map(|reason| format!("{reason}\n"));
            format!("receipt {}\n{}{}", found.receipt, reason.unwrap_or_default(), found.text)
        })
}

/// Finds the code and the memories for a question.
fn find_context(session: &ToolSession, arguments: FindContextArguments) -> Result<FoundContext, ToolError> {
    let started = Instant::now();
    let settings = session.workspace.settings();
    wait_for_index(session, &session.until.no_later_than(started + INDEX_TIME));
    let limits = Limits {
        tokens: settings.context.tokens_without_tools,
        deadline: session.until.no_later_than(Instant::now() + EXPLORE_TIME).instant(),
    };
    let explored = match (&session.workspace.engine, settings.context.enabled) {
        (Some(engine), true) => engine.explore_after(&PriorContext::default(), &arguments.question, &limits, None),
        _ => return Err(failed("context is switched off here (`enabled` in [context])")),
    };
    Ok(record(session, &arguments.question, explored, started))
}

/// Waits for the first index. A client's first call comes a moment after its server was started.
fn wait_for_index(session: &ToolSession, until: &Until) {
    let is_ready = |engine: &Arc<Engine>| matches!(engine.status(), IndexStatus::Ready { .. });
    while !until.is_over() && !session.workspace.engine.as_ref().is_some_and(is_ready) {
        std::thread::sleep(INDEX_POLL);
    }
}

/// Writes the receipt.
fn record(session: &ToolSession, question: &str, explored: Exploration, started: Instant) -> FoundContext {
    let receipt = session.receipt(question);
    let found = FoundContext {
        receipt: receipt.id.clone(),
        text: render::markdown(&explored.items),
        reason: explored.reason.clone(),
    };
    let Some(store) = &session.app.store else { return found };
    store.note_receipt(Receipt {
        items: explored.items.iter().map(ReceiptItem::from).collect(),
        tokens: block_tokens(&explored.items),
        outcome: match explored.completeness {
            _ if explored.items.is_empty() => Outcome::None,
            Completeness::Full => Outcome::Injected,
            Completeness::Partial => Outcome::Partial,
        },
        reason: explored.reason,
        explore_ms: millis(explored.elapsed),
        ms: millis(started.elapsed()),
        ..receipt
    });
    found
}
