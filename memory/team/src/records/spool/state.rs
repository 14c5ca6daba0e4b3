use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::Clock;
use parking_lot::{Mutex, MutexGuard};

use super::error::Durability;
use super::index::Index;

/// The live records of one worktree. Clones share one connection to the index.
#[derive(Debug, Clone)]
pub struct Spool {
    pub(crate) dir: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) clock: Clock,
    pub(crate) index: Arc<Mutex<Option<Index>>>,
}

/// The spool while this process and thread hold its lock.
pub(crate) struct Locked<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) durability: Durability,
    pub(crate) clock: &'a Clock,
    pub(crate) index: MutexGuard<'a, Option<Index>>,
    /// Unlocked on close.
    pub(crate) _lock: File,
}

/// Records of one session and branch that wait for their segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRecords {
    /// The session's id.
    pub session: String,
    /// The branch of these records; `None` with a detached HEAD.
    pub branch: Option<String>,
    /// The distinct commits that were checked out.
    pub commits: Vec<String>,
    /// Number of records.
    pub records: usize,
    pub file: PathBuf,
}

/// The result of a flush.
#[derive(Debug, Default)]
pub struct Flushed {
    /// Names of the new segments.
    pub segments: Vec<String>,
    /// Number of records in them.
    pub records: usize,
    /// Files that were examined and still wait.
    pub waiting: Vec<PendingRecords>,
    /// Whether the deadline passed before all files were examined.
    pub is_cut: bool,
}

pub(crate) fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
