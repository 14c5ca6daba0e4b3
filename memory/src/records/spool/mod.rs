//! Live records, on their way into the repository.
//!
//! They wait in the user's state directory, because a tracked file that is written to would block `git checkout` and
//! `git rebase`, and one that is held open loses what is written to it after a `git stash`:
//!
//! ```text
//! <spool>/
//!   lock                                      taken for each append and each flush; several processes write at once
//!   sessions.db                               each session's id, the number of its next segment, and its marks
//!   waiting/live-<client>-<branch>.jsonl      what was learned on a branch; opened for each append, which is one write
//!   waiting/flushing-<client>-<branch>.jsonl  the same, while it becomes a segment
//!   aside/<client>-<ulid>-<branch>.jsonl      what a segment was made of, where some of its lines are no records
//! ```
//!
//! A client's session and a branch are named by a hash of their names, since these may hold anything. A session has no
//! file before something is learned from it, and none after its records are in a segment: what remains of it is a row of
//! the index. Earlier versions had a folder for every session; [`Spool::compact`] turns those into the above.

mod file;
mod flush;
mod index;
mod legacy;
mod view;
mod waiting;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muninn_repo_tools::Until;
use thiserror::Error;

pub use self::view::SpoolView;

use self::file::append;
use self::flush::look_at;
use self::index::{Index, Session};
use self::waiting::{Kind, PendingFile, branch_name};
use super::record::Record;
use super::segment::{SegmentError, Segments};
use crate::{Clock, private_file};

/// When what was appended is on the disk for good. A killed process loses nothing either way; a power cut may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Once a segment was made of it.
    #[default]
    Segment,
    /// When [`Spool::append`] returns.
    Append,
}

/// The live records of one worktree. Clones share one connection to the index.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
    durability: Durability,
    clock: Clock,
    index: Arc<Mutex<Option<Index>>>,
}

/// The spool, for as long as no other process or thread writes to it.
struct Locked<'a> {
    dir: &'a Path,
    durability: Durability,
    clock: &'a Clock,
    index: MutexGuard<'a, Option<Index>>,
    /// Unlocked when it is closed.
    _lock: File,
}

/// Which sessions a flush is about.
#[derive(Debug, Clone, Copy)]
pub enum Sessions<'a> {
    /// All that wait.
    All,
    /// Those that their clients give these names.
    Of(&'a [&'a str]),
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
    /// The index of sessions.
    #[error("the index of sessions at {}", path.display())]
    Index {
        /// Its file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A segment could not be written; its records stay in the spool.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

/// Records of one session and branch that wait for their segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRecords {
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
    /// What still waits, of what was looked at.
    pub waiting: Vec<PendingRecords>,
    /// Whether the time was over before all was looked at.
    pub is_cut: bool,
}

impl Spool {
    /// The spool in this directory, which is made when it is first needed.
    #[must_use]
    pub fn at(dir: PathBuf, durability: Durability, clock: Clock) -> Self {
        Self {
            dir,
            durability,
            clock,
            index: Arc::default(),
        }
    }

