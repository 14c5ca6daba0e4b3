//! The rows of the ledger.

use serde::{Deserialize, Serialize};

use super::TurnKey;

/// The id of a row. A row that waits in the journal has its final one. The rows that one request writes have rising ids; otherwise
/// opaque outside of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub(crate) i64);

impl EntryId {
    #[cfg(any(test, feature = "fixture"))]
    pub fn for_test(number: i64) -> EntryId {
        EntryId(number)
    }

    #[cfg(any(test, feature = "fixture"))]
    pub fn number(self) -> i64 {
        self.0
    }
}

/// One row of the ledger: the block of one turn of one conversation, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The row's id.
    pub id: EntryId,
    /// The session that wrote it, if the client named one.
    pub session: Option<String>,
    /// The exact text that was injected; `None` if the turn has no block.
    pub block: Option<String>,
    /// The block's tokens.
    pub tokens: u32,
    /// The rows that were replayed when this one was written. They are the conversation's history and never change.
    pub before: Vec<EntryId>,
    /// The time of writing, in milliseconds since the epoch.
    pub created_ms: i64,
    /// The chains after the model's answer, one for each known continuation of the conversation.
    pub continuations: Vec<TurnKey>,
}

/// A row to write for a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewEntry {
    /// The row's id, if the journal gave it one. The rows of `absent` have the ids that follow.
    #[serde(default)]
    pub id: Option<EntryId>,
    /// The session, if the client named one.
    pub session: Option<String>,
    /// The block; `None` for a turn without one.
    pub block: Option<String>,
    /// The block's tokens.
    pub tokens: u32,
    /// The rows that were replayed before it, each with its continuation.
    pub before: Vec<Use>,
    /// Earlier turns of the conversation without a row, each with the rows before it. They get a row without a block.
    pub absent: Vec<(TurnKey, Vec<EntryId>)>,
    /// The current time, in milliseconds since the epoch.
    pub now_ms: i64,
}

impl NewEntry {
    /// The row with this id.
    pub(crate) fn row(&self, id: EntryId) -> Entry {
        Entry {
            id,
            session: self.session.clone(),
            block: self.block.clone(),
            tokens: self.tokens,
            before: self.before(),
            created_ms: self.now_ms,
            continuations: Vec::new(),
        }
    }

    pub(crate) fn before(&self) -> Vec<EntryId> {
        self.before.iter().map(|used| used.entry).collect()
    }

    /// The keys of the absent turns, each with its id and the rows before it.
    pub(crate) fn absent(&self) -> impl Iterator<Item = (TurnKey, Option<EntryId>, &[EntryId])> {
        let absent = self.absent.iter().zip(1..);
        absent.map(|((key, before), number)| (*key, self.id.map(|id| EntryId(id.0 + number)), before.as_slice()))
    }
}

/// A row that was replayed, with its continuation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// The row.
    pub entry: EntryId,
    /// The row's key, if the use adds something to the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<TurnKey>,
    /// The chain after the model's answer, if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continuation: Option<TurnKey>,
    /// The session that adopts the row, if another session wrote it; empty for an unnamed session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopted_by: Option<String>,
}

impl Use {
    /// A use of a row without a new continuation or session.
    pub fn of(entry: EntryId) -> Use {
        Use { entry, key: None, continuation: None, adopted_by: None }
    }
}
