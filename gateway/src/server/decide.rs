//! One turn's decision: what is found for it and recorded, in time or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use muninn_context_engine::{Already, Exploration, Limits, render, tokens};

use super::Repository;
use super::turn::{millis, now_ms};
use crate::inject::TurnKey;
use crate::store::{Entry, NewEntry, Store, StoreError, Use};

/// How long after the deadline an exploration may still be on its way back.
const GRACE: Duration = Duration::from_millis(20);

/// Where in the ledger a turn's row goes.
pub(super) struct Slot {
    pub(super) key: TurnKey,
    pub(super) session: Option<String>,
    pub(super) before: Vec<Use>,
    pub(super) absent: Vec<(TurnKey, Vec<i64>)>,
}

impl Slot {
    fn entry(&self, block: Option<String>, tokens: u32) -> NewEntry {
        NewEntry {
            session: self.session.clone(),
            block,
            tokens,
            before: self.before.clone(),
            absent: self.absent.clone(),
            now_ms: now_ms(),
        }
    }

    /// The row of a turn that goes without.
    pub(super) fn without(&self) -> NewEntry {
        self.entry(None, 0)
    }
}

/// What exploring came to.
pub(super) enum Decision {
    /// The ledger holds a row for the turn; what it says is injected.
    Recorded {
        entry: Entry,
        exploration: Box<Exploration>,
        explore_ms: f64,
        ledger_ms: f64,
    },
    /// Nothing can be injected.
    Faulty { reason: String },
    /// The deadline passed.
    Late,
}

const UNDECIDED: u8 = 0;
const RECORDING: u8 = 1;
const ABANDONED: u8 = 2;

/// Explores and records, off the worker's thread. Either the row is written before the request goes on, or it is agreed
/// that there will be none: a row that appears after the request went without it would change the conversation.
pub(super) async fn decide(
    repository: &Arc<Repository>,
    store: &Arc<dyn Store>,
    (question, already): (String, Already),
    budget: u32,
    slot: Slot,
) -> Decision {
    let deadline = Instant::now() + repository.settings().context.deadline;
    let state = Arc::new(AtomicU8::new(UNDECIDED));
    let slot = Arc::new(slot);
    let mut work = tokio::task::spawn_blocking({
        let (repository, store, state, slot) = (
            Arc::clone(repository),
            Arc::clone(store),
            Arc::clone(&state),
            Arc::clone(&slot),
        );
        move || {
            explore_and_record(
                &repository,
                &*store,
                (&question, &already),
                Limits {
                    tokens: budget,
                    deadline,
                },
                &state,
                &slot,
            )
        }
    });
    let until = tokio::time::Instant::from_std(deadline + GRACE);
    let finished = match tokio::time::timeout_at(until, &mut work).await {
        Ok(finished) => finished,
        Err(_)
            if state
                .compare_exchange(UNDECIDED, ABANDONED, Ordering::AcqRel, Ordering::Acquire)
                .is_ok() =>
        {
            store.note_went_without(slot.key, slot.without());
            return Decision::Late;
        }
        // Being recorded: the database's own busy time bounds the wait.
        Err(_) => work.await,
    };
    let decision = finished.unwrap_or_else(|error| Decision::Faulty {
        reason: error.to_string(),
    });
    if matches!(decision, Decision::Faulty { .. } | Decision::Late) {
        store.note_went_without(slot.key, slot.without());
    }
    decision
}

fn explore_and_record(
    repository: &Repository,
    store: &dyn Store,
    (question, already): (&str, &Already),
    limits: Limits,
    state: &AtomicU8,
    slot: &Slot,
) -> Decision {
    let Some(engine) = &repository.engine else {
        return Decision::Faulty {
            reason: "there is no repository".to_owned(),
        };
    };
    let started = Instant::now();
    let explored = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let exploration = engine.explore_beside(already, question, &limits);
        let block = (!exploration.items.is_empty()).then(|| render::block(&exploration.items));
        let cost = block.as_deref().map_or(0, tokens::count);
        (exploration, block, cost)
    }));
    let Ok((exploration, block, cost)) = explored else {
        return Decision::Faulty {
            reason: "exploring panicked".to_owned(),
        };
    };
    let explore_ms = millis(started.elapsed());
    if state
        .compare_exchange(UNDECIDED, RECORDING, Ordering::AcqRel, Ordering::Acquire)
        .is_err()
    {
        return Decision::Late;
    }
    let started = Instant::now();
    match store.record(slot.key, &slot.entry(block, cost)) {
        Ok(entry) => Decision::Recorded {
            entry,
            exploration: Box::new(exploration),
            explore_ms,
            ledger_ms: millis(started.elapsed()),
        },
        Err(error @ (StoreError::Database { .. } | StoreError::Directory { .. } | StoreError::Receipt { .. })) => {
            Decision::Faulty {
                reason: error.to_string(),
            }
        }
    }
}
