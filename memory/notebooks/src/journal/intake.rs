//! Taking in the history of another journal, after it was checked. A history that passes can be read within the limits of reading.

use std::path::Path;

use muninn_repo_tools::{ChainError, CommitChain, IncomingError, IncomingObjects, ObjectId, Remote, RemoteError};
use thiserror::Error;

use super::error::JournalError;
use super::log::MAX_LOG_BYTES;
use super::merge::{Divergence, Merged};
use super::store::Journal;

/// The most bytes of an author's name, and of their address.
const MAX_AUTHOR_BYTES: usize = 1000;

/// Why the history of another journal is not taken in. Nothing of it is kept then, but if merging it fails.
#[derive(Debug, Error)]
pub enum IntakeError {
    /// An object is too large, or the objects cannot be moved.
    #[error(transparent)]
    Incoming(#[from] IncomingError),
    /// The history cannot be read, or not within the limits.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The name or the address of an author is too long.
    #[error("the author of {0} has a name or an address of more than {MAX_AUTHOR_BYTES} bytes")]
    Author(ObjectId),
    /// There are too many entries.
    #[error("the sections and first lines of its entries have more than {} MiB", MAX_LOG_BYTES >> 20)]
    Log,
    /// A file is no file.
    #[error("its file {0} is no file")]
    File(String),
    /// Both journals cannot be merged.
    #[error(transparent)]
    Merge(#[from] Box<JournalError>),
}

impl Journal {
    /// The remote that a name or an address refers to; see [`CommitChain::remote`].
    ///
    /// # Errors
    /// [`JournalError`] if the journal's repository cannot be read; in it, [`RemoteError`].
    pub fn remote(&self, name: &str, directory: &Path) -> Result<Result<Remote, RemoteError>, JournalError> {
        Ok(self.chain()?.remote(name, directory))
    }

    /// An empty repository, into which git fetches what a remote has and this journal lacks.
    pub fn incoming(&self, remote: &Remote) -> Result<IncomingObjects, IncomingError> {
        let (chain, copy) = (self.chain()?, self.copy(remote)?);
        let known: Vec<ObjectId> = chain.tip()?.into_iter().chain(copy.tip().ok().flatten()).collect();
        IncomingObjects::beside(&chain, &known, remote)
    }

    /// The ref that keeps the remote's journal as it was fetched last.
    fn copy(&self, remote: &Remote) -> Result<CommitChain, ChainError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name = if remote.name.chars().all(is_plain) {
            remote.name.clone()
        } else {
            blake3::hash(remote.name.as_bytes()).to_hex()[..16].to_owned()
        };
        CommitChain::open(&self.git_dir, &format!("refs/muninn/remotes/{name}/journal"))
    }

    /// Takes in what was fetched from a remote. Its history is checked first; then the objects belong to the repository, the
    /// copy of the remote's ref moves, and the journal merges it. Returns `None` if nothing was fetched.
    ///
    /// # Errors
    /// [`IntakeError`]; the journal stays as it is then.
    pub fn take_in(&self, fetched: IncomingObjects, remote: &Remote) -> Result<Option<Merged>, IntakeError> {
        let incoming = fetched.chain()?;
        let Some(tip) = incoming.tip()? else { return Ok(None) };
        fetched.check()?;
        self.check(&incoming, tip)?;
        drop(incoming);
        fetched.accept()?;
        let copy = self.copy(remote)?;
        // Another fetch of the same remote can move it at the same time: that one knows as much.
        copy.advance(copy.tip().ok().flatten(), Some(tip), &[])?;
        Ok(Some(self.merge(tip, &remote.name).map_err(Box::new)?))
    }

    /// Checks the history up to `tip`, which `incoming` has beside the objects of this journal. Only commits that this journal
    /// lacks are read, and of the trees that of `tip`: other ones are never walked.
    fn check(&self, incoming: &CommitChain, tip: ObjectId) -> Result<(), IntakeError> {
        for (path, blob) in incoming.files(tip)? {
            if incoming.file_cost(blob)?.is_none() {
                return Err(IntakeError::File(path.escape_debug().to_string()));
            }
        }
        let local = self.chain()?.tip()?;
        let mut bytes = 0;
        for seen in Divergence::of(incoming, local, tip)?.theirs {
            if seen.author_bytes > MAX_AUTHOR_BYTES {
                return Err(IntakeError::Author(seen.id));
            }
            bytes += seen.log_bytes;
            if bytes > MAX_LOG_BYTES {
                return Err(IntakeError::Log);
            }
        }
        Ok(())
    }
}
