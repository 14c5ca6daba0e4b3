//! The rows of the ledger.

use serde::{Deserialize, Serialize};

use super::TurnKey;

/// The id of a row, opaque outside of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub(in crate::store) i64);

impl EntryId {
    #[cfg(test)]
    pub(crate) fn for_test(number: i64) -> EntryId {
        EntryId(number)
    }

    #[cfg(test)]
    pub(crate) fn number(self) -> i64 {
        self.0
    }
}

/// One row of the ledger: the block of one turn of one conversation, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Names the row.
    pub id: EntryId,
    /// The session that it was made in, where the client named one.
    pub session: Option<String>,
    /// The exact text that was injected, `None` if the turn got no block.
    pub block: Option<String>,
    /// The block's tokens.
    pub tokens: u32,
    /// The rows that were replayed when this one was made: what the conversation's history is made of, for good.
    pub before: Vec<EntryId>,
    /// When the row was written, in milliseconds since the epoch.
    pub created_ms: i64,
    /// The chain after the model's answer, for each way in which the conversation was seen to go on.
    pub continuations: Vec<TurnKey>,
}

/// A row to write for a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEntry {
    /// The session, where the client named one.
    pub session: Option<String>,
    /// The block, `None` for a turn that goes without.
    pub block: Option<String>,
    /// The block's tokens.
    pub tokens: u32,
    /// The rows that were replayed before it, and how the conversation went on after each.
    pub before: Vec<Use>,
    /// Earlier turns of the conversation that have no row: they went without, and stay so. With each the rows before it.
    pub absent: Vec<(TurnKey, Vec<EntryId>)>,
    /// Now, in milliseconds since the epoch.
    pub now_ms: i64,
}

/// A row that was replayed, and how its conversation went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The row.
    pub entry: EntryId,
    /// The chain after the model's answer, where it is new.
    pub continuation: Option<TurnKey>,
    /// The session that has the row in its history from now on, where it was made in another one; empty for one without
    /// a name.
    pub adopted_by: Option<String>,
}

impl Use {
    /// A row that was replayed, and nothing new about it.
    #[must_use]
    pub fn of(entry: EntryId) -> Use {
        Use {
            entry,
            continuation: None,
            adopted_by: None,
        }
    }
}
