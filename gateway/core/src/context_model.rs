//! The built-in model `muninn/context`: it answers with the pack itself, so that a gateway without a backend is usable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use muninn_backend::CONTEXT_MODEL;
use muninn_backend::access::Caller;
use muninn_context_engine::{Completeness, Exploration, Limits, block_tokens, render, tokens};
use muninn_ledger::{Outcome, Receipt, ReceiptItem};
use muninn_session::{claimed_directories, newest_human_turn};
use muninn_wire::Prompt;
use muninn_wire::answer::Answer;

use super::enter::{enter, locate};
use super::turn::{NoPackReason, millis, preview};
use super::{App, Settings, notice};

/// The longest time for exploring; no backend waits behind it.
const EXPLORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a prompt and fills in its receipt.
pub async fn answer(
    app: &Arc<App>,
    settings: &Settings,
    caller: &Caller,
    headers: &HeaderMap,
    prompt: &Prompt<'_>,
    mut receipt: Receipt,
) -> (Answer, Receipt) {
    CONTEXT_MODEL.clone_into(&mut receipt.backend);
    let question = newest_human_turn(prompt).map(|turn| turn.question).unwrap_or_default();
    let input_tokens = u32::try_from(question.len() / 4).unwrap_or(u32::MAX);
    receipt.first_words = Receipt::first_words_of(&question);
    let claimed_directories = claimed_directories(headers, prompt);
    let location = locate(app, caller, &claimed_directories);
    if let Some(root) = location.root() {
        receipt.worktree = root.display().to_string();
    }
    let within = app.workspaces.open_timeout();
    let entered = enter(app, caller, location, &claimed_directories.now, within).await;
    // The receipt is for the user, the answer for the caller.
    let mut shown_reason = None;
    // The same budget as before a backend.
    let budgeted = match entered {
        Ok(workspace) => {
            let previewed = preview(app, caller, headers, prompt, &workspace).await;
            previewed.map(|(budget, already)| (workspace, budget, already))
        }
        Err(error) => {
            shown_reason = Some(app.enter_error_for(caller, &error));
            Err(NoPackReason::from(error))
        }
    };
    let (explored, refused) = match budgeted {
        Err(reason) => (None, Some(reason.to_string())),
        Ok((workspace, budget, already)) => {
            let explore = move || {
                let limits = Limits { tokens: budget.lexical, deadline: Instant::now() + EXPLORE_TIMEOUT };
                let engine = workspace.engine.as_ref()?;
                Some(Explored::of(engine.explore_after(&already, &question, &limits, budget.map())))
            };
            (tokio::task::spawn_blocking(explore).await.ok().flatten(), None)
        }
    };
    let mut text = String::new();
    let mut output_tokens = 0;
    match explored {
        Some(Explored { exploration, markdown, markdown_tokens }) if !exploration.items.is_empty() => {
            receipt.items = exploration.items.iter().map(ReceiptItem::from).collect();
            receipt.tokens = block_tokens(&exploration.items);
            receipt.explore_ms = millis(exploration.elapsed);
            receipt.note_relevance(exploration.relevance);
            receipt.reason = exploration.reason;
            receipt.outcome = match exploration.completeness {
                Completeness::Full => Outcome::Injected,
                Completeness::Partial => Outcome::Partial,
            };
            text = markdown;
            output_tokens = markdown_tokens;
        }
        Some(Explored { exploration, .. }) => {
            receipt.explore_ms = millis(exploration.elapsed);
            receipt.note_relevance(exploration.relevance);
            receipt.reason = exploration.reason;
        }
        None => receipt.reason = refused,
    }
    let shown_reason = shown_reason.or_else(|| receipt.reason.clone());
    let connected = settings.router.is_connected(headers).await;
    let answer = Answer {
        id: receipt.id.clone(),
        model: CONTEXT_MODEL.to_owned(),
        created: jiff::Timestamp::now().as_second(),
        pieces: notice::around(connected, text, shown_reason.as_deref()),
        input_tokens,
        output_tokens,
    };
    (answer, receipt)
}

/// An exploration and its Markdown for people.
struct Explored {
    exploration: Exploration,
    markdown: String,
    markdown_tokens: u32,
}

impl Explored {
    fn of(exploration: Exploration) -> Explored {
        let markdown = render::markdown(&exploration.items);
        let markdown_tokens = tokens::count(&markdown);
        Explored { exploration, markdown, markdown_tokens }
    }
}
