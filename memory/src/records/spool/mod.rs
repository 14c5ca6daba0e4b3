//! Live records, on their way into the repository.
//!
//! They wait in the user's state directory, because a tracked file that is written to would block `git checkout` and
//! `git rebase`, and one that is held open loses what is written to it after a `git stash`. A session has a folder there:
//!
//! ```text
//! <spool>/<hash of the client's session>/
//!   lock                      taken for each append and each flush; several processes write at once
//!   session.json              the session's id, and the number of its next segment
//!   marks                     what was learned from, a line each
//!   live-<branch>.jsonl       what was learned on a branch; the file is opened for each append, which is one write
//!   flushing-<branch>.jsonl   the same, while it becomes a segment
//!   aside-<n>-<branch>.jsonl  what a segment was made of, where some of its lines are no records
//! ```
//!
//! A branch is named by a hash of its name, since that may hold anything.

mod file;
mod flush;
mod folder;
mod recorded;

use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

pub use self::recorded::Recorded;

use self::file::append;
use self::flush::look_at;
use self::folder::Folder;
use super::record::Record;
use super::segment::{SegmentError, Segments};
use crate::private_file;

/// When what was appended is on the disk for good. A killed process loses nothing either way; a power cut may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Once a segment was made of it.
    #[default]
    Segment,
    /// When [`Spool::append`] returns.
    Append,
}

/// The live records of one worktree.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
    durability: Durability,
}

/// Why records could not be kept or flushed.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// A file of the spool.
    #[error("the spool of live records at {}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// A segment could not be written; its records stay in the spool.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// Records of one session and branch that wait for their segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The session's id.
    pub session: String,
    /// The branch that they were learned on; `None` on a detached HEAD.
    pub branch: Option<String>,
    /// The commits that were checked out, each once.
    pub commits: Vec<String>,
    /// How many they are.
    pub records: usize,
    /// The file that they wait in.
    pub file: PathBuf,
}

/// What a flush came to.
#[derive(Debug, Default)]
pub struct Flushed {
    /// Names of the segments that were made.
    pub segments: Vec<String>,
    /// Records in them.
    pub records: usize,
    /// What still waits.
    pub waiting: Vec<Waiting>,
}

impl Spool {
    /// The spool in this directory, which is made when it is first needed.
    #[must_use]
    pub fn at(dir: PathBuf, durability: Durability) -> Self {
        Self { dir, durability }
    }

    /// The id of a session, by the name that its client gives it; made the first time, and the same from then on.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn session(&self, client: &str) -> Result<String, SpoolError> {
        Ok(self.folder(client)?.locked()?.named()?.id)
    }

    /// Appends records of a session that were learned on a branch, in one write. They are kept when this returns. `mark`
    /// names what they were learned from: where the session has that mark, nothing is appended, and `false` returned.
    ///
    /// # Errors
    /// [`SpoolError::Io`]; then none of them is kept.
    pub fn append(
        &self,
        client: &str,
        branch: Option<&str>,
        mark: Option<&str>,
        records: &[Record],
    ) -> Result<bool, SpoolError> {
        if records.is_empty() {
            return Ok(false);
        }
        let text: String = records
            .iter()
            .flat_map(|record| [record.line(), "\n".to_owned()])
            .collect();
        let locked = self.folder(client)?.locked()?;
        locked.named()?;
        if let Some(mark) = mark
            && locked.marks()?.iter().any(|other| other == mark)
        {
            return Ok(false);
        }
        let path = locked.folder.live(branch);
        append(&path, text.as_bytes(), self.durability).map_err(at(&path))?;
        // Behind the records: whoever is killed in between has them twice, and not never.
        if let Some(mark) = mark {
            locked.add_mark(mark, self.durability)?;
        }
        Ok(true)
    }

    /// Takes a mark without a record, for what was learned from and gave nothing. Returns whether it was new.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn mark(&self, client: &str, mark: &str) -> Result<bool, SpoolError> {
        let locked = self.folder(client)?.locked()?;
        locked.named()?;
        let is_new = !locked.marks()?.iter().any(|other| other == mark);
        if is_new {
            locked.add_mark(mark, self.durability)?;
        }
        Ok(is_new)
    }

    /// What a session was learned from, in the order in which it was.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn marks(&self, client: &str) -> Result<Vec<String>, SpoolError> {
        self.folder(client)?.locked()?.marks()
    }

    /// What waits, in the order of the sessions' ids.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn waiting(&self) -> Result<Vec<Waiting>, SpoolError> {
        let mut waiting = Vec::new();
        for folder in self.folders()? {
            let locked = folder.locked()?;
            let session = locked.named()?.id;
            for file in locked.folder.files(&["flushing-", "live-"])? {
                waiting.extend(look_at(&session, file)?);
            }
        }
        waiting.sort_by(|a, b| (&a.session, &a.file).cmp(&(&b.session, &b.file)));
        Ok(waiting)
    }

    /// Makes segments of what `is_due` picks. Killed at any point it goes on where it was the next time: what is in a
    /// segment leaves the spool only when the segment is on the disk.
    ///
    /// # Errors
    /// The first thing that failed; what it was about stays in the spool.
    pub fn flush(&self, segments: &Segments, is_due: impl Fn(&Waiting) -> bool) -> Result<Flushed, SpoolError> {
        let mut flushed = Flushed::default();
        for folder in self.folders()? {
            folder.locked()?.flush(segments, &is_due, &mut flushed)?;
        }
        Ok(flushed)
    }

    /// The files that could not be made into segments as they were, because some of their lines are no records.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn set_aside(&self) -> Result<Vec<PathBuf>, SpoolError> {
        let files: Result<Vec<_>, _> = self.folders()?.iter().map(|folder| folder.files(&["aside-"])).collect();
        Ok(files?.into_iter().flatten().collect())
    }

    fn folder(&self, client: &str) -> Result<Folder, SpoolError> {
        let folder = Folder(self.dir.join(short_hash(client)));
        private_file::dir(&folder.0).map_err(at(&folder.0))?;
        Ok(folder)
    }

    fn folders(&self) -> Result<Vec<Folder>, SpoolError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(at(&self.dir)(source)),
        };
        let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(at(&self.dir))?;
        paths.retain(|path| path.join("session.json").is_file());
        paths.sort();
        Ok(paths.into_iter().map(Folder).collect())
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Io { path, source }
}

fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
