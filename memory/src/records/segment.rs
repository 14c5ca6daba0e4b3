//! Segments: `.muninn/memory/sessions/session_<id>.<n>.jsonl`, what a session learned, as it travels through git.
//!
//! A segment is written as a whole, renamed into place, and never written to again.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::home::Home;

/// Where segments are, below the root of a repository.
pub const SESSIONS: &str = ".muninn/memory/sessions";

/// A folder of segments.
#[derive(Debug, Clone)]
pub struct Segments {
    dir: PathBuf,
}

/// What came of writing a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentWrite {
    /// It is there, now or since an earlier try.
    Present,
    /// Another segment has its name.
    NameTaken,
}

/// Why a segment could not be written.
#[derive(Debug, Error)]
pub enum SegmentError {
    /// A link could lead anywhere, and a repository is not trusted.
    #[error("{} is no directory of its own, so no records are written there", path.display())]
    NotADirectory {
        /// What is not.
        path: PathBuf,
    },
    /// The repository was not set up for it.
    #[error("there is no {}: `muninn init` makes it", path.display())]
    NotInitialised {
        /// What is missing.
        path: PathBuf,
    },
    /// The file system.
    #[error("writing records at {}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
}

impl Segments {
    /// The folder of a home, made where it is missing.
    ///
    /// # Errors
    /// [`SegmentError`]: in a repository without `.muninn` nothing is made.
    pub fn of(home: &Home) -> Result<Self, SegmentError> {
        let dir = home.own_directory(home.path(SESSIONS))?;
        Ok(Self { dir })
    }

    /// A folder that is the user's own, outside of any home, and there.
    #[must_use]
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// What a session's segment of a number is called.
    #[must_use]
    pub fn name(session: &str, number: u64) -> String {
        format!("session_{session}.{number}.jsonl")
    }

    /// The session and the number in a segment's name.
    #[must_use]
    pub fn parse_name(name: &str) -> Option<(&str, u64)> {
        let (session, number) = name
            .strip_prefix("session_")?
            .strip_suffix(".jsonl")?
            .rsplit_once('.')?;
        Some((session, number.parse().ok()?))
    }

    /// Writes a segment and sees it onto the disk. The session must be the caller's alone meanwhile.
    ///
    /// # Errors
    /// [`SegmentError::Io`]; then there is no segment.
    pub fn write(&self, session: &str, number: u64, text: &str) -> Result<SegmentWrite, SegmentError> {
        let name = Self::name(session, number);
        let path = self.dir.join(&name);
        match fs::read(&path) {
            Ok(there) if there == text.as_bytes() => return Ok(SegmentWrite::Present),
            Ok(_) => return Ok(SegmentWrite::NameTaken),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(SegmentError::Io { path, source }),
        }
        let temporary = self.dir.join(format!(".{name}.tmp"));
        let written = write(&temporary, text)
            .and_then(|()| fs::rename(&temporary, &path))
            .and_then(|()| sync(&self.dir));
        match written {
            Ok(()) => Ok(SegmentWrite::Present),
            Err(source) => {
                let _of_no_use_any_more = fs::remove_file(&temporary);
                Err(SegmentError::Io { path, source })
            }
        }
    }
}

/// A file of this name that was not there: what is in its place, perhaps a link that leads anywhere, goes.
pub(crate) fn anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().write(true).create_new(true).open(path)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = anew(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A renamed file is there for good when its directory is on the disk.
fn sync(dir: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(dir)?.sync_all()
    } else {
        Ok(())
    }
}
