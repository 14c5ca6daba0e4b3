//! The files that are scanned, as they are on disk, whether git knows or ignores them.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cli::output;

/// No larger file is read.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Why a file is not looked at.
#[derive(Debug, Error)]
pub(super) enum UnreadError {
    #[error("a link that leads outside")]
    Outside,
    #[error("not a regular file")]
    NotAFile,
    #[error("more than {} MB", MAX_FILE_BYTES >> 20)]
    TooLarge,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Where files may be, and how they are named.
pub(super) struct Place {
    /// Links resolved; `None` where there is no such directory.
    root: Option<PathBuf>,
    /// What is left out of the names that are printed.
    unnamed: PathBuf,
}

impl Place {
    /// A worktree: its files are named from its root.
    pub(super) fn in_worktree(root: &Path) -> Place {
        Place {
            root: root.canonicalize().ok(),
            unnamed: root.to_owned(),
        }
    }

    /// Another directory: its files are named in full.
    pub(super) fn elsewhere(root: &Path) -> Place {
        Place {
            root: root.canonicalize().ok(),
            unnamed: PathBuf::new(),
        }
    }

    fn name(&self, path: &Path) -> String {
        let named = path.strip_prefix(&self.unnamed).unwrap_or(path);
        output::tame(&named.to_string_lossy()).replace('\n', "\u{fffd}")
    }

    /// Whether a path leads to somewhere inside, all links followed.
    fn holds(&self, real: &Path) -> bool {
        self.root.as_ref().is_some_and(|root| real.starts_with(root))
    }
}

/// Calls `see` with the name of each file at or below `start` that ends in `ending`, in order, and its text or why there
/// is none. What is not there is nothing to be said of.
pub(super) fn each_file(
    place: &Place,
    start: &Path,
    ending: &str,
    see: &mut dyn FnMut(String, Result<String, UnreadError>),
) {
    let mut entered = HashSet::new();
    let mut left = vec![start.to_owned()];
    while let Some(path) = left.pop() {
        if path
            .symlink_metadata()
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        {
            continue;
        }
        let real = match path.canonicalize() {
            Ok(real) if place.holds(&real) => real,
            Ok(_) => {
                see(place.name(&path), Err(UnreadError::Outside));
                continue;
            }
            Err(error) => {
                see(place.name(&path), Err(error.into()));
                continue;
            }
        };
        if !real.is_dir() {
            if path.to_string_lossy().ends_with(ending) {
                see(place.name(&path), text(&real));
            }
        } else if entered.insert(real) {
            match entries(&path) {
                Ok(entries) => left.extend(entries),
                Err(error) => see(place.name(&path), Err(error.into())),
            }
        }
    }
}

/// A directory's entries, the last first.
fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut entries = std::fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_unstable_by(|a, b| b.cmp(a));
    Ok(entries)
}

/// A file's text. Bytes that are not UTF-8 become U+FFFD: they hide no secret beside them.
fn text(path: &Path) -> Result<String, UnreadError> {
    if !path.metadata()?.is_file() {
        return Err(UnreadError::NotAFile);
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(UnreadError::TooLarge);
    }
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
