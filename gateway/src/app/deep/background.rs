//! Explorations beside a conversation, and what they found, until its next turn comes for it.
//!
//! What is found is kept in memory only: after a restart the next turn goes without it. It belongs to the turn that it was
//! explored for, told by the turn's key; a conversation that does not hold that turn never sees it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muninn_context_engine::explore::ExploreOutcome;
use muninn_memory::redact;
use muninn_repo_tools::CancelFlag;

use super::super::turn::millis;
use super::super::{App, Workspace};
use super::{Explorer, drive};
use crate::inject::{Boundary, Chain};
use crate::store::{Outcome, Receipt, TurnKey};

/// Explorations under way at a time; while there are as many, no other begins.
const AT_ONCE: usize = 4;
/// Results that wait for their turn; the oldest goes first.
const KEPT: usize = 64;

/// All explorations of a gateway that nobody waits for.
#[derive(Default)]
pub(crate) struct Explorations {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    running: Vec<(Slot, CancelFlag)>,
    /// Oldest first.
    late: VecDeque<(Slot, Late)>,
    /// The gateway is stopping.
    closed: bool,
}

/// The turn that something is explored for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    key: TurnKey,
    session: Option<String>,
}

/// What an exploration found for a turn that went on without waiting.
#[derive(Debug, Clone)]
pub(crate) struct Late {
    /// The question that was explored.
    pub(crate) question: String,
    /// What was found.
    pub(crate) found: ExploreOutcome,
    /// What of it may be packed, in tokens.
    pub(crate) tokens: u32,
    /// The receipt of the exploration.
    pub(crate) receipt: String,
}

/// A question that is to be explored.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) key: TurnKey,
    pub(crate) session: Option<String>,
    /// The request's receipt, from which the exploration's own is made.
    pub(crate) receipt: Receipt,
}

impl Slot {
    /// Whether it is an earlier turn of this conversation.
    fn is_in(&self, chain: &Chain, session: Option<&str>) -> bool {
        let is_this = |boundary: &Boundary| boundary.answered && boundary.key == self.key;
        self.session.as_deref() == session && chain.boundaries.iter().any(is_this)
    }
}

impl Explorations {
    /// Whether something is or was explored for an earlier turn of this conversation that has not come in yet.
    pub(crate) fn concern(&self, chain: &Chain, session: Option<&str>) -> bool {
        let inner = self.lock();
        let running = inner.running.iter().map(|(slot, _)| slot);
        let late = inner.late.iter().map(|(slot, _)| slot);
        running.chain(late).any(|slot| slot.is_in(chain, session))
    }

    /// What was found for earlier turns of this conversation. Nobody else gets it, unless it is handed back.
    fn take(&self, chain: &Chain, session: Option<&str>) -> Vec<(Slot, Late)> {
        let mut inner = self.lock();
        let late = std::mem::take(&mut inner.late);
        let (taken, left): (Vec<_>, Vec<_>) = late.into_iter().partition(|(slot, _)| slot.is_in(chain, session));
        inner.late = left.into();
        taken
    }

    fn hand_back(&self, taken: Vec<(Slot, Late)>) {
        self.lock().late.extend(taken);
    }

    /// Ends all that is under way and lets none begin.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.running.iter().for_each(|(_, abandoned)| abandoned.cancel());
    }

    /// Lets one begin, unless the turn has one, or there are too many.
    fn enter(&self, slot: &Slot) -> Option<CancelFlag> {
        let mut inner = self.lock();
        let known =
            inner.running.iter().any(|(other, _)| other == slot) || inner.late.iter().any(|(other, _)| other == slot);
        if known || inner.closed || inner.running.len() >= AT_ONCE {
            return None;
        }
        let abandoned = CancelFlag::default();
        inner.running.push((slot.clone(), abandoned.clone()));
        Some(abandoned)
    }

    fn leave(&self, slot: &Slot, late: Option<Late>) {
        let mut inner = self.lock();
        inner.running.retain(|(other, _)| other != slot);
        if let Some(late) = late {
            inner.late.push_back((slot.clone(), late));
            while inner.late.len() > KEPT {
                inner.late.pop_front();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was found for earlier turns of a conversation, in the hands of the turn that is to have it. If that comes to
/// nothing, being late or left by its client, the next one gets it.
pub(crate) struct Taken {
    app: Arc<App>,
    late: Vec<(Slot, Late)>,
}

impl Taken {
    pub(crate) fn of(app: &Arc<App>, chain: &Chain, session: Option<&str>) -> Taken {
        Taken {
            app: Arc::clone(app),
            late: app.explorations.take(chain, session),
        }
    }

    pub(crate) fn results(&self) -> Vec<Late> {
        self.late.iter().map(|(_, late)| late.clone()).collect()
    }

    /// It is in the ledger, as far as it was worth it.
    pub(crate) fn settle(mut self) {
        self.late.clear();
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.app.explorations.hand_back(std::mem::take(&mut self.late));
    }
}

/// Begins to explore a question beside its request.
pub(crate) fn begin(app: &Arc<App>, workspace: &Arc<Workspace>, explorer: Explorer, question: Question) {
    let slot = Slot {
        key: question.key,
        session: question.session.clone(),
    };
    // The explorer asks its model by it, or there would be none.
    let Some(courier) = app.courier().cloned() else {
        return;
    };
    let Some(abandoned) = app.explorations.enter(&slot) else {
        tracing::debug!("not explored: the turn is being explored, or too many are");
        return;
    };
    let (app, workspace) = (Arc::clone(app), Arc::clone(workspace));
    courier.spawn(async move {
        let explored = drive(async move { explore(&workspace, &explorer, &question, abandoned).await });
        let explored = explored.await.unwrap_or_else(|error| {
            tracing::error!(%error, "exploring failed");
            None
        });
        let (late, receipt) = explored.unzip();
        app.explorations.leave(&slot, late.flatten());
        // Last: who sees the receipt knows that the next turn gets what it tells of.
        if let (Some(receipt), Some(store)) = (receipt, &app.store) {
            store.note_receipt(receipt);
        }
    });
}

/// Explores. Returns what the next turn may get of it, and its receipt.
async fn explore(
    workspace: &Workspace,
    explorer: &Explorer,
    question: &Question,
    abandoned: CancelFlag,
) -> Option<(Option<Late>, Receipt)> {
    let engine = workspace.engine.as_ref()?;
    let started = std::time::Instant::now();
    let found = explorer.explore(engine, &question.text, abandoned, &()).await;
    let took = millis(started.elapsed());
    let receipt = Receipt {
        id: ulid::Ulid::generate().to_string(),
        at: jiff::Timestamp::now().to_string(),
        backend: found.trace.model.clone(),
        outcome: Outcome::Explored,
        reason: Some(redact(&format!("explored for {}", question.receipt.id)).into_owned()),
        ms: took,
        explore_ms: took,
        exploration: Some(Box::new(found.trace.clone())),
        ..question.receipt.clone()
    };
    let totals = found.trace.totals();
    tracing::info!(
        id = %receipt.id, ended = found.trace.ended.label(), turns = totals.turns, calls = totals.calls,
        citations = found.citations.len(), ms = took, "explored"
    );
    let late = Late {
        question: question.text.clone(),
        tokens: explorer.pack_tokens(),
        receipt: receipt.id.clone(),
        found,
    };
    let is_of_use = !late.found.citations.is_empty();
    Some((is_of_use.then_some(late), receipt))
}
