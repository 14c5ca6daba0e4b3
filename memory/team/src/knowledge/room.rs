//! Whether there is room for one more file of those that are read.

use muninn_base::RelPath;

use super::limits::MAX_DEPTH;
use super::listing::{Bounds, Listing};

/// A file that would be written, but not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    #[error("a page has at most {most} bytes, and this one has {bytes}")]
    FileBytes { bytes: u64, most: u64 },
    #[error("the folder has {most} pages already, which are the most that are read")]
    Files { most: usize },
    #[error("with this page the folder has more than {most} bytes, which are the most that are read")]
    Bytes { most: u64 },
    #[error("a page lies less than {MAX_DEPTH} folders deep")]
    Depth,
}

/// The room for more files below a directory.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    bounds: Bounds,
    files: usize,
    bytes: u64,
}

impl Room {
    /// The room beside so many files with so many bytes.
    pub fn beside(files: usize, bytes: u64, bounds: Bounds) -> Room {
        Room { bounds, files, bytes }
    }

    /// The room beside listed files.
    pub(super) fn of(listing: &Listing) -> Room {
        Room::beside(listing.files.len(), listing.bytes, Bounds::default())
    }

    /// Takes the room of a new file.
    ///
    /// # Errors
    /// [`Full`]; nothing is taken then.
    pub fn take(&mut self, path: &RelPath, bytes: u64) -> Result<(), Full> {
        if path.as_str().matches('/').count() >= MAX_DEPTH {
            return Err(Full::Depth);
        }
        if self.files >= self.bounds.files {
            return Err(Full::Files { most: self.bounds.files });
        }
        self.grow(0, bytes)?;
        self.files += 1;
        Ok(())
    }

    /// Takes the room of a file of `before` bytes that gets `bytes`.
    ///
    /// # Errors
    /// [`Full`]; nothing is taken then.
    pub fn grow(&mut self, before: u64, bytes: u64) -> Result<(), Full> {
        let Bounds { file_bytes, bytes: most, .. } = self.bounds;
        if bytes > file_bytes {
            return Err(Full::FileBytes { bytes, most: file_bytes });
        }
        let all = self.bytes.saturating_sub(before) + bytes;
        // A file that becomes smaller helps, also where there is too much.
        if all > most && bytes > before {
            return Err(Full::Bytes { most });
        }
        self.bytes = all;
        Ok(())
    }
}
