pub use muninn_team::records::{ARCHIVE, PRUNED, RECONCILED};

/// The archive of segments, if archiving is on. It is one file that exists from the beginning: git detects a moved
/// segment as a rename, and if two people moved it, git silently drops lines that were added since.
pub const SESSIONS_ARCHIVE: &str = ".muninn/memory/sessions/archive/sessions.jsonl";
