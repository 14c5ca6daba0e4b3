//! Open conflicts, which wait for a person.

use std::collections::BTreeMap;

use muninn_repo_tools::{RelPath, Worktree, read_text};

use super::ReconcileError;
use super::files::MemoryFiles;
use super::plan::open_conflicts as open_among;
use crate::records::{Home, MAIN, Record, RecordStatus, Source};

/// Larger files count as changed.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Two records with a certain or possible contradiction.
#[derive(Debug, Clone)]
pub struct OpenConflict {
    /// The conflict's record, with the reason.
    pub conflict: Record,
    /// The older record, or its representative.
    pub left: Record,
    /// The newer record, or its representative.
    pub right: Record,
}

/// The change of a cited file since its record was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// The content is the same.
    Unchanged,
    /// The content differs.
    Changed,
    /// The file does not exist or cannot be read.
    Gone,
    /// The record does not name the file's content.
    Unknown,
}

/// The open conflicts, sorted by id.
///
/// # Errors
/// [`ReconcileError::Io`] if main cannot be read.
pub fn open_conflicts(home: &Home) -> Result<Vec<OpenConflict>, ReconcileError> {
    let mut main = MemoryFiles::at(home).records(MAIN, &mut Vec::new())?;
    main.sort_by(|one, other| one.id.cmp(&other.id));
    let status = RecordStatus::of(&main);
    // A side can be superseded or archived. Then the duplicate that recall returns is shown instead.
    let recalled = main.iter().filter(|record| !status.is_gone(&record.id));
    let mut by_kept: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in recalled {
        by_kept.entry(status.kept(&record.id)).or_insert(record);
    }
    let side = |id: &str| {
        let itself = main.iter().find(|record| record.id == id && !status.is_gone(id));
        itself.or_else(|| by_kept.get(status.kept(id)).copied()).cloned()
    };
    let with_sides = |conflict: Record| {
        let (left, right) = conflict.sides()?;
        Some(OpenConflict {
            left: side(left)?,
            right: side(right)?,
            conflict,
        })
    };
    Ok(open_among(&main).into_iter().filter_map(with_sides).collect())
}

/// Compares a cited file with its current content.
pub fn file_change(worktree: &Worktree, source: &Source) -> FileChange {
    let read = || {
        let path = RelPath::new(&source.path).ok()?;
        read_text(worktree, &path, MAX_FILE_BYTES).ok()
    };
    match (read(), &source.blob) {
        (None, _) => FileChange::Gone,
        (Some(_), None) => FileChange::Unknown,
        (Some(file), Some(blob)) if file.blob.to_string() == *blob => FileChange::Unchanged,
        (Some(_), Some(_)) => FileChange::Changed,
    }
}
