use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a segment could not be written.
#[derive(Debug, Error)]
pub enum SegmentError {
    /// The path is a link or a file. Links are refused because a repository is not trusted.
    #[error("cannot write records to {}: not a directory of its own", path.display())]
    NotADirectory { path: PathBuf },
    /// The repository has no `.muninn`.
    #[error("{} does not exist: run `muninn init`", path.display())]
    NotInitialised {
        /// The missing path.
        path: PathBuf,
    },
    /// A file system error.
    #[error("cannot write records to {}", path.display())]
    Io {
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}
