use std::path::Path;
use std::time::Duration;

/// A file's identity, independent of its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// The file at a path. Uses the metadata only: closing a second file handle would release SQLite's locks on the
    /// file.
    pub(super) fn of(path: &Path) -> Option<FileId> {
        let found = path.metadata().ok()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(FileId(found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        {
            drop(found);
            Some(FileId(0, 0))
        }
    }
}

/// Default busy timeout of a connection.
pub(super) const BUSY: Duration = Duration::from_millis(250);
