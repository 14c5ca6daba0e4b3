//! The conflicts that wait for a person.

use std::collections::BTreeMap;

use muninn_repo_tools::{RelPath, Worktree, read_text};

use super::ReconcileError;
use super::files::MemoryFiles;
use super::plan::open_conflicts as open_among;
use crate::records::{Home, MAIN, Record, RecordStatus, Source};

/// Larger files are taken for changed.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Two records that cannot both be so, or may not be.
#[derive(Debug, Clone)]
pub struct OpenConflict {
    /// It says why.
    pub conflict: Record,
    /// The older record, or what is recalled for it.
    pub left: Record,
    /// The newer one, likewise.
    pub right: Record,
}

/// What has become of a file since a record was written that rests on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// It is as it was.
    Unchanged,
    /// It is another.
    Changed,
    /// There is none, or none that is read.
    Gone,
    /// Nobody knows how it was.
    Unknown,
}

/// The conflicts that are open, by id.
///
/// # Errors
/// [`ReconcileError::Io`] where main cannot be read.
pub fn open_conflicts(home: &Home) -> Result<Vec<OpenConflict>, ReconcileError> {
    let mut main = MemoryFiles::at(home).records(MAIN, &mut Vec::new())?;
    main.sort_by(|one, other| one.id.cmp(&other.id));
    let status = RecordStatus::of(&main);
    // A side may be superseded, or in the archive: then what says the same is shown, as it is recalled.
    let told = main.iter().filter(|record| !status.is_gone(&record.id));
    let mut by_kept: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in told {
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

/// What has become of a file that a record rests on.
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
