use std::io::{self};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why nothing more was read or written.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A file of the memory, or the archive.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The archive is not one of `export`, or it is damaged.
    #[error("{} is no archive of personal memory: {message}", path.display())]
    Foreign {
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The archive would fill the memory or the disk.
    #[error("{} is not imported: {limit}", path.display())]
    Limit {
        path: PathBuf,
        /// The limit that it goes over.
        limit: String,
    },
}

pub(crate) fn io_error(path: &Path) -> impl Fn(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| ArchiveError::Io { path: path.clone(), source }
}
