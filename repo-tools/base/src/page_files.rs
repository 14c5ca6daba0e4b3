//! Files that people and other programs edit too: Markdown pages. Each is written as a whole or not at all, and only below
//! real directories, never through a symlink.

use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

use tempfile::NamedTempFile;
use thiserror::Error;

/// The name of a file that is being written; no page has such a name.
const PREFIX: &str = ".muninn-";
const SUFFIX: &str = ".tmp";
/// The age from which such a file is known to be left behind by a killed process.
const ABANDONED: Duration = Duration::from_mins(10);
/// The most files that are written at the same time.
const WRITERS: usize = 8;

/// Why a file was not written.
#[derive(Debug, Error)]
pub enum FileError {
    /// A symlink or a file has the name of the directory.
    #[error("{path} is not a directory of its own")]
    NotADirectory { path: PathBuf },
    /// A file system error.
    #[error("cannot write {path}: {source}")]
    Io {
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Creates a file below the directory `top`, unless it exists. Returns whether it did.
pub fn create(top: &Path, path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    let written = write_beside(top, path, bytes)?;
    sweep_beside(&written);
    match written.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(io_error(path, error.error)),
    }
}

/// Replaces a file below the directory `top`; its permissions stay.
pub fn replace(top: &Path, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let written = write_beside(top, path, bytes)?;
    sweep_beside(&written);
    persist(written, path)
}

/// Replaces several files below the directory `top`, several at a time, because each waits for the disk. After an error,
/// any of them can be replaced.
pub fn replace_all(top: &Path, files: &[(PathBuf, &str)]) -> Result<(), FileError> {
    let replace = |files: &[(PathBuf, &str)]| {
        let mut files = files.iter();
        files.try_for_each(|(path, text)| persist(write_beside(top, path, text.as_bytes())?, path))
    };
    thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(WRITERS).max(1));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || replace(part))).collect();
        let mut done = parts.into_iter().map(|part| part.join());
        done.try_for_each(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn persist(written: NamedTempFile, path: &Path) -> Result<(), FileError> {
    if let Ok(metadata) = path.symlink_metadata() {
        let permissions = written.as_file().set_permissions(metadata.permissions());
        permissions.map_err(|source| io_error(path, source))?;
    }
    written.persist(path).map_err(|error| io_error(path, error.error))?;
    Ok(())
}

/// Writes a temporary file in the directory of another one.
fn write_beside(top: &Path, path: &Path, bytes: &[u8]) -> Result<NamedTempFile, FileError> {
    let directory = path.parent().unwrap_or(top);
    make_directories(top, directory)?;
    let write = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        Ok(file)
    };
    write().map_err(|source| io_error(path, source))
}

/// Removes temporary files beside this one whose processes were killed.
fn sweep_beside(written: &NamedTempFile) {
    // The time comes from the file system's clock, which also dated the other files.
    let now = written.as_file().metadata().and_then(|metadata| metadata.modified());
    if let (Ok(now), Some(directory)) = (now, written.path().parent()) {
        sweep(directory, now);
    }
}

fn sweep(directory: &Path, now: SystemTime) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) {
            continue;
        }
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.map(|modified| now.duration_since(modified).unwrap_or_default());
        if age.is_ok_and(|age| age > ABANDONED) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Creates the missing parents of a directory below `top`, which must not be links.
pub(crate) fn make_directories(top: &Path, directory: &Path) -> Result<(), FileError> {
    if directory == top || !directory.starts_with(top) {
        return Ok(());
    }
    make_directories(top, directory.parent().unwrap_or(top))?;
    match fs::create_dir(directory) {
        Ok(()) => Ok(()),
        Err(_) if is_directory(directory) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(FileError::NotADirectory { path: directory.to_owned() })
        }
        Err(source) => Err(io_error(directory, source)),
    }
}

/// Removes a directory and its parents below `top`, as far as they are empty.
pub fn remove_empty_directories(top: &Path, directory: &Path) {
    let above = directory.ancestors().take_while(|above| above.starts_with(top) && *above != top);
    // The first one that is not empty ends it.
    for directory in above {
        if fs::remove_dir(directory).is_err() {
            return;
        }
    }
}

/// Returns whether the path is a directory and no symlink.
pub fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

pub fn io_error(path: &Path, source: io::Error) -> FileError {
    FileError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_whole_and_left_behind_ones_are_removed() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a/b.md");
        assert!(create(top.path(), &path, b"one").unwrap());
        assert!(!create(top.path(), &path, b"two").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let killed = top.path().join("a/.muninn-x.tmp");
        let file = fs::File::create(&killed).unwrap();
        file.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        replace(top.path(), &path, b"three").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::read_dir(top.path().join("a")).unwrap().count(), 1);
        fs::remove_file(&path).unwrap();
        remove_empty_directories(top.path(), &top.path().join("a"));
        assert!(!top.path().join("a").exists() && top.path().exists());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_links_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (top, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = top.path().join("b.md");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(top.path(), &path, b"two").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        std::os::unix::fs::symlink(outside.path(), top.path().join("link")).unwrap();
        let through = create(top.path(), &top.path().join("link/c.md"), b"x");
        assert!(matches!(through, Err(FileError::NotADirectory { .. })), "{through:?}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
