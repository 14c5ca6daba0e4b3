use muninn_backend::access::Caller;
use muninn_context_engine::Completeness;
use muninn_ledger::{Outcome, Receipt, ReceiptItem, Replays, Store};
use muninn_session::inject::{Chain, Replay, Seed};
use muninn_session::{Identity, Mode};
use muninn_text::redact;
use muninn_wire::{Insertion, Prompt, Site};

use super::super::App;
use super::super::decision::Decision;
use super::super::enter::seed;
use super::no_pack::NoPackReason;

/// The insertions that a request's body gets, and the receipt of them.
pub struct Plan {
    /// The bytes to insert, and where.
    pub insertions: Vec<Insertion>,
    /// The receipt, still without backend and total time.
    pub receipt: Receipt,
    /// The new block as text, if there is one.
    pub block: Option<String>,
    pub(crate) mode: Mode,
}

/// The keys of a prompt's text blocks. Conversations of different callers, or of different opening worktrees, share none.
pub(crate) fn chain(app: &App, caller: &Caller, prompt: &Prompt<'_>, identity: &Identity<'_>) -> Chain {
    let seed =
        Seed { access_key: app.ledger_name(caller), worktree: &seed(app, caller, &identity.claimed_directories) };
    Chain::of(prompt, seed)
}

impl Plan {
    pub(crate) fn set_identity(&mut self, identity: &Identity<'_>) {
        self.receipt.session.clone_from(&identity.session);
        self.receipt.agent.clone_from(&identity.agent);
        self.receipt.turn = Some(identity.turn()).filter(|turn| *turn > 0);
        if identity.session.is_none() {
            self.receipt.derived = identity.derived().map(|id| id.to_string());
        }
    }

    pub(crate) fn failed(mut self, reason: String) -> Plan {
        tracing::warn!(id = %self.receipt.id, "forwarded without context: {reason}");
        self.receipt.outcome = Outcome::Failed;
        self.receipt.reason = Some(redact(&reason).into_owned());
        self
    }

    pub(crate) fn put_back(
        &mut self,
        prompt: &Prompt<'_>,
        replayed: &Replay,
        session: Option<&str>,
        store: &dyn Store,
    ) {
        self.insertions = replayed.insertions(prompt);
        self.receipt.replayed = Replays { blocks: replayed.blocks(), tokens: replayed.tokens() };
        store.note_uses(replayed.uses(session));
    }

    /// Adds no new block. The outcome still says whether earlier blocks were replayed.
    pub(crate) fn without(mut self, reason: &NoPackReason) -> Plan {
        self.receipt.outcome = match reason.outcome() {
            Outcome::None if self.mode == Mode::Off || self.receipt.trial.is_some_and(|trial| trial.held_out) => {
                Outcome::Off
            }
            Outcome::None if self.receipt.replayed.blocks > 0 => Outcome::Replayed,
            outcome => outcome,
        };
        self.receipt.reason = Some(redact(&reason.to_string()).into_owned());
        self
    }

    pub(crate) fn add(mut self, prompt: &Prompt<'_>, site: Site, decision: Decision) -> Plan {
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
        let mut exploration = explored.exploration;
        self.receipt.note_relevance(exploration.relevance.take());
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
