//! One memory: what is written where, and which files are read.
//!
//! What is learned on a branch reaches git on that branch, so that a branch that is thrown away takes it along. Until
//! then, and for ever where nothing is to reach git, it is kept in the user's state directory.

mod scope;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use muninn_repo_tools::{Checkout, RelPath, Until};

use self::scope::{Scope, ScopeInputs};
use crate::Clock;
use crate::ids::{self, IdError};
use crate::knowledge;
use crate::memories::LoadedMemories;
use crate::records::{
    Durability, Flushed, Home, PendingRecords, Record, RecordFile, SESSIONS, SegmentError, Segments, Sessions, Spool,
    SpoolError,
};

/// Where segments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// To the home: in a repository, for git.
    Home,
    /// To the user's state directory, for nobody else.
    State,
}

/// Which segments recall reads on the default branch, beside what the team agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultBranchSegments {
    /// Those of this worktree's own sessions.
    #[default]
    Own,
    /// None.
    Main,
    /// All that are there.
    All,
}

/// How a memory is kept and read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreSettings {
    /// When a live record is on the disk for good.
    pub durability: Durability,
    /// The short name of the default branch; `None` where git is to tell.
    pub default_branch: Option<String>,
    /// What is read there.
    pub default_branch_segments: DefaultBranchSegments,
}

/// One memory. Clones share what they found out about its files.
#[derive(Debug, Clone)]
pub struct Store {
    home: Home,
    dir: PathBuf,
    spool: Spool,
    settings: StoreSettings,
    clock: Clock,
    scope: Arc<Mutex<Scope>>,
    /// What was checked out when all that waits was last looked at.
    swept: Arc<Mutex<Option<Checkout>>>,
}

impl Store {
    /// The memory that lives there. What of it stays outside, the live records above all, is below `state_dir`. Nothing
    /// is made or read yet.
    #[must_use]
    pub fn at(home: Home, state_dir: &Path, settings: StoreSettings, clock: Clock) -> Self {
        let name = blake3::hash(home.root().as_os_str().as_encoded_bytes()).to_hex();
        let dir = state_dir.join("memory").join(&name[..16]);
        Self {
            spool: Spool::at(dir.join("spool"), settings.durability, clock.clone()),
            home,
            dir,
            settings,
            clock,
            scope: Arc::default(),
            swept: Arc::default(),
        }
    }

