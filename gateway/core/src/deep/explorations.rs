use std::collections::VecDeque;

use muninn_base::CancelFlag;
use muninn_context_engine::explore::ExploreOutcome;
use muninn_ledger::TurnKey;
use muninn_session::inject::{Boundary, Chain};
use parking_lot::{Mutex, MutexGuard};

/// The most explorations under way at a time; beyond this number none begins.
pub(crate) const AT_ONCE: usize = 4;

/// The most results that wait for their turn; the oldest is dropped first.
pub(crate) const KEPT: usize = 64;

/// All background explorations of a gateway.
#[derive(Default)]
pub struct BackgroundExplorations {
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(crate) struct Inner {
    running: Vec<(SessionTurn, CancelFlag)>,
    /// Oldest first.
    results: VecDeque<(SessionTurn, BackgroundResult)>,
    /// The gateway is stopping.
    closed: bool,
}

/// The turn of an exploration, in its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionTurn {
    pub(crate) key: TurnKey,
    pub(crate) session: Option<String>,
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
    pub(crate) fn take(&self, chain: &Chain, session: Option<&str>) -> Vec<(SessionTurn, BackgroundResult)> {
        let mut inner = self.lock();
        let results = std::mem::take(&mut inner.results);
        let (taken, left): (Vec<_>, Vec<_>) = results.into_iter().partition(|(turn, _)| turn.is_in(chain, session));
        inner.results = left.into();
        taken
    }

    pub(crate) fn hand_back(&self, taken: Vec<(SessionTurn, BackgroundResult)>) {
        self.lock().results.extend(taken);
    }

    /// Cancels all explorations and lets none begin.
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.running.iter().for_each(|(_, abandoned)| abandoned.cancel());
    }

    /// Registers an exploration; `None` if the turn has one, or too many are running.
    pub(crate) fn start(&self, turn: &SessionTurn) -> Option<CancelFlag> {
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

    pub(crate) fn finish(&self, turn: &SessionTurn, result: Option<BackgroundResult>) {
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
        self.inner.lock()
    }
}
