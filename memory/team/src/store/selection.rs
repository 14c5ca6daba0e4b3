use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::ids::{self, IdError};
use muninn_base::{Clock, RelPath, Until, private_file, with_causes};
use muninn_repo_tools::ReferenceError;
use thiserror::Error;

use super::branches::DefaultBranchSegments;
use super::scope::ScopeInputs;
use super::settings::{Store, StoreSettings};
use crate::knowledge;
use crate::learn::decisions::Decision;
use crate::memories::{LoadedMemories, Memory};
use crate::records::{
    Flushed, Home, Origin, PendingRecords, Record, RecordFile, RecordReferences, RecordStatus, SESSIONS, SegmentError,
    Segments, Sessions, Spool, SpoolError, Statement,
};

/// Where segments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// To the home; in a repository, to be tracked by git.
    Home,
    /// To the user's state directory only.
    State,
}

/// Why a record is not found by its id.
#[derive(Debug, Error)]
pub enum RecordIdError {
    /// No id, or several, contain the part.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The records of the checkout are not known.
    #[error(transparent)]
    Head(#[from] ReferenceError),
}

/// Memories that are found by parts of their ids, and the status of all records.
pub struct NamedMemories {
    items: Vec<Memory>,
    pub status: RecordStatus,
}

impl NamedMemories {
    /// The memory that any unambiguous part of its id names.
    pub fn find(&self, part: &str) -> Result<&Memory, IdError> {
        ids::find("record", part, self.items.iter().map(|item| (item.source.as_str(), item)))
    }
}

impl Store {
    /// Opens a memory. Files outside its home, such as live records, are below `state_dir`. Nothing is created or read
    /// yet.
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