    /// Where it lives.
    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// What tells its time.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The live records.
    #[must_use]
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// The folder of segments that stay in the state directory.
    #[must_use]
    pub fn local_segments(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    /// The files of records that belong to what is checked out, main first: what recall reads. What main has taken in is
    /// not read again; where a segment grew since, the archive stands behind main, so that what was pruned stays there.
    #[must_use]
    pub fn files(&self) -> Vec<RecordFile> {
        self.files_on(self.settings.default_branch_segments, false)
    }

    /// The segments of the home that belong to what is checked out, whosever they are: what is to be reconciled.
    #[must_use]
    pub fn shared_segments(&self) -> Vec<RecordFile> {
        let mut files = self.files_on(DefaultBranchSegments::All, true);
        let in_sessions = |path: &RelPath| path.as_str().starts_with(self.home.path(SESSIONS));
        files.retain(|file| matches!(file, RecordFile::Home(path) if in_sessions(path)));
        files
    }

    /// The default branch, where another one is checked out; `None` without git.
    #[must_use]
    pub fn foreign_branch(&self) -> Option<String> {
        let checkout = self.home.worktree()?.checkout();
        let named = self.settings.default_branch.clone().or(checkout.default_branch);
        named.filter(|name| checkout.branch.as_ref() != Some(name))
    }

    fn files_on(&self, default_branch_segments: DefaultBranchSegments, with_taken: bool) -> Vec<RecordFile> {
        let mut scope = self.scope.lock().unwrap_or_else(PoisonError::into_inner);
        scope.files(&ScopeInputs {
            home: &self.home,
            spool: &self.spool,
            local_segments: &self.local_segments(),
            default_branch: self.settings.default_branch.as_deref(),
            default_branch_segments,
            with_taken,
        })
    }

    /// Keeps what a session learned, which `learn` makes for the session's id. `mark` names what it was learned from: where
    /// that has been learned from already, `learn` is not called. Returns whether something was kept.
    ///
    /// # Errors
    /// [`SpoolError`]; then nothing is kept.
    pub fn keep(
        &self,
        client: &str,
        mark: Option<&str>,
        learn: impl FnOnce(&str) -> Vec<Record>,
    ) -> Result<bool, SpoolError> {
        self.spool.learn(client, mark, |session| {
            let records = learn(session);
            let branch = records.iter().find_map(|record| record.origin.branch.clone());
            (branch, records)
        })
    }

    /// Makes segments of what was learned on the branch that is checked out, and of what was learned on others and has
    /// been merged into it. The rest waits.
    ///
    /// # Errors
    /// [`SpoolError`]; what could not be written waits too.
    pub fn flush(&self, destination: Destination) -> Result<Flushed, SpoolError> {
        self.flush_some(destination, Sessions::All, None)
    }

    /// The same for sessions that ended, and until `until` is over. The files of others are opened only when another
    /// commit is checked out than the last time, since a merge may have brought their branch.
    ///
    /// # Errors
    /// Those of [`Self::flush`].
    pub fn flush_ended(
        &self,
        destination: Destination,
        clients: &[&str],
        until: Option<&Until>,
    ) -> Result<Flushed, SpoolError> {
        if !self.spool.has_waiting()? {
            return Ok(Flushed::default());
        }
        let checkout = self.home.checkout();
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.as_ref() == Some(&checkout) {
            drop(swept);
            return self.flush_some(destination, Sessions::Of(clients), until);
        }
        let flushed = self.flush_some(destination, Sessions::All, until)?;
        *swept = (!flushed.is_cut).then_some(checkout);
        Ok(flushed)
    }

    fn flush_some(
        &self,
        destination: Destination,
        sessions: Sessions<'_>,
        until: Option<&Until>,
    ) -> Result<Flushed, SpoolError> {
        let segments = match destination {
            Destination::Home => Segments::of(&self.home)?,
            Destination::State => {
                let dir = self.local_segments();
                std::fs::create_dir_all(&dir).map_err(|source| SegmentError::Io {
                    path: dir.clone(),
                    source,
                })?;
                Segments::at(dir)
            }
        };
        // A rebase, too, has its HEAD detached: nothing is written until it is over.
        let is_detached = self.home.is_detached();
        let known = RefCell::new(HashMap::new());
        let is_part = |waiting: &PendingRecords| {
            let learned = (waiting.branch.clone(), waiting.commits.clone());
            *known
                .borrow_mut()
                .entry(learned)
                .or_insert_with(|| self.home.holds(waiting.branch.as_deref(), &waiting.commits))
        };
        self.spool
            .flush_some(sessions, &segments, until, |waiting| match destination {
                Destination::Home => !is_detached && is_part(waiting),
                Destination::State => true,
            })
    }

    /// The id of the record that `part` of an id names, among those that are there to be recalled, themselves or by
    /// another that says the same.
    ///
    /// # Errors
    /// [`IdError`] where there is none, or more than one.
    pub fn record_id(&self, part: &str) -> Result<String, IdError> {
        let files = self.files();
        let loaded: Vec<_> = files
            .iter()
            .map(|file| LoadedMemories::of_file(file, &self.home))
            .collect();
        let is_forgotten = |id: &str| loaded.iter().any(|part| part.references.forgets(id));
        let ids = loaded
            .iter()
            .flat_map(|part| &part.items)
            .map(|item| item.source.as_str());
        ids::find(part, ids.filter(|id| !is_forgotten(id))).map(str::to_owned)
    }

    /// What is wrong with the files that recall reads, in words: lines that are no records, knowledge that is left out.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let files = self.files();
        let records = files.iter().map(|file| LoadedMemories::of_file(file, &self.home));
        let knowledge = self.home.worktree().map(knowledge::load);
        let parts = knowledge.into_iter().chain(records);
        parts.flat_map(|part| part.notes).collect()
    }

    /// Removes nothing and says what is there: files in which lines were set aside.
    ///
    /// # Errors
    /// Those of reading the folders.
    pub fn set_aside(&self) -> Result<Vec<PathBuf>, SpoolError> {
        self.spool.set_aside()
    }
}

/// The files of a folder that are segments, in the order of their names; none where there is no folder.
///
/// # Errors
/// Those of reading the folder.
pub fn segments_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Segments::parse_name(&name).is_some() && path.symlink_metadata().is_ok_and(|meta| meta.is_file())
    });
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests;
