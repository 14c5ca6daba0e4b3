use std::sync::Arc;

use http::HeaderMap;
use muninn_backend::access::Caller;
use muninn_context_engine::value::Prices;
use muninn_ledger::{Outcome, Receipt};
use muninn_session::inject::replay;
use muninn_session::{Identity, Mode, identify, side_request};
use muninn_text::redact;
use muninn_wire::{Insertion, Prompt, WireFormat};

use super::super::App;
use super::super::deep::{DeepLane, ProgressSender};
use super::super::enter::locate;
use super::clock::now_ms;
use super::holdout;
use super::plan::{Plan, chain};
use super::planner::TurnPlanner;

/// An empty receipt for a request that arrived now.
pub fn new_receipt(app: &App, caller: &Caller, format: WireFormat, id: &str, model: &str) -> Receipt {
    Receipt {
        format: Receipt::format_name(format).to_owned(),
        key: Some(caller.name().to_owned()).filter(|name| !name.is_empty()),
        model: redact(model).into_owned(),
        ..Receipt::of(id.to_owned(), &app.workspace.root, "")
    }
}

/// The input of [`plan`].
pub struct PlanRequest<'a, 'p> {
    pub caller: &'a Caller,
    pub headers: &'a HeaderMap,
    pub prompt: &'a Prompt<'p>,
    /// The identity in the headers and the prompt.
    pub identity: &'a Identity<'a>,
    /// The backend's context window in tokens, where known.
    pub window: Option<u32>,
    /// The prices of the first candidate's tokens.
    pub prices: Prices,
    /// Whether a model explores for the newest question.
    pub deep: DeepLane,
    /// Receives the progress of an inline exploration.
    pub progress: ProgressSender,
    /// Whether the first block of a conversation begins with the preamble. Hooks give it at the start of a session.
    pub with_preamble: bool,
}

/// Plans what goes into a prompt: identifies the request, replays earlier blocks, and adds a block for the newest turn.
pub async fn plan(app: &Arc<App>, request: PlanRequest<'_, '_>, receipt: Receipt) -> Plan {
    let PlanRequest { caller, headers, prompt, identity, window, prices, deep, progress, with_preamble } = request;
    let mode = Mode::of(headers);
    let mut plan = Plan { insertions: Vec::new(), receipt, block: None, mode };
    if mode == Mode::Bypass {
        plan.receipt.outcome = Outcome::Bypass;
        return plan;
    }
    plan.set_identity(identity);
    let Some(store) = app.store.clone() else {
        app.metrics.unreplayed();
        return plan.failed(app.store_problem.clone().unwrap_or_default());
    };
    let location = locate(app, caller, &identity.claimed_directories);
    if let Some(root) = location.root() {
        plan.receipt.worktree = root.display().to_string();
    }
    let chain = chain(app, caller, prompt, identity);
    let replayed = match replay(&chain, identity.session.as_deref(), &*store, now_ms()).await {
        Ok(replayed) => replayed,
        Err(error) => {
            app.metrics.unreplayed();
            return plan.failed(error.to_string());
        }
    };
    plan.put_back(prompt, &replayed, identity.session.as_deref(), &*store);
    let share = app.settings().config.context.holdout;
    plan.receipt.trial = holdout::trial(share, prompt, identity, &replayed);
    let planner = TurnPlanner { app, store, caller, prompt, window, prices, identity, chain, replayed, with_preamble };
    let side = side_request(headers, prompt);
    match planner.decide(&mut plan, side, location, (deep, progress)).await {
        Ok((site, decision)) => plan.add(prompt, site, decision),
        Err(reason) => plan.without(&reason),
    }
}

/// The replayed blocks alone, for a client that counts a prompt's tokens. The request leaves no trace in the ledger.
pub async fn replay_only(app: &App, caller: &Caller, headers: &HeaderMap, prompt: &Prompt<'_>) -> Vec<Insertion> {
    if Mode::of(headers) == Mode::Bypass {
        return Vec::new();
    }
    let Some(store) = &app.store else {
        return Vec::new();
    };
    let identity = identify(headers, prompt);
    let chain = chain(app, caller, prompt, &identity);
    match replay(&chain, identity.session.as_deref(), &**store, now_ms()).await {
        Ok(replayed) => replayed.insertions(prompt),
        Err(error) => {
            tracing::warn!("tokens are counted without the replayed blocks: {error}");
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
