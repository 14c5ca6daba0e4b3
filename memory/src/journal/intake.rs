//! The checks before another journal's history is taken in. The history that passes can be read within the limits of reading.

use muninn_repo_tools::{ChainError, CommitChain, ObjectId};
use thiserror::Error;

use super::log::{LogEntry, MAX_LOG_BYTES};
use super::merge::Divergence;
use super::store::Journal;

/// The most bytes of an author's name, and of their address.
const MAX_AUTHOR_BYTES: usize = 1000;

/// Why the history of another journal is not taken in.
#[derive(Debug, Error)]
pub enum IntakeError {
    /// It cannot be read, or not within the limits.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The name or the address of an author is too long.
    #[error("the author of {0} has a name or an address of more than {MAX_AUTHOR_BYTES} bytes")]
    Author(ObjectId),
    /// Both journals together have too many entries.
    #[error("the sections and first lines of its entries have more than {} MiB", MAX_LOG_BYTES >> 20)]
    Log,
    /// A file is no file.
    #[error("its file {0} is no file")]
    File(String),
}

impl Journal {
    /// Checks the history up to `tip`, which `incoming` has beside the objects of this journal. Only commits that this journal
    /// lacks are read, and of the trees that of `tip`: other ones are never walked.
    ///
    /// # Errors
    /// [`IntakeError`] with the first thing that is refused.
    pub fn check(&self, incoming: &CommitChain, tip: ObjectId) -> Result<(), IntakeError> {
        for (path, blob) in incoming.files(tip)? {
            if incoming.file_bytes(blob)?.is_none() {
                return Err(IntakeError::File(path.escape_debug().to_string()));
            }
        }
        let chain = self.chain()?;
        let local = chain.tip()?;
        let mut bytes = 0;
        for id in Divergence::of(incoming, local, tip)?.theirs {
            let commit = incoming.commit(id)?;
            if commit.author.name.len().max(commit.author.email.len()) > MAX_AUTHOR_BYTES {
                return Err(IntakeError::Author(id));
            }
            bytes += LogEntry::of(&commit).map_or(0, |entry| entry.bytes());
            if bytes > MAX_LOG_BYTES {
                return Err(IntakeError::Log);
            }
        }
        Ok(())
    }
}
