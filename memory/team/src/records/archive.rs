//! The archive of records that left main memory.
//!
//! Pruned records are unchanged lines of one file. The other files are copies of damaged files. These copies can
//! contain records that main does not have yet.

use super::{Home, RecordFile};

/// The folder of pruned records and of copies of files with invalid lines.
pub const ARCHIVE: &str = ".muninn/memory/archive";
/// The file of records that were pruned from main.
pub const PRUNED: &str = ".muninn/memory/archive/pruned.jsonl";

/// Returns whether a file is the file of pruned records.
pub(crate) fn is_pruned(file: &RecordFile, home: &Home) -> bool {
    matches!(file, RecordFile::Home(path) if path.as_str() == home.path(PRUNED))
}
