//! Reading and replacing one file of another program.
//!
//! A file is replaced as a whole by renaming, so that a crash or a full disk leaves the old one. A symbolic link stays a
//! link: its target is replaced. In a repository the target must lie inside it, because a clone can contain any link.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use muninn_base::{Links, open_regular};

use super::FileError;

pub(crate) use super::error::MAX_BYTES;

/// A client's file as it is on the disk.
#[derive(Debug, Clone)]
pub struct ClientFile {
    /// The path by which the client opens it.
    pub path: PathBuf,
    /// The file itself, with links resolved.
    pub target: PathBuf,
    /// The text, or nothing if the file does not exist.
    pub text: Option<String>,
    /// Whether it belongs to a repository.
    is_shared: bool,
}

impl ClientFile {
    /// Reads a file that may not exist. With `root`, it must lie inside this directory.
    ///
    /// # Errors
    /// If it cannot be edited: a link to nothing or out of `root`, read-only, not a regular file, not text, too large.
    pub fn read(path: &Path, root: Option<&Path>) -> Result<ClientFile, FileError> {
        let target = resolve(path)?;
        if root.is_some_and(|root| !target.starts_with(root)) {
            return Err(FileError::Outside { path: path.to_owned() });
        }
        Ok(ClientFile { text: read_text(path, &target)?, path: path.to_owned(), target, is_shared: root.is_some() })
    }

    /// Whether the client's path is, or leads through, a symbolic link.
    pub fn is_link(&self) -> bool {
        self.path.is_symlink()
    }

    /// The parent directories that do not exist, the innermost first.
    pub(crate) fn missing_directories(&self) -> Vec<PathBuf> {
        let parents = self.target.ancestors().skip(1);
        parents.take_while(|parent| !parent.exists()).map(Path::to_owned).collect()
    }
}

/// Resolves links. Of a file that does not exist, the nearest existing directory is resolved.
fn resolve(path: &Path) -> Result<PathBuf, FileError> {
    match path.canonicalize() {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(resolve(parent)?.join(name)),
                _ => Err(io("read", path)(error)),
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(FileError::Dangling { path: path.to_owned() }),
        Err(error) => Err(io("read", path)(error)),
    }
}

fn read_text(path: &Path, target: &Path) -> Result<Option<String>, FileError> {
    let about = match std::fs::metadata(target) {
        Ok(about) => about,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io("read", path)(error)),
    };
    let path = path.to_owned();
    if !about.is_file() {
        return Err(FileError::NotAFile { path });
    }
    if about.permissions().readonly() {
        return Err(FileError::ReadOnly { path });
    }
    if about.len() > MAX_BYTES {
        return Err(FileError::TooLarge { path });
    }
    let mut text = String::new();
    let opened = open_regular(target, Links::Refuse);
    let read = opened.and_then(|(file, _)| file.take(MAX_BYTES).read_to_string(&mut text));
    read.map_err(io("read", &path))?;
    Ok(Some(text))
}

/// A file, and the text that it is to have.
#[derive(Debug, Clone)]
pub struct Change {
    /// The file before.
    pub file: ClientFile,
    /// The text after, or nothing if the file is to be removed.
    pub text: Option<String>,
}

impl Change {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.file.text == self.text
    }

    /// Writes the change, if the file is still as it was read.
    ///
    /// # Errors
    /// If it was changed meanwhile or cannot be written. Then it is unchanged.
    pub fn write(&self) -> Result<(), FileError> {
        let path = &self.file.path;
        if read_text(path, &self.file.target)? != self.file.text {
            return Err(FileError::Changed { path: path.clone() });
        }
        match &self.text {
            _ if self.is_empty() => Ok(()),
            Some(text) => self.replace(text).map_err(io("write", path)),
            None => std::fs::remove_file(&self.file.target).map_err(io("remove", path)),
        }
    }

    /// The change that takes this one back.
    pub fn reversed(&self) -> Change {
        let mut file = self.file.clone();
        file.text.clone_from(&self.text);
        Change { file, text: self.file.text.clone() }
    }

    fn replace(&self, text: &str) -> std::io::Result<()> {
        let target = &self.file.target;
        let folder = target.parent().unwrap_or(target);
        std::fs::create_dir_all(folder)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".muninn-");
        #[cfg(unix)]
        if self.file.is_shared {
            // The user's mask applies. A file of the user's own is readable by its owner only, as tempfile makes it.
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        let mut temporary = builder.tempfile_in(folder)?;
        temporary.write_all(text.as_bytes())?;
        if self.file.text.is_some() {
            let mode = std::fs::metadata(target)?.permissions();
            temporary.as_file().set_permissions(mode)?;
        }
        temporary.as_file().sync_all()?;
        temporary.persist(target)?;
        Ok(())
    }
}

pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FileError {
    move |source| FileError::Io { action, path: path.to_owned(), source }
}
