//! The life of a request before it is sent: earlier blocks are replayed, a new block is added, and both go on the receipt.
//!
//! Nothing here may keep a request from being answered. On a fault nothing is added, the receipt gives the reason, and
//! the body leaves as the client sent it, with the replayed blocks if replay worked.

mod budget;
mod planner;

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use muninn_backend::access::Caller;
use muninn_context_engine::Completeness;
use muninn_context_engine::value::Prices;
use muninn_ledger::{Outcome, Receipt, ReceiptItem, Replays, Store};
use muninn_session::inject::{Chain, Replay, Seed, replay};
use muninn_session::{Identity, Mode, SideRequest, identify, side_request};
use muninn_text::redact;
use muninn_wire::{Insertion, Prompt, Site, WireFormat};
use thiserror::Error;

use super::App;
use super::decide::Decision;
use super::deep::{DeepLane, ProgressSender};
use super::enter::{EnterError, locate, seed};

pub(super) use budget::preview;
use planner::TurnPlanner;

/// The insertions that a request's body gets, and the receipt of them.
pub struct Plan {
    /// The bytes to insert, and where.
    pub insertions: Vec<Insertion>,
    /// The receipt, still without backend and total time.
    pub receipt: Receipt,
    /// The new block as text, if there is one.
    pub block: Option<String>,
    mode: Mode,
}

/// Why a turn gets no new block. The message is the receipt's reason.
#[derive(Debug, Error)]
pub(super) enum NoPackReason {
    #[error("the client switched new context off")]
    NotWanted,
    #[error("a side request: {}", .0.name())]
    SideRequest(SideRequest),
    #[error("context.enabled is false")]
    Disabled,
    #[error("the conversation's token budget is used up")]
    NoBudget,
    #[error("there is no new question")]
    NoQuestion,
    #[error("this turn got its block in an earlier request")]
    HasBlock,
    #[error("this turn was sent without a block before, and stays without")]
    WentWithout,
    #[error("the background exploration has not finished")]
    StillExploring,
    #[error("the deadline passed before anything was found")]
    DeadlineExceeded,
    #[error("{0}")]
    NothingFound(String),
    #[error(transparent)]
    NoRepository(#[from] EnterError),
}

impl NoPackReason {
    fn outcome(&self) -> Outcome {
        match self {
            NoPackReason::NotWanted | NoPackReason::Disabled => Outcome::Off,
            _ => Outcome::None,
        }
    }
}

/// An empty receipt for a request that arrived now.
pub fn new_receipt(app: &App, caller: &Caller, format: WireFormat, id: &str, model: &str) -> Receipt {
    Receipt {
        format: Receipt::format_name(format).to_owned(),
        key: Some(caller.name().to_owned()).filter(|name| !name.is_empty()),
        model: redact(model).into_owned(),
        ..Receipt::of(id.to_owned(), &app.workspace.root, "")
    }
}

/// What planning needs of a request.
pub struct PlanRequest<'a, 'p> {
    pub caller: &'a Caller,
    pub headers: &'a HeaderMap,
    pub prompt: &'a Prompt<'p>,
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
    let PlanRequest { caller, headers, prompt, window, prices, deep, progress, with_preamble } = request;
    let mode = Mode::of(headers);
    let mut plan = Plan { insertions: Vec::new(), receipt, block: None, mode };
    if mode == Mode::Bypass {
        plan.receipt.outcome = Outcome::Bypass;
        return plan;
    }
    let identity = identify(headers, prompt);
    plan.set_identity(&identity);
    let Some(store) = app.store.clone() else {
        app.metrics.unreplayed();
        return plan.failed(app.store_problem.clone().unwrap_or_default());
    };
    let location = locate(app, caller, &identity.claimed_directories);
    if let Some(root) = location.root() {
        plan.receipt.worktree = root.display().to_string();
    }
    let chain = chain(app, caller, prompt, &identity);
    let replayed = match replay(&chain, identity.session.as_deref(), &*store, now_ms()).await {
        Ok(replayed) => replayed,
        Err(error) => {
            app.metrics.unreplayed();
            return plan.failed(error.to_string());
        }
    };
    plan.put_back(prompt, &replayed, identity.session.as_deref(), &*store);
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

/// The keys of a prompt's text blocks. Conversations of different callers, or of different opening worktrees, share none.
fn chain(app: &App, caller: &Caller, prompt: &Prompt<'_>, identity: &Identity<'_>) -> Chain {
    let seed =
        Seed { access_key: app.ledger_name(caller), worktree: &seed(app, caller, &identity.claimed_directories) };
    Chain::of(prompt, seed)
}

impl Plan {
    fn set_identity(&mut self, identity: &Identity<'_>) {
        let redacted = |id: &String| redact(id).into_owned();
        self.receipt.session = identity.session.as_ref().map(redacted);
        self.receipt.agent = identity.agent.as_ref().map(redacted);
        self.receipt.turn = Some(identity.turn).filter(|turn| *turn > 0);
        if identity.session.is_none() {
            self.receipt.derived = identity.derived().map(|id| id.to_string());
        }
    }

