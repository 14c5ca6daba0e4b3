use std::path::PathBuf;

use super::limits::{ChainLimit, MAX_OBJECT_BYTES};
use crate::discovery::DiscoverError;
use crate::object_id::ObjectId;
use crate::references::{ReferenceError, References};

/// A person, and a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    /// The address.
    pub email: String,
    /// Seconds since 1970.
    pub seconds: i64,
    /// The offset from UTC in seconds.
    pub offset: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainCommit {
    pub id: ObjectId,
    /// The commit before; absent for the first one.
    pub parent: Option<ObjectId>,
    /// Who wrote it, and when.
    pub author: Signature,
    /// The message; bytes that are no UTF-8 are replaced.
    pub message: String,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFile {
    /// The id of its content.
    pub id: ObjectId,
    /// The content; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// Why a chain cannot be read or extended.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The repository cannot be read or written.
    #[error("cannot use {reference} of {}", path.display())]
    Git {
        /// The repository.
        path: PathBuf,
        /// The ref.
        reference: String,
        /// The error of gix.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The repository cannot be opened.
    #[error(transparent)]
    Repository(#[from] DiscoverError),
    /// References cannot be read or changed.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The ref points to something else than a commit.
    #[error("{reference} does not point to a commit")]
    NoCommit {
        /// The ref.
        reference: String,
    },
    /// An object is not in the repository.
    #[error("{id} of {reference} is missing: a shallow or partial clone has only a part of the history")]
    Missing {
        /// The ref.
        reference: String,
        id: ObjectId,
    },
    /// An object is too large to be read.
    #[error("{id} of {reference} has {bytes} bytes, and {MAX_OBJECT_BYTES} are the most")]
    TooLarge {
        /// The ref.
        reference: String,
        id: ObjectId,
        bytes: u64,
    },
    /// The history, or the files of a commit, are too large to be read.
    #[error("{reference} has more than {limit}")]
    Limit {
        /// The ref.
        reference: String,
        limit: ChainLimit,
    },
}

/// A chain of commits on a ref.
pub struct CommitChain {
    pub(crate) references: References,
    pub(crate) path: PathBuf,
    pub(crate) reference: String,
}
