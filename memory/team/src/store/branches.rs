use std::io;
use std::path::{Path, PathBuf};

use crate::records::Segments;

/// The segments that recall reads on the default branch, in addition to main.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultBranchSegments {
    /// Segments of this worktree's own sessions.
    #[default]
    Own,
    /// No segments.
    Main,
    All,
}

/// The segment files of a folder, sorted by name; empty if it does not exist.
pub fn segments_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Segments::parse_name(&name).is_some() && path.symlink_metadata().is_ok_and(|meta| meta.is_file())
    });
    paths.sort();
    Ok(paths)
}
