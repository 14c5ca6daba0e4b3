//! A directory of our own whose changes mark a moment in the stream of events.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

/// Holds one empty file, whose name is the number of the newest mark.
pub(super) struct Marks(Mutex<Place>);

struct Place {
    directory: TempDir,
    newest: u64,
}

impl Marks {
    /// Also returns the directory that has to be watched.
    pub(super) fn new() -> io::Result<(Self, PathBuf)> {
        let (place, directory) = make(0)?;
        Ok((Self(Mutex::new(place)), directory))
    }

    /// Leaves a mark, and returns its number. Numbers only grow, and a larger one was left later: whoever sees the event
    /// of another's larger mark needs not wait for the own one.
    pub(super) fn set(&self) -> io::Result<u64> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = place.newest + 1;
        std::fs::rename(
            name(place.directory.path(), place.newest),
            name(place.directory.path(), next),
        )?;
        place.newest = next;
        Ok(next)
    }

    /// Another directory, after somebody removed this one.
    pub(super) fn renew(&self) -> io::Result<PathBuf> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, directory) = make(place.newest)?;
        *place = next;
        Ok(directory)
    }
}

fn make(newest: u64) -> io::Result<(Place, PathBuf)> {
    let directory = tempfile::Builder::new().prefix("muninn-watch-").tempdir()?;
    File::create(name(directory.path(), newest))?;
    // Events carry the path without symlinks, and a system's temporary directory may be behind one.
    let real = directory.path().canonicalize()?;
    Ok((Place { directory, newest }, real))
}

fn name(directory: &Path, number: u64) -> PathBuf {
    directory.join(number.to_string())
}
