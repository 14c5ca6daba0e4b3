//! What people tell the memory of a workspace, ask of it, and have it do.

mod chores;
mod recall;
mod remember;

use muninn_memory::Store;
use muninn_memory::ids::IdError;
use muninn_memory::records::{Flushed, SESSIONS, SpoolError};
use muninn_memory::store::Destination;
use thiserror::Error;

use super::Workspace;

pub use chores::{ChoreError, ReconcileRequest, conflicts};
pub use recall::{RecallQuery, RecalledMemory};
pub use remember::{Fact, FactKind, Kept};

/// Why the memory did not do what somebody asked of it.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// The directory is no git repository.
    #[error("{0}")]
    NoRepository(String),
    /// The user switched writing off.
    #[error("memory.write is off: nothing is written down")]
    Off,
    /// A fact without a word.
    #[error("there is nothing to remember")]
    Empty,
    /// A fact that is too long.
    #[error("it has {bytes} bytes, and at most {most} are remembered")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// A file that a fact is about is not in the worktree.
    #[error("{0}")]
    File(String),
    /// No record, or several, have this in their id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The records could not be kept or written.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// The memory of a workspace, for those who write to it.
pub struct WritableMemory<'w> {
    store: &'w Store,
    destination: Destination,
}

impl Workspace {
    /// The memory, if the user lets it be written.
    ///
    /// # Errors
    /// [`MemoryError::NoRepository`] and [`MemoryError::Off`].
    pub fn writable_memory(&self) -> Result<WritableMemory<'_>, MemoryError> {
        let store = self.store()?;
        let destination = self.settings().memory.write.destination().ok_or(MemoryError::Off)?;
        self.move_old_sessions();
        Ok(WritableMemory { store, destination })
    }

    fn store(&self) -> Result<&Store, MemoryError> {
        let problem = || MemoryError::NoRepository(self.problem.clone().unwrap_or_default());
        self.memory.as_ref().ok_or_else(problem)
    }
}

impl WritableMemory<'_> {
    /// Writes records that wait where they belong.
    ///
    /// # Errors
    /// [`MemoryError::Spool`].
    pub fn flush(&self) -> Result<Flushed, MemoryError> {
        Ok(self.store.flush(self.destination)?)
    }

    /// The directory that segments are written to, as people are shown it, with a slash at its end.
    #[must_use]
    pub fn place(&self) -> String {
        match self.destination {
            Destination::Home => format!("{}/", self.store.home().path(SESSIONS)),
            Destination::State => format!("{}/", self.store.local_segments().display()),
        }
    }
}
