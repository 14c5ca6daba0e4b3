use std::io;
use std::path::PathBuf;

use muninn_base::ids::IdError;
use muninn_repo_tools::ReferenceError;
use muninn_team::records::SegmentError;
use thiserror::Error;

/// Why a run failed.
#[derive(Debug, Error)]
pub enum ReconcileError {
    /// The default branch is not checked out.
    #[error("{} is checked out, and main memory belongs to {default}", branch.as_deref().unwrap_or("no branch"))]
    NotDefault {
        /// The current branch.
        branch: Option<String>,
        /// The default branch.
        default: String,
    },
    /// HEAD cannot be read.
    #[error(transparent)]
    Head(#[from] ReferenceError),
    /// A directory is missing.
    #[error(transparent)]
    Directory(#[from] SegmentError),
    /// Another process changed a file during the run.
    #[error("{path} was changed by another process during the run, and is left as it is")]
    Changed {
        /// The path below the root.
        path: String,
    },
    /// Another process holds the lock.
    #[error("another reconciliation is running here")]
    Busy,
    /// A file system error.
    #[error("cannot use {}", path.display())]
    Io {
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Why a conflict was not resolved.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// No open conflict, or several, have this in their id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// HEAD cannot be read.
    #[error(transparent)]
    Head(#[from] ReferenceError),
    /// A line of main would be too long with the note.
    #[error("the note has {0} bytes, and at most {MAX_NOTE_BYTES} are kept")]
    LongNote(usize),
    /// Every prompt would pay for the text.
    #[error("the text has {0} bytes, and at most {MAX_TEXT_BYTES} are kept")]
    LongText(usize),
    /// The new text has no words.
    #[error("the text is empty")]
    NoText,
    /// The conflict has fewer sides.
    #[error("there is no side {number}: the conflict has {sides}")]
    NoSide {
        /// The number that was given.
        number: usize,
        /// The number of sides.
        sides: usize,
    },
    /// There is no evidence that the newest side replaces the others.
    #[error("nothing is proposed for this conflict")]
    NoProposal,
    /// The undecided pairs are not those of the batch.
    #[error("the undecided pairs are no longer those of this batch; nothing was written")]
    OtherPairs,
    /// The answer about a batch is not usable.
    #[error("the answer is discarded, and nothing was written: {0}")]
    Answer(String),
    /// The files cannot be read or written.
    #[error(transparent)]
    Files(#[from] ReconcileError),
}

/// Maximum length of a note, in bytes.
pub(crate) const MAX_NOTE_BYTES: usize = 8 << 10;

/// Maximum length of a new text, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 2 << 10;
