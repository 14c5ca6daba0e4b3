//! Explorations in the background of a conversation, and their results until its next turn takes them.
//!
//! Results are kept in memory only and are lost at a restart. A result belongs to the turn it was explored for, identified
//! by the turn's key: a conversation without that turn never gets it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muninn_base::CancelFlag;
use muninn_context_engine::explore::ExploreOutcome;
use muninn_ledger::{Outcome, Receipt, TurnKey};
use muninn_session::inject::{Boundary, Chain};
use muninn_text::redact;

use super::super::turn::millis;
use super::super::{App, Workspace};
use super::{Explorer, drive};

/// The most explorations under way at a time; beyond this number none begins.
const AT_ONCE: usize = 4;
/// The most results that wait for their turn; the oldest is dropped first.
const KEPT: usize = 64;

/// All background explorations of a gateway.
#[derive(Default)]
pub struct BackgroundExplorations {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    running: Vec<(SessionTurn, CancelFlag)>,
    /// Oldest first.
    results: VecDeque<(SessionTurn, BackgroundResult)>,
    /// The gateway is stopping.
    closed: bool,
}

/// The turn of an exploration, in its session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SessionTurn {
    key: TurnKey,
    session: Option<String>,
}

/// The result of a background exploration.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundResult {
    /// The explored question.
    pub(crate) question: String,
    /// The citations and the trace.
    pub(crate) found: ExploreOutcome,
    /// The most tokens that may be packed of it.
    pub(crate) tokens: u32,
    /// The id of the exploration's receipt.
    pub(crate) receipt: String,
}

/// A question to explore in the background.
pub(crate) struct BackgroundQuestion {
    pub(crate) text: String,
    pub(crate) key: TurnKey,
    pub(crate) session: Option<String>,
    /// The request's receipt, the base of the exploration's own.
    pub(crate) receipt: Receipt,
}

impl SessionTurn {
    /// Whether this is an earlier turn of a conversation.
    fn is_in(&self, chain: &Chain, session: Option<&str>) -> bool {
        let is_this = |boundary: &Boundary| boundary.answered && boundary.key == self.key;
        self.session.as_deref() == session && chain.boundaries.iter().any(is_this)
    }
}

impl BackgroundExplorations {
    /// Whether an exploration for an earlier turn of this conversation runs or has a result that is not packed yet.
    pub(crate) fn has_pending(&self, chain: &Chain, session: Option<&str>) -> bool {
        let inner = self.lock();
        let running = inner.running.iter().map(|(turn, _)| turn);
        let results = inner.results.iter().map(|(turn, _)| turn);
        running.chain(results).any(|turn| turn.is_in(chain, session))
    }

    /// Takes the results for earlier turns of this conversation, until they are handed back.
    fn take(&self, chain: &Chain, session: Option<&str>) -> Vec<(SessionTurn, BackgroundResult)> {
        let mut inner = self.lock();
        let results = std::mem::take(&mut inner.results);
        let (taken, left): (Vec<_>, Vec<_>) = results.into_iter().partition(|(turn, _)| turn.is_in(chain, session));
        inner.results = left.into();
        taken
    }

    fn hand_back(&self, taken: Vec<(SessionTurn, BackgroundResult)>) {
        self.lock().results.extend(taken);
    }

    /// Cancels all explorations and lets none begin.
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.running.iter().for_each(|(_, abandoned)| abandoned.cancel());
    }

    /// Registers an exploration; `None` if the turn has one, or too many are running.
    fn start(&self, turn: &SessionTurn) -> Option<CancelFlag> {
        let mut inner = self.lock();
        let known = inner.running.iter().any(|(other, _)| other == turn)
            || inner.results.iter().any(|(other, _)| other == turn);
        if known || inner.closed || inner.running.len() >= AT_ONCE {
            return None;
        }
        let abandoned = CancelFlag::default();
        inner.running.push((turn.clone(), abandoned.clone()));
        Some(abandoned)
    }

    fn finish(&self, turn: &SessionTurn, result: Option<BackgroundResult>) {
        let mut inner = self.lock();
        inner.running.retain(|(other, _)| other != turn);
        if let Some(result) = result {
            inner.results.push_back((turn.clone(), result));
            while inner.results.len() > KEPT {
                inner.results.pop_front();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The results that a turn has taken. Unless the turn settles them, dropping this hands them back for the next turn: the
/// turn may miss its deadline, or its client may leave.
pub(crate) struct PendingResults {
    app: Arc<App>,
    taken: Vec<(SessionTurn, BackgroundResult)>,
}

impl PendingResults {
    pub(crate) fn of(app: &Arc<App>, chain: &Chain, session: Option<&str>) -> PendingResults {
        PendingResults { app: Arc::clone(app), taken: app.explorations.take(chain, session) }
    }

    pub(crate) fn results(&self) -> Vec<BackgroundResult> {
        self.taken.iter().map(|(_, result)| result.clone()).collect()
    }

    /// Drops the results: the ledger holds what was packed of them.
    pub(crate) fn settle(mut self) {
        self.taken.clear();
    }
}

impl Drop for PendingResults {
    fn drop(&mut self) {
        self.app.explorations.hand_back(std::mem::take(&mut self.taken));
    }
}

pub(crate) fn begin(app: &Arc<App>, workspace: &Arc<Workspace>, explorer: Explorer, question: BackgroundQuestion) {
    let turn = SessionTurn { key: question.key, session: question.session.clone() };
    // Always present: the explorer was built with it.
    let Some(blocking_client) = app.blocking_client().cloned() else {
        return;
    };
    let Some(abandoned) = app.explorations.start(&turn) else {
        tracing::debug!("not explored: the turn has an exploration already, or too many are running");
        return;
    };
    let (app, workspace) = (Arc::clone(app), Arc::clone(workspace));
    blocking_client.spawn(async move {
        let explored = drive(async move { explore(&workspace, &explorer, &question, abandoned).await });
        let explored = explored.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a background exploration failed");
            None
        });
        let (result, receipt) = explored.unzip();
        app.explorations.finish(&turn, result.flatten());
        // The receipt comes last: once it is visible, the next turn can take the result.
        if let (Some(receipt), Some(store)) = (receipt, &app.store) {
            store.note_receipt(receipt);
        }
    });
}

/// Explores. Returns the result, unless it has no citations, and the receipt.
async fn explore(
    workspace: &Workspace,
    explorer: &Explorer,
    question: &BackgroundQuestion,
    abandoned: CancelFlag,
) -> Option<(Option<BackgroundResult>, Receipt)> {
    let engine = workspace.engine.as_ref()?;
    let started = std::time::Instant::now();
    let found = explorer.explore(engine, &question.text, explorer.until(abandoned), &()).await;
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
    let result = BackgroundResult {
        question: question.text.clone(),
        tokens: explorer.pack_tokens(),
        receipt: receipt.id.clone(),
        found,
    };
    let has_citations = !result.found.citations.is_empty();
    Some((has_citations.then_some(result), receipt))
}
