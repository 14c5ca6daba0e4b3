//! A directory of our own whose changes mark a moment in the stream of events.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::private_file;

/// What a directory of marks is called, before something that makes it the only one of its name.
const PREFIX: &str = "watch-";
/// One that nobody left a mark in for so long was left behind by a process that was killed. Who still used it makes
/// another.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// Holds one empty file, whose name is the number of the newest mark.
pub(super) struct Marks {
    /// Where its directory is made, if it can be; `None` for the system's temporary directory.
    home: Option<PathBuf>,
    current: Mutex<MarkDirectory>,
}

struct MarkDirectory {
    /// `None` once it was removed.
    directory: Option<TempDir>,
    newest: u64,
}

impl Marks {
    /// Also returns the directory that has to be watched.
    pub(super) fn new(home: Option<&Path>) -> io::Result<(Self, PathBuf)> {
        let own = home.filter(|home| private_file::own_dir(home).is_ok());
        let (current, directory) = make(home, 0)?;
        // The time of the file system, by which the others were dated.
        let now = directory.metadata().and_then(|metadata| metadata.modified());
        if let (Some(home), Ok(now)) = (own, now) {
            sweep(home, now);
        }
        let marks = Self {
            home: home.map(Path::to_owned),
            current: Mutex::new(current),
        };
        Ok((marks, directory))
    }

    /// Leaves a mark, and returns its number. Numbers only grow, and a larger one was left later: whoever sees the event
    /// of another's larger mark needs not wait for the own one.
    pub(super) fn set(&self) -> io::Result<u64> {
        let mut current = self.lock();
        let directory = current.directory.as_ref().ok_or(io::ErrorKind::NotFound)?.path();
        let next = current.newest + 1;
        std::fs::rename(name(directory, current.newest), name(directory, next))?;
        current.newest = next;
        Ok(next)
    }

    /// Another directory, after somebody removed this one.
    pub(super) fn renew(&self) -> io::Result<PathBuf> {
        let mut current = self.lock();
        let (next, directory) = make(self.home.as_deref(), current.newest)?;
        *current = next;
        Ok(directory)
    }

    /// Leaves nothing behind.
    pub(super) fn remove(&self) {
        self.lock().directory = None;
    }

    fn lock(&self) -> MutexGuard<'_, MarkDirectory> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A home that cannot be written (it is read-only, or its disk is full) is no reason not to watch: a mark may be anywhere.
fn make(home: Option<&Path>, newest: u64) -> io::Result<(MarkDirectory, PathBuf)> {
    let at_home = home.and_then(|home| begun(builder(PREFIX).tempdir_in(home), newest).ok());
    let directory = match at_home {
        Some(directory) => directory,
        None => begun(builder("muninn-watch-").tempdir(), newest)?,
    };
    // Events carry the path without symlinks, and a system's temporary directory may be behind one.
    let real = directory.path().canonicalize()?;
    let directory = Some(directory);
    Ok((MarkDirectory { directory, newest }, real))
}

fn builder(prefix: &str) -> tempfile::Builder<'_, '_> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder
}

/// The directory with its first mark in it.
fn begun(directory: io::Result<TempDir>, newest: u64) -> io::Result<TempDir> {
    let directory = directory?;
    private_file::make(&name(directory.path(), newest))?;
    Ok(directory)
}

/// Removes what killed processes left.
fn sweep(home: &Path, now: SystemTime) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let age = entry.metadata().and_then(|metadata| metadata.modified());
        let age = age.map(|modified| now.duration_since(modified).unwrap_or_default());
        if age.is_ok_and(|age| age > ABANDONED) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn name(directory: &Path, number: u64) -> PathBuf {
    directory.join(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_behind_is_swept_and_what_is_in_use_is_not() {
        let home = tempfile::tempdir().unwrap();
        let (marks, directory) = Marks::new(Some(home.path())).unwrap();
        std::fs::create_dir(home.path().join("other")).unwrap();
        sweep(home.path(), SystemTime::now());
        assert_eq!(marks.set().unwrap(), 1);

        sweep(home.path(), SystemTime::now() + ABANDONED * 2);
        assert!(!directory.exists() && home.path().join("other").exists());
        assert!(marks.set().is_err());
        let renewed = marks.renew().unwrap();
        assert_eq!(marks.set().unwrap(), 2);

        marks.remove();
        assert!(!renewed.exists());
        assert!(marks.set().is_err());
    }

    #[test]
    fn a_home_that_cannot_be_written_is_done_without() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("a file");
        std::fs::File::create(&home).unwrap();
        let (marks, directory) = Marks::new(Some(&home)).unwrap();
        assert_eq!(marks.set().unwrap(), 1);
        assert!(directory.join("1").exists());
        let renewed = marks.renew().unwrap();
        assert_ne!(renewed, directory);
        assert_eq!(marks.set().unwrap(), 2);
        marks.remove();
        assert!(!renewed.exists());
    }
}
