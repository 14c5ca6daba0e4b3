use muninn_context_engine::explore::Trace;
use muninn_context_engine::{Exploration, Item, tokens};
use muninn_ledger::{Entry, EntryId, Estimate, NewEntry, PreamblePart, TurnKey, Use};

use super::turn::now_ms;

/// The key and context of a turn's ledger row.
pub(super) struct LedgerSlot {
    pub(super) key: TurnKey,
    pub(super) session: Option<String>,
    pub(super) before: Vec<Use>,
    pub(super) absent: Vec<(TurnKey, Vec<EntryId>)>,
}

impl LedgerSlot {
    pub(crate) fn entry(&self, block: Option<String>, tokens: u32) -> NewEntry {
        NewEntry {
            id: None,
            session: self.session.clone(),
            block,
            tokens,
            before: self.before.clone(),
            absent: self.absent.clone(),
            now_ms: now_ms(),
        }
    }

    /// The row of a turn without a block.
    pub(super) fn without(&self) -> NewEntry {
        self.entry(None, 0)
    }
}

/// The result of exploring for a turn.
pub(super) enum Decision {
    /// The ledger holds a row for the turn; its block is injected.
    Recorded { entry: Entry, explored: Box<Explored>, explore_ms: f64, ledger_ms: f64 },
    /// Nothing can be injected.
    Failed { reason: String },
    /// The deadline passed.
    DeadlineExceeded,
}

/// The result of exploring for a turn, with the block made of it.
pub(super) struct Explored {
    pub(super) exploration: Exploration,
    /// The block; `None` if there is nothing to add.
    pub(crate) block: Option<String>,
    /// Its tokens.
    pub(crate) cost: u32,
    /// The parts of the preamble that it begins with.
    pub(super) preamble: Vec<PreamblePart>,
    /// The estimated value of its items; `None` without any.
    pub(super) estimate: Option<Estimate>,
    /// The trace of an inline exploration.
    pub(super) trace: Option<Box<Trace>>,
    /// The receipt ids of the background explorations whose results were added.
    pub(super) entered: Vec<String>,
}

impl Explored {
    /// Notes about calls, which were not searched for.
    pub(super) fn of_notes(notes: Vec<Item>, block: String, reason: String) -> Box<Explored> {
        Box::new(Explored {
            cost: tokens::count(&block),
            exploration: Exploration { items: notes, reason: Some(reason), ..Exploration::nothing() },
            block: Some(block),
            preamble: Vec::new(),
            estimate: None,
            trace: None,
            entered: Vec::new(),
        })
    }
}
