//! The listening end: at most one process of a user has it.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;

use muninn_base::private_file;
use muninn_config::ownership::{OwnershipError, user};
use thiserror::Error;

use super::place::Place;

/// A bound socket. Dropping it removes the socket and then releases the lock.
#[derive(Debug)]
pub struct Listener {
    place: Place,
    /// Device and inode of the socket.
    id: (u64, u64),
    listener: UnixListener,
    _lock: File,
}

/// Why a process does not listen.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// The directory is not safe.
    #[error(transparent)]
    Place(#[from] OwnershipError),
    /// Another process listens.
    #[error("another process holds {}", .0.lock().display())]
    Taken(Place),
    /// The socket cannot be made.
    #[error("cannot listen on {}: {source}", place.socket().display())]
    Io {
        place: Place,
        /// The system's error.
        source: io::Error,
    },
}

impl Listener {
    /// Becomes the process that listens at a place. The socket of a process that was killed is replaced.
    pub fn claim(place: &Place) -> Result<Listener, ClaimError> {
        place.prepare()?;
        let failed = |source| ClaimError::Io { place: place.clone(), source };
        let lock = private_file::lock_file(&place.lock()).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ClaimError::Taken(place.clone())),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // The lock is ours, so nobody listens on a socket that is there.
        let path = place.socket();
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let bound = || {
            let listener = UnixListener::bind(&path)?;
            // Nobody else could enter the directory meanwhile.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            let metadata = path.symlink_metadata()?;
            Ok((listener, (metadata.dev(), metadata.ino())))
        };
        let (listener, id) = bound().map_err(failed)?;
        Ok(Listener { place: place.clone(), id, listener, _lock: lock })
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether clients still find the socket. A clean-up of the runtime directory may have removed it.
    pub fn is_reachable(&self) -> bool {
        let found = self.place.socket().symlink_metadata();
        found.is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.id)
    }

    /// A handle of the socket for accepting connections asynchronously.
    ///
    /// # Errors
    /// If the system has no descriptor left, or outside of a runtime.
    pub fn accepting(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }
}

/// Whether the other end of a connection belongs to the user. The permissions of the socket keep others out; this also
/// holds where a system ignores them.
///
/// # Errors
/// If the system cannot tell.
pub fn is_own(stream: &tokio::net::UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == user())
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.is_reachable() {
            std::fs::remove_file(self.place.socket()).ok();
        }
    }
}