    /// The id of a session, by the name that its client gives it; `None` before something of it was view.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn session(&self, client: &str) -> Result<Option<String>, SpoolError> {
        let client = short_hash(client);
        match self.existing(&client)? {
            Some(locked) => Ok(locked.index()?.session(&client)?.map(|session| session.id)),
            None => Ok(None),
        }
    }

    /// Appends records of a session that were learned on a branch, in one write. They are kept when this returns. `mark`
    /// names what they were learned from: where the session has that mark, nothing is appended, and `false` returned.
    ///
    /// # Errors
    /// [`SpoolError`]; then none of them is kept.
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
        self.learn(client, mark, |_| (branch.map(str::to_owned), records.to_vec()))
    }

    /// Appends what `learn` makes for the session of this id, and the branch that it was learned on, as
    /// [`Self::append`] does. The id is made for the first records of a session, and the same from then on. Where the
    /// session has the mark, `learn` is not called.
    ///
    /// # Errors
    /// [`SpoolError`]; then nothing is kept.
    pub fn learn(
        &self,
        client: &str,
        mark: Option<&str>,
        learn: impl FnOnce(&str) -> (Option<String>, Vec<Record>),
    ) -> Result<bool, SpoolError> {
        let client = short_hash(client);
        let mut locked = self.locked()?;
        let (session, is_known) = locked.look_up(&client, mark)?;
        if is_known {
            return Ok(false);
        }
        let (branch, records) = learn(&session.id);
        if records.is_empty() {
            return Ok(false);
        }
        let text: String = records
            .iter()
            .flat_map(|record| [record.line(), "\n".to_owned()])
            .collect();
        locked.index()?.add_session(&client, &session)?;
        private_file::dir(&waiting::dir(&self.dir)).map_err(at(&self.dir))?;
        let file = PendingFile::new(&self.dir, Kind::Live, &client, &branch_name(branch.as_deref()));
        append(&file.path, text.as_bytes(), self.durability).map_err(at(&file.path))?;
        // Behind the records: whoever is killed in between has them twice, and not never.
        if let Some(mark) = mark {
            locked.index()?.add_mark(&client, mark)?;
        }
        Ok(true)
    }

    /// Takes a mark without a record, for what was learned from and gave nothing. Returns whether it was new.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn mark(&self, client: &str, mark: &str) -> Result<bool, SpoolError> {
        let client = short_hash(client);
        let mut locked = self.locked()?;
        let (_, is_known) = locked.look_up(&client, Some(mark))?;
        if !is_known {
            locked.index()?.add_mark(&client, mark)?;
        }
        Ok(!is_known)
    }

    /// What a session was learned from, in the order in which it was.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn marks(&self, client: &str) -> Result<Vec<String>, SpoolError> {
        let client = short_hash(client);
        match self.existing(&client)? {
            Some(locked) => locked.index()?.marks(&client),
            None => Ok(Vec::new()),
        }
    }

    /// What waits, in the order of the sessions' ids.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn waiting(&self) -> Result<Vec<PendingRecords>, SpoolError> {
        let files = waiting::files(&self.dir)?;
        let mut waiting = Vec::new();
        if !files.is_empty() {
            let locked = self.locked()?;
            for file in &files {
                let session = locked.index()?.session(&file.client)?;
                waiting.extend(look_at(&session.map_or_else(String::new, |session| session.id), file)?);
            }
        }
        waiting.sort_by(|a, b| (&a.session, &a.file).cmp(&(&b.session, &b.file)));
        Ok(waiting)
    }

    /// Whether anything waits.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn has_waiting(&self) -> Result<bool, SpoolError> {
        Ok(!waiting::files(&self.dir)?.is_empty())
    }

    /// Makes segments of what `is_due` picks. Killed at any point it goes on where it was the next time: what is in a
    /// segment leaves the spool only when the segment is on the disk.
    ///
    /// # Errors
    /// The first thing that failed; what it was about stays in the spool.
    pub fn flush(&self, segments: &Segments, is_due: impl Fn(&PendingRecords) -> bool) -> Result<Flushed, SpoolError> {
        self.flush_some(Sessions::All, segments, None, is_due)
    }

    /// The same for some sessions; the files of others are not opened. Between two sessions it stops when `until` is
    /// over, and the rest waits.
    ///
    /// # Errors
    /// Those of [`Self::flush`].
    pub fn flush_some(
        &self,
        sessions: Sessions<'_>,
        segments: &Segments,
        until: Option<&Until>,
        is_due: impl Fn(&PendingRecords) -> bool,
    ) -> Result<Flushed, SpoolError> {
        let mut files = waiting::files(&self.dir)?;
        if let Sessions::Of(names) = sessions {
            let clients: Vec<String> = names.iter().map(|name| short_hash(name)).collect();
            files.retain(|file| clients.contains(&file.client));
        }
        let mut flushed = Flushed::default();
        for files in files.chunk_by(|a, b| a.client == b.client) {
            if until.is_some_and(Until::is_over) {
                flushed.is_cut = true;
                break;
            }
            self.locked()?.flush(files, segments, &is_due, &mut flushed)?;
        }
        Ok(flushed)
    }

    /// The files that could not be made into segments as they were, because some of their lines are no records.
    ///
    /// # Errors
    /// [`SpoolError::Io`].
    pub fn set_aside(&self) -> Result<Vec<PathBuf>, SpoolError> {
        waiting::entries(&waiting::aside_dir(&self.dir))
    }

    /// Takes the lock, and opens the index.
    fn locked(&self) -> Result<Locked<'_>, SpoolError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.dir.join("lock");
        let lock = private_file::dir(&self.dir).and_then(|()| private_file::lock(&path));
        let lock = lock.map_err(at(&path))?;
        // Somebody may have deleted the spool meanwhile: what is written to a file without a name is lost.
        if !index.as_ref().is_some_and(Index::is_current) {
            *index = None;
            *index = Some(Index::open(&self.dir, self.durability, &self.clock)?);
        }
        Ok(Locked {
            dir: &self.dir,
            durability: self.durability,
            clock: &self.clock,
            index,
            _lock: lock,
        })
    }

    /// The same, unless nothing is known of this client. Nothing is created then.
    fn existing(&self, client: &str) -> Result<Option<Locked<'_>>, SpoolError> {
        if !index::path(&self.dir).exists() && !self.dir.join(client).exists() {
            return Ok(None);
        }
        let locked = self.locked()?;
        locked.take_over_client(client)?;
        Ok(Some(locked))
    }
}

impl Locked<'_> {
    fn index(&self) -> Result<&Index, SpoolError> {
        let missing = || at(&index::path(self.dir))(io::ErrorKind::NotFound.into());
        self.index.as_ref().ok_or_else(missing)
    }

    /// The session of a client, a new one where there is none, and whether it has the mark. An index that turns out to
    /// be damaged is set aside: its sessions get new ids, and what they were learned from may be learned once more.
    fn look_up(&mut self, client: &str, mark: Option<&str>) -> Result<(Session, bool), SpoolError> {
        match self.try_look_up(client, mark) {
            Err(error) if error.is_damage() => {
                *self.index = None;
                let path = index::path(self.dir);
                index::set_aside(&path, self.clock).map_err(at(&path))?;
                *self.index = Some(Index::open(self.dir, self.durability, self.clock)?);
                self.try_look_up(client, mark)
            }
            found => found,
        }
    }

    fn try_look_up(&self, client: &str, mark: Option<&str>) -> Result<(Session, bool), SpoolError> {
        self.take_over_client(client)?;
        let index = self.index()?;
        let is_known = mark.map_or(Ok(false), |mark| index.has_mark(client, mark))?;
        Ok((
            index.session(client)?.unwrap_or_else(|| Session::new(self.clock)),
            is_known,
        ))
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Io { path, source }
}

fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
