use muninn_base::ids::IdError;
use muninn_repo_tools::ReferenceError;
use muninn_team::Store;
use muninn_team::citations::CiteError;
use muninn_team::records::{Flushed, SESSIONS, SpoolError};
use muninn_team::store::{Destination, RecordIdError};
use thiserror::Error;

use super::super::Workspace;

/// Why a memory command failed.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The directory is no git repository.
    #[error("{0}")]
    NoRepository(String),
    /// The user switched writing off.
    #[error("memory.write is off: nothing is written down")]
    Off,
    /// The fact has no text.
    #[error("there is nothing to remember")]
    Empty,
    /// The fact is too long.
    #[error("the fact has {bytes} bytes; at most {most} are allowed")]
    TooLong {
        /// The fact's length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The fact has too many questions that it answers.
    #[error("at most {most} questions that it answers are allowed")]
    TooManyAnswers {
        /// The limit.
        most: usize,
    },
    /// A place of the fact cannot be cited.
    #[error(transparent)]
    Cite(#[from] CiteError),
    /// A place of the fact, without a worktree.
    #[error("{0} is in no worktree")]
    NoFiles(String),
    /// No record's id, or several, contain the given part.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A memory is linked with itself.
    #[error("{0} cannot be linked with itself")]
    Itself(String),
    /// HEAD cannot be read, so it is not known which records belong to the checkout.
    #[error(transparent)]
    Head(#[from] ReferenceError),
    /// The records could not be read or written.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

impl From<RecordIdError> for MemoryError {
    fn from(error: RecordIdError) -> Self {
        match error {
            RecordIdError::Id(error) => Self::Id(error),
            RecordIdError::Head(error) => Self::Head(error),
        }
    }
}

impl MemoryError {
    /// The remedy, for people and for models.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            MemoryError::Off => Some("set `write` under [memory] to `local` or `repo` in muninn.toml"),
            MemoryError::TooLong { .. } => {
                Some("shorten it, or write a page in .muninn/knowledge/: `muninn knowledge new TITLE`")
            }
            _ => None,
        }
    }
}

/// The memory of a workspace, opened for writing.
pub struct WritableMemory<'w> {
    pub(crate) store: &'w Store,
    destination: Destination,
}

impl Workspace {
    /// The memory, if the configuration allows writing.
    pub fn writable_memory(&self) -> Result<WritableMemory<'_>, MemoryError> {
        let store = self.store()?;
        let destination = self.settings().memory.write.destination().ok_or(MemoryError::Off)?;
        self.move_old_sessions();
        Ok(WritableMemory { store, destination })
    }

    pub(crate) fn store(&self) -> Result<&Store, MemoryError> {
        let problem = || MemoryError::NoRepository(self.problem.clone().unwrap_or_default());
        self.memory.as_ref().ok_or_else(problem)
    }
}

impl WritableMemory<'_> {
    /// Writes the spooled records to segments.
    pub fn flush(&self) -> Result<Flushed, MemoryError> {
        Ok(self.store.flush(self.destination)?)
    }

    /// The directory of the segments as shown to people, with a trailing slash.
    pub fn place(&self) -> String {
        match self.destination {
            Destination::Home => format!("{}/", self.store.home().path(SESSIONS)),
            Destination::State => format!("{}/", self.store.local_segments().display()),
        }
    }
}
