//! What left main so that it stays within bounds: `.muninn/memory/archive/pruned-<hash>.jsonl`, records as they were.
//!
//! Other files there are copies of what was found damaged, which may hold records that main has yet to get.

use std::io;

use muninn_repo_tools::{RelPath, Worktree};

use super::{Record, RecordFile};

/// Where files go of which not every line is a record, as they are, and what is pruned.
pub const ARCHIVE: &str = ".muninn/memory/archive";
const PRUNED: &str = "pruned-";

/// Where records go that leave main: a file named by what they are, from the worktree's root.
pub(crate) fn pruned_name(records: &[Record]) -> String {
    let ids: String = records.iter().map(|record| record.id.as_str()).collect();
    let hash = blake3::hash(ids.as_bytes()).to_hex();
    format!("{ARCHIVE}/{PRUNED}{}.jsonl", &hash[..12])
}

/// The files of records that left main, by their names; none where there is no archive.
///
/// # Errors
/// Those of reading the folder.
pub(crate) fn pruned_files(worktree: &Worktree) -> io::Result<Vec<RecordFile>> {
    let entries = match std::fs::read_dir(worktree.root().join(ARCHIVE)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let path = name
            .to_str()
            .and_then(|name| RelPath::new(&format!("{ARCHIVE}/{name}")).ok());
        files.extend(path.filter(is_pruned));
    }
    files.sort();
    Ok(files.into_iter().map(RecordFile::Worktree).collect())
}

/// Whether a file holds what left main.
pub(super) fn is_pruned(path: &RelPath) -> bool {
    let name = path
        .as_str()
        .strip_prefix(ARCHIVE)
        .and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| name.starts_with(PRUNED) && name.ends_with(".jsonl"))
}
