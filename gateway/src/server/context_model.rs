//! The built-in model `muninn/context`: it answers with the pack itself, so that a gateway works before any model does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use muninn_context_engine::{Completeness, Limits, render, tokens};

use super::place::{enter, locate};
use super::turn::millis;
use super::{Settings, Shared, notice};
use crate::access::Caller;
use crate::backend::CONTEXT_MODEL;
use crate::session::{newest_human_turn, workplace};
use crate::store::{Outcome, Receipt, ReceiptItem};
use crate::wire::Prompt;
use crate::wire::answer::Answer;

/// What it may pack, and how long it may take: there is nobody to keep waiting behind it.
const TOKENS: u32 = 3_600;
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers a prompt, and fills in its receipt.
pub(super) async fn answer(
    shared: &Arc<Shared>,
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
    let workplace = workplace(headers, prompt);
    let place = locate(shared, caller, &workplace);
    if let Some(root) = place.root() {
        receipt.worktree = root.display().to_string();
    }
    let (repository, refused) = match enter(shared, caller, place, &workplace.now).await {
        Ok(repository) => (Some(repository), None),
        Err(reason) => (None, Some(reason)),
    };
    let exploration = {
        let explore = move || {
            let limits = Limits {
                tokens: TOKENS,
                deadline: Instant::now() + PATIENCE,
            };
            let exploration = repository?.engine.as_ref()?.explore(&question, &limits);
            let text = render::markdown(&exploration.items);
            let cost = tokens::count(&text);
            Some((exploration, text, cost))
        };
        tokio::task::spawn_blocking(explore).await.ok().flatten()
    };
    let mut text = String::new();
    let mut output_tokens = 0;
    match exploration {
        Some((exploration, packed, cost)) if !exploration.items.is_empty() => {
            receipt.items = exploration.items.iter().map(ReceiptItem::from).collect();
            receipt.tokens = cost;
            receipt.explore_ms = millis(exploration.elapsed);
            receipt.reason = exploration.reason;
            receipt.outcome = match exploration.completeness {
                Completeness::Full => Outcome::Injected,
                Completeness::Partial => Outcome::Partial,
            };
            text = packed;
            output_tokens = cost;
        }
        Some((exploration, ..)) => {
            receipt.explore_ms = millis(exploration.elapsed);
            receipt.reason = exploration.reason;
        }
        None => receipt.reason = refused,
    }
    let answer = Answer {
        id: receipt.id.clone(),
        model: CONTEXT_MODEL.to_owned(),
        created: jiff::Timestamp::now().as_second(),
        pieces: notice::around(settings, text, receipt.reason.as_deref()),
        input_tokens,
        output_tokens,
    };
    (answer, receipt)
}