    fn failed(mut self, reason: String) -> Plan {
        tracing::warn!(id = %self.receipt.id, "forwarded without context: {reason}");
        self.receipt.outcome = Outcome::Failed;
        self.receipt.reason = Some(redact(&reason).into_owned());
        self
    }

    fn put_back(&mut self, prompt: &Prompt<'_>, replayed: &Replay, session: Option<&str>, store: &dyn Store) {
        self.insertions = replayed.insertions(prompt);
        self.receipt.replayed = Replays { blocks: replayed.blocks(), tokens: replayed.tokens() };
        store.note_uses(replayed.uses(session));
    }

    /// Adds no new block. The outcome still says whether earlier blocks were replayed.
    fn without(mut self, reason: &NoPackReason) -> Plan {
        self.receipt.outcome = match reason.outcome() {
            Outcome::None if self.mode == Mode::Off => Outcome::Off,
            Outcome::None if self.receipt.replayed.blocks > 0 => Outcome::Replayed,
            outcome => outcome,
        };
        self.receipt.reason = Some(redact(&reason.to_string()).into_owned());
        self
    }

    fn add(mut self, prompt: &Prompt<'_>, site: Site, decision: Decision) -> Plan {
        let (entry, explored) = match decision {
            Decision::Recorded { entry, explored, explore_ms, ledger_ms } => {
                self.receipt.explore_ms = explore_ms;
                self.receipt.ledger_ms = ledger_ms;
                (entry, *explored)
            }
            Decision::Failed { reason } => return self.failed(reason),
            Decision::DeadlineExceeded => return self.without(&NoPackReason::DeadlineExceeded),
        };
        self.receipt.exploration = explored.trace;
        self.receipt.entered = explored.entered;
        let exploration = explored.exploration;
        let Some(block) = &entry.block else {
            let reason = exploration.reason;
            let reason = reason.unwrap_or_else(|| "nothing relevant was found".to_owned());
            return self.without(&NoPackReason::NothingFound(reason));
        };
        self.insertions.extend(prompt.insert(site, block));
        self.block = Some(block.clone());
        self.receipt.tokens = entry.tokens;
        self.receipt.estimate = explored.estimate;
        self.receipt.preamble = explored.preamble;
        self.receipt.items = exploration.items.iter().map(ReceiptItem::from).collect();
        self.receipt.reason = exploration.reason;
        self.receipt.outcome = match exploration.completeness {
            Completeness::Full => Outcome::Injected,
            Completeness::Partial => Outcome::Partial,
        };
        self
    }
}

pub(super) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Milliseconds with the precision that receipts show.
pub fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}

#[cfg(test)]
mod tests;
