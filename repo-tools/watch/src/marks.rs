//! The mark directory: its events mark a moment in the stream of events.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use muninn_base::private_file;
use parking_lot::{Mutex, MutexGuard};
use tempfile::TempDir;

/// Prefix of mark directories, before a unique suffix.
const PREFIX: &str = "watch-";
/// Age at which a mark directory counts as abandoned, because its process was killed. A process that still uses the
/// directory creates another.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A directory with one empty file, whose name is the number of the newest mark.
pub(super) struct Marks {
    /// Parent of the directory, if usable; `None` for the system's temporary directory.
    home: Option<PathBuf>,
    current: Mutex<MarkDirectory>,
}

struct MarkDirectory {
    /// `None` after its removal.
    directory: Option<TempDir>,
    newest: u64,
}

impl Marks {
    /// Creates the directory, and returns its path for watching.
    pub(super) fn new(home: Option<&Path>) -> io::Result<(Self, PathBuf)> {
        let own = home.filter(|home| private_file::own_dir(home).is_ok());
        let (current, directory) = make(home, 0)?;
        // The file system's clock, which dated the other directories.
        let now = directory.metadata().and_then(|metadata| metadata.modified());
        if let (Some(home), Ok(now)) = (own, now) {
            sweep(home, now);
        }
        let marks = Self { home: home.map(Path::to_owned), current: Mutex::new(current) };
        Ok((marks, directory))
    }

    /// Sets a mark, and returns its number. Numbers increase: the event of a later mark implies that earlier ones
    /// arrived.
    pub(super) fn set(&self) -> io::Result<u64> {
        let mut current = self.lock();
        let directory = current.directory.as_ref().ok_or(io::ErrorKind::NotFound)?.path();
        let next = current.newest + 1;
        std::fs::rename(name(directory, current.newest), name(directory, next))?;
        current.newest = next;
        Ok(next)
    }

    /// Creates another directory after this one was removed.
    pub(super) fn renew(&self) -> io::Result<PathBuf> {
        let mut current = self.lock();
        let (next, directory) = make(self.home.as_deref(), current.newest)?;
        *current = next;
        Ok(directory)
    }

    /// Removes the directory.
    pub(super) fn remove(&self) {
        self.lock().directory = None;
    }

    fn lock(&self) -> MutexGuard<'_, MarkDirectory> {
        self.current.lock()
    }
}

/// Creates a mark directory. If the home cannot be written (read-only or full), the temporary directory is used.
fn make(home: Option<&Path>, newest: u64) -> io::Result<(MarkDirectory, PathBuf)> {
    let at_home = home.and_then(|home| with_first_mark(builder(PREFIX).tempdir_in(home), newest).ok());
    let directory = match at_home {
        Some(directory) => directory,
        None => with_first_mark(builder("muninn-watch-").tempdir(), newest)?,
    };
    // Event paths contain no symlinks, but the path of a temporary directory can.
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

/// Creates the first mark in a directory.
fn with_first_mark(directory: io::Result<TempDir>, newest: u64) -> io::Result<TempDir> {
    let directory = directory?;
    private_file::make(&name(directory.path(), newest))?;
    Ok(directory)
}

/// Removes mark directories of killed processes.
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
    fn abandoned_mark_directories_are_removed() {
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
    fn unwritable_home_falls_back_to_the_temporary_directory() {
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
