//! Segments: `.muninn/memory/sessions/session_<id>.<n>.jsonl`, the records of a session as git transports them.
//!
//! A segment is written as a whole, renamed into place, and never modified.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use muninn_base::private_file::{self, sync_dir};
use muninn_base::{Links, read_regular};

use super::home::Home;
use super::segment_error::SegmentError;

/// The folder of segments, relative to the root of a repository.
pub const SESSIONS: &str = ".muninn/memory/sessions";

/// A folder of segments.
#[derive(Debug, Clone)]
pub struct Segments {
    dir: PathBuf,
}

/// The result of writing a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentWrite {
    /// The segment exists with this content, from this call or an earlier one.
    Present,
    /// Another segment has this name.
    NameTaken,
}

impl Segments {
    /// The segment folder of a home, created if it is missing.
    ///
    /// # Errors
    /// [`SegmentError`]; in a repository without `.muninn` nothing is created.
    pub fn of(home: &Home) -> Result<Self, SegmentError> {
        let dir = home.own_directory(home.path(SESSIONS))?;
        Ok(Self { dir })
    }

    /// An existing folder outside of any home, such as the one in the state directory.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The file name of a segment.
    pub fn name(session: &str, number: u64) -> String {
        format!("session_{session}.{number}.jsonl")
    }

    /// Parses a file name into session id and number.
    pub fn parse_name(name: &str) -> Option<(&str, u64)> {
        let (session, number) = name.strip_prefix("session_")?.strip_suffix(".jsonl")?.rsplit_once('.')?;
        Some((session, number.parse().ok()?))
    }

    /// Writes a segment and syncs it to disk. The caller must hold the session's lock.
    ///
    /// # Errors
    /// [`SegmentError::Io`]; then no segment exists.
    pub fn write(&self, session: &str, number: u64, text: &str) -> Result<SegmentWrite, SegmentError> {
        let name = Self::name(session, number);
        let path = self.dir.join(&name);
        match read_regular(&path, Links::Refuse, text.len() as u64) {
            Ok(there) if there == text.as_bytes() => return Ok(SegmentWrite::Present),
            Ok(_) => return Ok(SegmentWrite::NameTaken),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound => {}
                io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidInput => return Ok(SegmentWrite::NameTaken),
                _ => return Err(SegmentError::Io { path, source: error }),
            },
        }
        let temporary = self.dir.join(format!(".{name}.tmp"));
        let written =
            write(&temporary, text).and_then(|()| fs::rename(&temporary, &path)).and_then(|()| sync_dir(&self.dir));
        match written {
            Ok(()) => Ok(SegmentWrite::Present),
            Err(source) => {
                fs::remove_file(&temporary).ok();
                Err(SegmentError::Io { path, source })
            }
        }
    }
}

/// Creates a file that only its owner can read: until git has it, nobody else needs to. Whatever has its name, such as a
/// link that leads elsewhere, is removed first.
pub fn create_new_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    private_file::create_new(path)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = create_new_file(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
