//! The files that are scanned: those on disk, whether git tracks or ignores them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use muninn_base::{Links, read_regular};
use thiserror::Error;

use crate::cli::output;

/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Why a file is not scanned.
#[derive(Debug, Error)]
pub(super) enum UnreadError {
    #[error("it is a link that leads outside")]
    Outside,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it has more than {} MB", MAX_FILE_BYTES >> 20)]
    TooLarge,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// A directory that a scan may not leave, and how its files are named.
pub(super) struct ScanRoot {
    /// The directory with links resolved; `None` if it does not exist.
    root: Option<PathBuf>,
    /// The prefix that is removed from printed names.
    prefix: PathBuf,
}

impl ScanRoot {
    /// A worktree, whose files have names relative to its root.
    pub(super) fn in_worktree(root: &Path) -> ScanRoot {
        ScanRoot { root: root.canonicalize().ok(), prefix: root.to_owned() }
    }

    /// Another directory, whose files have absolute names.
    pub(super) fn elsewhere(root: &Path) -> ScanRoot {
        ScanRoot { root: root.canonicalize().ok(), prefix: PathBuf::new() }
    }

    fn name(&self, path: &Path) -> String {
        let name = path.strip_prefix(&self.prefix).unwrap_or(path);
        output::sanitize_field(&name.to_string_lossy())
    }

    /// Whether a path with all links resolved is inside.
    fn holds(&self, real: &Path) -> bool {
        self.root.as_ref().is_some_and(|root| real.starts_with(root))
    }
}

/// Calls `see` for each file at or below `start` that ends in `ending`, in order, with its name and either its text or why
/// it was not read. A missing `start` is no error.
pub(super) fn each_file(
    root: &ScanRoot,
    start: &Path,
    ending: &str,
    see: &mut dyn FnMut(String, Result<String, UnreadError>),
) {
    let mut entered = HashSet::new();
    let mut left = vec![start.to_owned()];
    while let Some(path) = left.pop() {
        if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            continue;
        }
        let real = match path.canonicalize() {
            Ok(real) if root.holds(&real) => real,
            Ok(_) => {
                see(root.name(&path), Err(UnreadError::Outside));
                continue;
            }
            Err(error) => {
                see(root.name(&path), Err(error.into()));
                continue;
            }
        };
        if !real.is_dir() {
            if path.to_string_lossy().ends_with(ending) {
                see(root.name(&path), text(&real));
            }
        } else if entered.insert(real) {
            match entries(&path) {
                Ok(entries) => left.extend(entries),
                Err(error) => see(root.name(&path), Err(error.into())),
            }
        }
    }
}

/// The entries of a directory in reverse order.
fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut entries = std::fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_unstable_by(|a, b| b.cmp(a));
    Ok(entries)
}

/// The text of a file. Bytes that are not UTF-8 become U+FFFD.
fn text(path: &Path) -> Result<String, UnreadError> {
    let bytes = read_regular(path, Links::Follow, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => UnreadError::NotAFile,
        std::io::ErrorKind::FileTooLarge => UnreadError::TooLarge,
        _ => error.into(),
    })?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
