//! The place of the socket: a directory that only its user can enter.

use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use muninn_base::private_file;
use muninn_config::ownership::{OwnershipError, check_closed, check_owner, user};
use muninn_config::{ConfigError, paths};

/// The variable that names the directory of sockets.
const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// The paths of one user's socket. A user with several state directories or configuration files has a socket for each,
/// since a process knows one of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
    name: String,
}

impl Place {
    /// The place for this user's processes with a configuration file: in `$XDG_RUNTIME_DIR/muninn`, or in the state
    /// directory if the system has no runtime directory that belongs to the user.
    ///
    /// # Errors
    /// [`ConfigError::NoHome`] if the state directory is unknown.
    pub fn of_user(config: &Path) -> Result<Place, ConfigError> {
        Ok(Place::of(paths::runtime_dir().as_deref(), &paths::state_dir()?, config))
    }

    /// [`Place::of_user`] with given directories.
    pub(crate) fn of(runtime_dir: Option<&Path>, state_dir: &Path, config: &Path) -> Place {
        let runtime_dir = runtime_dir.filter(|directory| {
            // With `sudo`, the variable can name the directory of another user.
            let parent = directory.parent().and_then(|parent| parent.metadata().ok());
            parent.is_some_and(|parent| parent.is_dir() && parent.uid() == user())
        });
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut hash = blake3::Hasher::new();
        for path in [state_dir, config] {
            hash.update(absolute(path).as_os_str().as_encoded_bytes());
            hash.update(&[0]);
        }
        Place {
            // Without a slash at the end, which would follow a symbolic link.
            directory: runtime_dir.map_or_else(|| state_dir.join("run"), |directory| directory.components().collect()),
            name: hash.finalize().to_hex()[..8].to_owned(),
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.join(format!("{}.socket", self.name))
    }

    /// The file whose lock the listening process holds. It is never removed.
    pub fn lock(&self) -> PathBuf {
        self.directory.join(format!("{}.lock", self.name))
    }

    /// Whether a process holds the lock: it listens, or is about to.
    pub fn is_taken(&self) -> bool {
        let file = private_file::open(&self.lock());
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Creates the directory if it is missing, and checks it.
    pub fn prepare(&self) -> Result<(), OwnershipError> {
        private_file::dir(&self.directory).map_err(|source| self.directory_error(source))?;
        self.check_directory()
    }

    /// Whether there is a socket that belongs to the user, in a directory that only the user can enter.
    ///
    /// # Errors
    /// [`OwnershipError`] if somebody else could answer.
    pub(super) fn has_socket(&self) -> Result<bool, OwnershipError> {
        let path = self.socket();
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(OwnershipError::Io { path, source }),
        };
        self.check_directory()?;
        check_owner(&path, &metadata, (metadata.file_type().is_socket(), "socket"), RUNTIME_DIR)?;
        Ok(true)
    }

    fn check_directory(&self) -> Result<(), OwnershipError> {
        check_closed(&self.directory, RUNTIME_DIR)
    }

    fn directory_error(&self, source: io::Error) -> OwnershipError {
        let path = self.directory.clone();
        OwnershipError::Io { path, source }
    }
}
