//! The key of a ledger row, and the time limit of rows without a session.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time within which rows of unnamed sessions count as the same conversation.
pub(super) const UNNAMED_SESSION_MEMORY: Duration = Duration::from_secs(600);

/// Identifies one point of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TurnKey([u8; 32]);

impl TurnKey {
    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> TurnKey {
        TurnKey(bytes)
    }

    #[cfg(any(test, feature = "fixture"))]
    pub fn for_test(byte: u8) -> TurnKey {
        TurnKey([byte; 32])
    }
}

/// Whether a row of an unnamed session is at most ten minutes old, so that it may belong to the current conversation. A
/// row that a wrong clock dated more than ten minutes ahead is not recent.
pub fn is_recent(created_ms: i64, now_ms: i64) -> bool {
    u128::from(now_ms.abs_diff(created_ms)) <= UNNAMED_SESSION_MEMORY.as_millis()
}
