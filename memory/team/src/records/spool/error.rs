use std::io;
use std::path::{Path, PathBuf};

use muninn_repo_tools::ReferenceError;
use thiserror::Error;

use super::super::segment_error::SegmentError;

/// When appended records are durable. A killed process loses no record in either mode; a power failure can lose
/// records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After they are written as a segment.
    #[default]
    Segment,
    /// When `Spool::learn` returns.
    Append,
}

/// Why records could not be kept or flushed.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// A spool file cannot be read or written.
    #[error("cannot use the spool of live records at {}", path.display())]
    Io {
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The index of sessions cannot be used.
    #[error("cannot use the index of sessions at {}", path.display())]
    Index {
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// HEAD cannot be read, so it is not known which branch records belong to.
    #[error(transparent)]
    Head(#[from] ReferenceError),
    /// A segment cannot be written; its records stay in the spool.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Io { path, source }
}
