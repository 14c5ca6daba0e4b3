//! Keeping `JOURNAL.md` out of git, by the user's own list of ignored files.

use std::io;
use std::path::{Path, PathBuf};

use muninn_base::{Links, add_missing_lines, read_regular};
use muninn_notebooks::worklog::FILE;
use muninn_repo_tools::Worktree;
use thiserror::Error;

/// The most bytes of the list.
const MOST_BYTES: u64 = 4 << 20;

/// Why the file is not in the list.
#[derive(Debug, Error)]
#[error("git shows {FILE} as untracked, because it cannot be added to {}: {source}", path.display())]
pub(super) struct ExcludeError {
    path: PathBuf,
    source: io::Error,
}

/// Adds the file to `.git/info/exclude`, unless a line there names it. A link is not followed: it can lead to any file of
/// the user.
///
/// # Errors
/// [`ExcludeError`]; the worklog itself needs no list.
pub(super) fn exclude(worktree: &Worktree) -> Result<(), ExcludeError> {
    let info = worktree.common_dir().join("info");
    let path = info.join("exclude");
    add(&info, &path).map_err(|source| ExcludeError { path, source })
}

fn add(info: &Path, path: &Path) -> io::Result<()> {
    let there = match read_regular(path, Links::Refuse, MOST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read?,
    };
    let there = String::from_utf8_lossy(&there);
    if there.lines().any(|line| line.trim().trim_start_matches('/') == FILE) {
        return Ok(());
    }
    if info.is_symlink() {
        return Err(io::Error::other("its directory is a symbolic link, which is not followed"));
    }
    std::fs::create_dir_all(info)?;
    add_missing_lines(path, "", &[format!("/{FILE}")])?;
    Ok(())
}
