use std::path::PathBuf;

use thiserror::Error;

/// The reason why a client's file cannot be changed. The file is unchanged.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("{} is not valid {format}: {message}", path.display())]
    Invalid { path: PathBuf, format: &'static str, message: String },
    #[error("{}: `{key}` is not {expected}", path.display())]
    Shape { path: PathBuf, key: String, expected: &'static str },
    #[error("{} exists, and Muninn did not write it", path.display())]
    Foreign { path: PathBuf },
    #[error("{} is read-only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{} is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} is a symbolic link to a file that does not exist", path.display())]
    Dangling { path: PathBuf },
    #[error("{} leads out of the repository", path.display())]
    Outside { path: PathBuf },
    #[error("{} is larger than {} MB", path.display(), MAX_BYTES >> 20)]
    TooLarge { path: PathBuf },
    #[error("{} was changed by another program meanwhile", path.display())]
    Changed { path: PathBuf },
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
}

/// Maximum size of a client's file. Claude Code keeps its history of projects in the file of its MCP servers.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