    /// The memory's location.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The memory's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The live records.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// The folder of segments in the state directory.
    pub fn local_segments(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    /// Returns the files that recall reads for the checkout, main first. Reconciled segments are skipped. If a
    /// reconciled segment grew since, the archive of pruned records follows main, so that pruned records are not
    /// restored. The patterns of archived worklogs come last.
    pub fn files(&self) -> Result<Vec<RecordFile>, ReferenceError> {
        let mut files = self.files_on(self.settings.default_branch_segments, false)?;
        let patterns = RecordFile::of(&self.home, crate::records::PATTERNS);
        files.extend(patterns.filter(|file| file.metadata(&self.home).is_ok()));
        Ok(files)
    }

    /// The segments of the home that belong to the checkout, of all sessions: the input of a reconciliation.
    pub fn shared_segments(&self) -> Result<Vec<RecordFile>, ReferenceError> {
        let mut files = self.files_on(DefaultBranchSegments::All, true)?;
        let in_sessions = |path: &RelPath| path.as_str().starts_with(self.home.path(SESSIONS));
        files.retain(|file| matches!(file, RecordFile::Home(path) if in_sessions(path)));
        Ok(files)
    }

    /// The default branch, if another branch is checked out; `None` without git.
    pub fn foreign_branch(&self) -> Result<Option<String>, ReferenceError> {
        if self.home.worktree().is_none() {
            return Ok(None);
        }
        let checkout = self.home.checkout()?;
        let named = self.settings.default_branch.clone().or(checkout.default_branch);
        Ok(named.filter(|name| checkout.branch.as_ref() != Some(name)))
    }

    fn files_on(
        &self,
        default_branch_segments: DefaultBranchSegments,
        with_reconciled: bool,
    ) -> Result<Vec<RecordFile>, ReferenceError> {
        let mut scope = self.scope.lock();
        scope.files(&ScopeInputs {
            home: &self.home,
            spool: &self.spool,
            local_segments: &self.local_segments(),
            default_branch: self.settings.default_branch.as_deref(),
            default_branch_segments,
            with_reconciled,
        })
    }

    /// Keeps the records that `learn` returns for their session, branch and commit. `mark` names their input: if the
    /// session has that mark, `learn` is not called. Returns whether records were kept.
    ///
    /// # Errors
    /// [`SpoolError`]; then nothing is kept. HEAD must be readable: nobody finds records again that are on no branch.
    pub fn keep(
        &self,
        client: &str,
        mark: Option<&str>,
        learn: impl FnOnce(Origin) -> Vec<Record>,
    ) -> Result<bool, SpoolError> {
        let mut unreadable = None;
        let kept = self.spool.learn(client, mark, |session| match self.home.origin() {
            Ok(origin) => {
                let branch = origin.branch.clone();
                let session = Some(session.to_owned());
                (branch, learn(Origin { session, ..origin }))
            }
            Err(error) => {
                unreadable = Some(error);
                (None, Vec::new())
            }
        })?;
        match unreadable {
            Some(error) => Err(error.into()),
            None => Ok(kept),
        }
    }

    /// Writes records to a segment in the state directory. They never wait in the spool, whose records can go to the home.
    ///
    /// # Errors
    /// [`SpoolError`]; then nothing is kept.
    pub fn keep_locally(&self, records: &[Record]) -> Result<(), SpoolError> {
        let lines: String = records.iter().map(|record| format!("{}\n", record.line())).collect();
        self.segments(Destination::State)?.write(&self.clock.id().to_string(), 1, &lines)?;
        Ok(())
    }

    /// Writes segments of the records of the current branch, and of branches that are merged into it. Other records
    /// wait.
    ///
    /// # Errors
    /// [`SpoolError`]; records that cannot be written wait.
    pub fn flush(&self, destination: Destination) -> Result<Flushed, SpoolError> {
        self.flush_some(destination, Sessions::All, None)
    }

    /// Like [`Self::flush`], for ended sessions and until `until` is over. Files of other sessions are opened only if
    /// the checkout changed since the last flush, because a merge can have brought their branch.
    ///
    /// # Errors
    /// See [`Self::flush`].
    pub fn flush_ended(
        &self,
        destination: Destination,
        clients: &[&str],
        until: Option<&Until>,
    ) -> Result<Flushed, SpoolError> {
        if !self.spool.has_waiting()? {
            return Ok(Flushed::default());
        }
        let checkout = self.home.checkout()?;
        let mut swept = self.swept.lock();
        if swept.as_ref() == Some(&checkout) {
            drop(swept);
            return self.flush_some(destination, Sessions::Of(clients), until);
        }
        let flushed = self.flush_some(destination, Sessions::All, until)?;
        *swept = (!flushed.is_cut).then_some(checkout);
        Ok(flushed)
    }

    /// The folder of segments.
    fn segments(&self, destination: Destination) -> Result<Segments, SegmentError> {
        match destination {
            Destination::Home => Segments::of(&self.home),
            Destination::State => {
                let dir = self.local_segments();
                private_file::dir(&dir).map_err(|source| SegmentError::Io { path: dir.clone(), source })?;
                Ok(Segments::at(dir))
            }
        }
    }

    fn flush_some(
        &self,
        destination: Destination,
        sessions: Sessions<'_>,
        until: Option<&Until>,
    ) -> Result<Flushed, SpoolError> {
        let segments = self.segments(destination)?;
        // HEAD is detached during a rebase: nothing is written until it is over.
        let is_detached = self.home.is_detached()?;
        let known = RefCell::new(HashMap::new());
        let belongs_here = |waiting: &PendingRecords| {
            let learned = (waiting.branch.clone(), waiting.commits.clone());
            *known.borrow_mut().entry(learned).or_insert_with(|| {
                let holds = self.home.holds(waiting.branch.as_deref(), &waiting.commits);
                // Records wait until their branch can be read.
                holds.unwrap_or(false)
            })
        };
        let mut flushed = self.spool.flush_some(sessions, &segments, until, |waiting| match destination {
            Destination::Home => !is_detached && belongs_here(waiting),
            Destination::State => true,
        })?;
        if destination == Destination::Home && !flushed.segments.is_empty() {
            self.combine_new(&segments, &mut flushed)?;
        }
        Ok(flushed)
    }

    /// All memories that are not forgotten.
    pub fn named_memories(&self) -> Result<NamedMemories, ReferenceError> {
        let files = self.files()?;
        let mut items = Vec::new();
        let mut references = RecordReferences::default();
        for part in LoadedMemories::of_files(&files, &self.home) {
            items.extend(part.items);
            references.extend(part.references);
        }
        items.retain(|item| !references.forgets(&item.source));
        Ok(NamedMemories { items, status: references.status() })
    }

    /// The decisions that no recorded learning states, each once. A forgotten one stays forgotten. Reads all files of records
    /// if there is a decision.
    pub fn new_decisions(&self, mut decisions: Vec<Decision>) -> Result<Vec<Decision>, ReferenceError> {
        if decisions.is_empty() {
            return Ok(decisions);
        }
        let files = self.files()?;
        let learnings = LoadedMemories::of_files(&files, &self.home)
            .flat_map(|loaded| loaded.items)
            .filter(|item| item.record_type.as_deref() == Some("learning"));
        let mut known: HashMap<[u8; 16], Vec<Statement>> = HashMap::new();
        for statement in learnings.map(|item| Statement::of_text(&item.text)) {
            known.entry(statement.words()).or_default().push(statement);
        }
        decisions.retain(|decision| {
            let statement = Statement::of_text(&decision.text);
            let alike = known.entry(statement.words()).or_default();
            let is_new = !alike.iter().any(|known| known.equals(statement));
            alike.push(statement);
            is_new
        });
        Ok(decisions)
    }

    /// Problems of the files that recall reads, as messages: invalid lines, and knowledge that is skipped.
    pub fn problems(&self) -> Vec<String> {
        let (files, unread) = match self.files() {
            Ok(files) => (files, None),
            Err(error) => (Vec::new(), Some(with_causes(&error))),
        };
        let records = LoadedMemories::of_files(&files, &self.home);
        let knowledge = self.home.worktree().map(|worktree| knowledge::load(worktree, None));
        let parts = knowledge.into_iter().chain(records);
        parts.flat_map(|part| part.notes).chain(unread).collect()
    }

    /// The files of the spool that hold invalid lines.
    pub fn set_aside(&self) -> Result<Vec<PathBuf>, SpoolError> {
        self.spool.set_aside()
    }
}

#[cfg(test)]
mod tests;
