//! The tool `find_context`: the pack for a question.

use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_base::Until;
use muninn_context_engine::tools::{Output, Parameter, ToolError};
use muninn_context_engine::{
    Completeness, Engine, Exploration, IndexStatus, Limits, PriorContext, block_tokens, render,
};
use muninn_ledger::{Outcome, Receipt, ReceiptItem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ToolSession;
use super::tool::{SessionTool, failed};
use crate::millis;

/// Maximum time for exploring; a client waits for the result anyway.
const EXPLORE_TIME: Duration = Duration::from_secs(2);
/// Maximum time that the first call waits for the index, and the pause between two looks at it.
const INDEX_TIME: Duration = Duration::from_secs(3);
const INDEX_POLL: Duration = Duration::from_millis(10);

/// Finds the code and the memories for a question.
pub(super) struct FindContext;

/// The arguments of [`FindContext`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct FindContextArguments {
    /// the question or the task, in full sentences, with the names that matter
    question: String,
}

/// The answer of [`FindContext`].
#[derive(Debug, Serialize)]
pub(super) struct FoundContext {
    receipt: String,
    /// What was found, as Markdown; empty if nothing was.
    text: String,
    /// Why nothing was found, or what is missing.
    reason: Option<String>,
}

impl SessionTool for FindContext {
    type Arguments = FindContextArguments;
    type Answer = FoundContext;

    const NAME: &'static str = "find_context";
    const HINT: &'static str = "find code context memory for a question";
    const DESCRIPTION: &'static str = "Find the code and the team's knowledge for a question about this repository, in one \
        call. Call it first, before you search or read files.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("question", &["query", "task", "text"])];
    const IS_PROSE: bool = true;
    const PAGED: bool = true;

    fn answer(session: &ToolSession, arguments: &FindContextArguments) -> Result<FoundContext, ToolError> {
        let started = Instant::now();
        let settings = session.workspace.settings();
        wait_for_index(session, &session.until.no_later_than(started + INDEX_TIME));
        let limits = Limits {
            tokens: settings.context.tokens_without_tools,
            deadline: session.until.no_later_than(Instant::now() + EXPLORE_TIME).instant(),
        };
        let explored = match (&session.workspace.engine, settings.context.enabled) {
            (Some(engine), true) => engine.explore_after(&PriorContext::default(), &arguments.question, &limits, None),
            _ => return Err(failed(Disabled)),
        };
        Ok(record(session, &arguments.question, explored, started))
    }

    fn output(_: &FindContextArguments, found: &FoundContext) -> Output {
        let reason = found.reason.as_ref().map(|reason| format!("{reason}\n"));
        let text = format!("receipt {}\n{}{}", found.receipt, reason.unwrap_or_default(), found.text);
        Output::from_text(text)
    }
}

/// `context.enabled` is false, in the user's configuration or the repository's.
#[derive(Debug, thiserror::Error)]
#[error("context is switched off here (`enabled` in [context])")]
struct Disabled;

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
