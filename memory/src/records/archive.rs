//! Where records are that main does not hold.
//!
//! What left main so that it stays within bounds is in one file, as it was. Others there are copies of what was found
//! damaged, which may hold records that main has yet to get.

use super::{Home, RecordFile};

/// Where files go of which not every line is a record, as they are, and what is pruned.
pub const ARCHIVE: &str = ".muninn/memory/archive";
/// Where records go that leave main.
pub const PRUNED: &str = ".muninn/memory/archive/pruned.jsonl";

/// Whether a file holds what left main.
pub(crate) fn is_pruned(file: &RecordFile, home: &Home) -> bool {
    matches!(file, RecordFile::Home(path) if path.as_str() == home.path(PRUNED))
}
