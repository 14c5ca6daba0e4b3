use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use muninn_base::{Clock, Until, private_file};

use super::super::record::Record;
use super::super::segment::Segments;
use super::error::{Durability, SpoolError, at};
use super::file::append;
use super::flush::look_at;
use super::index::{self, Index, Session};
use super::state::{Flushed, Locked, PendingRecords, Spool, short_hash};
use super::waiting::{self, Kind, PendingFile, branch_name};

/// The sessions that a flush covers.
#[derive(Debug, Clone, Copy)]
pub enum Sessions<'a> {
    /// All sessions with waiting records.
    All,
    /// Sessions with these client names.
    Of(&'a [&'a str]),
}

impl Spool {
    /// Creates a spool in this directory. The directory is created at the first write.
    pub fn at(dir: PathBuf, durability: Durability, clock: Clock) -> Self {
        Self { dir, durability, clock, index: Arc::default() }
    }

    /// Returns the id of a session, by its client's name for it; `None` if nothing was recorded for the session yet.
    #[cfg(test)]
    pub(crate) fn session(&self, client: &str) -> Result<Option<String>, SpoolError> {
        let client = short_hash(client);
        match self.existing(&client)? {
            Some(locked) => Ok(locked.index()?.session(&client)?.map(|session| session.id)),
            None => Ok(None),
        }
    }

    /// Takes the next segment number of the session with this id; `None` if it was not recorded here.
    pub(crate) fn reserve(&self, id: &str) -> Result<Option<u64>, SpoolError> {
        self.locked()?.index()?.reserve(id)
    }

    /// Appends the records that `learn` returns for the session's id, with the branch on which they were learned, in
    /// one write. The records are stored when this returns. `mark` names the input of `learn`: if the session already
    /// has this mark, `learn` is not called, nothing is appended, and the result is `false`. The session's id is
    /// created with its first records and then never changes.
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
        let text: String = records.iter().flat_map(|record| [record.line(), "\n".to_owned()]).collect();
        locked.index()?.add_session(&client, &session)?;
        private_file::dir(&waiting::dir(&self.dir)).map_err(at(&self.dir))?;
        let file = PendingFile::new(&self.dir, Kind::Live, &client, &branch_name(branch.as_deref()));
        append(&file.path, text.as_bytes(), self.durability).map_err(at(&file.path))?;
        // The mark is written after the records: a kill in between writes the records twice instead of never.
        if let Some(mark) = mark {
            locked.index()?.add_mark(&client, mark)?;
        }
        Ok(true)
    }

    /// Adds a mark without records, for an input that gave none. Returns whether the mark is new.
    pub fn mark(&self, client: &str, mark: &str) -> Result<bool, SpoolError> {
        let client = short_hash(client);
        let mut locked = self.locked()?;
        let (_, is_known) = locked.look_up(&client, Some(mark))?;
        if !is_known {
            locked.index()?.add_mark(&client, mark)?;
        }
        Ok(!is_known)
    }

    /// The marks of a session, oldest first.
    pub fn marks(&self, client: &str) -> Result<Vec<String>, SpoolError> {
        let client = short_hash(client);
        match self.existing(&client)? {
            Some(locked) => locked.index()?.marks(&client),
            None => Ok(Vec::new()),
        }
    }

    /// Waiting records, sorted by session id.
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

    /// Returns whether any records wait.
    pub fn has_waiting(&self) -> Result<bool, SpoolError> {
        Ok(!waiting::files(&self.dir)?.is_empty())
    }

    /// Writes segments of the waiting records that `is_due` selects in the given sessions. Files of other sessions are
    /// not opened. If the process is killed, the next flush continues: records leave the spool only after their segment
    /// is on disk. When `until` is over, the flush stops before the next session, and the remaining records wait.
    ///
    /// # Errors
    /// The first failure. The affected records stay in the spool.
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

    /// Flushed files that held invalid lines.
    pub fn set_aside(&self) -> Result<Vec<PathBuf>, SpoolError> {
        waiting::entries(&waiting::aside_dir(&self.dir))
    }

    /// Takes the lock and opens the index.
    pub(crate) fn locked(&self) -> Result<Locked<'_>, SpoolError> {
        let mut index = self.index.lock();
        let path = self.dir.join("lock");
        let lock = private_file::dir(&self.dir).and_then(|()| private_file::lock(&path));
        let lock = lock.map_err(at(&path))?;
        // Another process can have deleted the spool meanwhile. Writes to an unlinked file would be lost.
        if !index.as_ref().is_some_and(Index::is_current) {
            *index = None;
            *index = Some(Index::open(&self.dir, self.durability, &self.clock)?);
        }
        Ok(Locked { dir: &self.dir, durability: self.durability, clock: &self.clock, index, _lock: lock })
    }

    /// Like [`Self::locked`], for a known client. For an unknown client nothing is created.
    fn existing(&self, client: &str) -> Result<Option<Locked<'_>>, SpoolError> {
        if !index::path(&self.dir).exists() && !self.dir.join(client).exists() {
            return Ok(None);
        }
        let locked = self.locked()?;
        locked.migrate_client(client)?;
        Ok(Some(locked))
    }
}

impl Locked<'_> {
    pub(crate) fn index(&self) -> Result<&Index, SpoolError> {
        let missing = || at(&index::path(self.dir))(io::ErrorKind::NotFound.into());
        self.index.as_ref().ok_or_else(missing)
    }

    /// Returns the session of a client, a new one if the client has none, and whether it has the mark. A damaged index
    /// is renamed. Its sessions then get new ids, and their input can be recorded a second time.
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
        self.migrate_client(client)?;
        let index = self.index()?;
        let is_known = mark.map_or(Ok(false), |mark| index.has_mark(client, mark))?;
        Ok((index.session(client)?.unwrap_or_else(|| Session::new(self.clock)), is_known))
    }
}
