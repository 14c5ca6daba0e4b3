use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use muninn_base::{Clock, private_file};
use muninn_config::JournalConfig;
use muninn_notebooks::journal::{
    Draft, EntryRef, FoundEntry, Journal, JournalError, JournalSettings, ListedEntry, ReadEntry, ReadSection, TocNode,
    Version, Written,
};
use muninn_notebooks::wiki::PagePath;
use muninn_repo_tools::Worktree;
use serde::{Deserialize, Serialize};

use super::super::Workspace;
use super::error::JournalUseError;
use super::git_dir::git_dir;
use super::session::SessionJournal;
use super::transfer;

/// The author of entries where git has none.
const NOBODY: (&str, &str) = ("unknown", "unknown@localhost");

/// The most sessions whose reads are kept. The oldest are forgotten first: their next write needs a read.
const MOST_SESSIONS: usize = 200;

/// The section or the entry that a name refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum JournalText {
    Section(ReadSection),
    Entry(ReadEntry),
}

/// The sections that a session has read, with their versions.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Reads {
    /// The session that read last is the last one.
    sessions: Vec<(String, BTreeMap<String, String>)>,
}

impl SessionJournal {
    /// The journal of a worktree, or that of the configuration.
    pub fn open(
        worktree: Option<&Worktree>,
        settings: &JournalConfig,
        state_dir: &Path,
        clock: Clock,
    ) -> Result<Self, JournalUseError> {
        let git_dir = git_dir(worktree, settings)?;
        let author = settings.author.clone().or_else(|| worktree?.author_identity());
        let author = author.unwrap_or_else(|| (NOBODY.0.to_owned(), NOBODY.1.to_owned()));
        let name = blake3::hash(git_dir.as_os_str().as_encoded_bytes()).to_hex();
        let state = state_dir.join("journal").join(&name[..16]);
        let of_worktree = worktree.filter(|_| settings.path.is_none());
        Ok(Self {
            directory: of_worktree.map_or_else(|| git_dir.clone(), |worktree| worktree.root().to_owned()),
            reads: state.join("reads.json"),
            search: settings.search.clone(),
            packs: settings.auto_gc && settings.path.is_some(),
            journal: Journal::new(&git_dir, &state, JournalSettings { author, strict: settings.strict }, clock),
        })
    }

    /// Reads a section or an entry. The session has read the section then.
    pub fn read(&self, name: &str, session: Option<&str>) -> Result<JournalText, JournalUseError> {
        let name = EntryRef::parse(name).map_err(JournalError::from)?;
        if name.commit.is_some() {
            return Ok(JournalText::Entry(self.journal.entry(&name)?));
        }
        let read = self.journal.section(&name.section)?;
        self.note(session, &name.section, read.version);
        Ok(JournalText::Section(read))
    }

    /// Writes an entry to a section, which the session must have read, or whose version is given.
    ///
    /// # Errors
    /// [`JournalUseError`]; nothing is written then.
    pub fn write(&self, section: &str, draft: &Draft, version: Option<&str>) -> Result<Written, JournalUseError> {
        let section = self.section(section)?;
        let session = draft.session.as_deref();
        let seen = match version {
            Some(version) => {
                let parsed = Version::parse(version);
                Some(parsed.ok_or_else(|| JournalUseError::Version(version.escape_debug().to_string()))?)
            }
            None => self.noted(session, &section),
        };
        let written = self.journal.write(&section, draft, seen)?;
        self.note(session, &section, written.version);
        if self.packs {
            transfer::pack_in_background(self.journal.git_dir());
        }
        Ok(written)
    }

    /// The table of contents; see [`Journal::toc`].
    pub fn toc(&self, from: Option<&str>, depth: usize) -> Result<Vec<TocNode>, JournalUseError> {
        let from = from.filter(|from| !from.is_empty());
        let from = from.map(|from| self.section(from)).transpose()?;
        Ok(self.journal.toc(from.as_ref(), depth)?)
    }

    /// The entries that match best; see [`Journal::search`].
    pub fn search(
        &self,
        work_context: &str,
        content: &str,
        threshold: Option<f32>,
    ) -> Result<Vec<FoundEntry>, JournalUseError> {
        Ok(self.journal.search(work_context, content, threshold, &self.search)?)
    }

    /// The entries of a section; see [`Journal::entries`].
    pub fn entries(&self, section: &str, start: usize, length: usize) -> Result<Vec<ListedEntry>, JournalUseError> {
        Ok(self.journal.entries(&self.section(section)?, start, length)?)
    }

    pub(crate) fn section(&self, name: &str) -> Result<PagePath, JournalUseError> {
        let name = EntryRef::parse(name).map_err(JournalError::from)?;
        match name.commit {
            None => Ok(name.section),
            Some(_) => Err(JournalUseError::NoSection(name.to_string())),
        }
    }

    fn noted(&self, session: Option<&str>, section: &PagePath) -> Option<Version> {
        let (session, reads) = (session?, self.load());
        let (_, sections) = reads.sections_of(session)?;
        Version::parse(sections.get(section.as_str())?)
    }

    fn load(&self) -> Reads {
        let text = private_file::read_whole(&self.reads).unwrap_or_default();
        if text.is_empty() {
            return Reads::default();
        }
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!("{}: {error}; sections must be read again before a write", self.reads.display());
            Reads::default()
        })
    }

    /// Notes what a session has read. If that fails, its write is refused until it names the version.
    pub(crate) fn note(&self, session: Option<&str>, section: &PagePath, version: Version) {
        let Some(session) = session else { return };
        let write = || -> std::io::Result<()> {
            private_file::dir(self.reads.parent().unwrap_or(&self.reads))?;
            let _lock = private_file::lock(&self.reads.with_extension("lock"))?;
            let mut reads = self.load();
            reads.note(session, section, version);
            private_file::replace(&self.reads, &serde_json::to_vec(&reads)?)
        };
        if let Err(error) = write() {
            tracing::warn!("{}: {error}", self.reads.display());
        }
    }
}

impl Reads {
    fn sections_of(&self, session: &str) -> Option<&(String, BTreeMap<String, String>)> {
        self.sessions.iter().find(|(name, _)| name == session)
    }

    fn note(&mut self, session: &str, section: &PagePath, version: Version) {
        let at = self.sessions.iter().position(|(name, _)| name == session);
        let mut entry = match at {
            Some(at) => self.sessions.remove(at),
            None => (session.to_owned(), BTreeMap::new()),
        };
        entry.1.insert(section.to_string(), version.to_string());
        self.sessions.push(entry);
        let forgotten = self.sessions.len().saturating_sub(MOST_SESSIONS);
        self.sessions.drain(..forgotten);
    }
}

impl Workspace {
    /// The journal, with the settings in force.
    pub fn journal(&self) -> Result<Arc<SessionJournal>, JournalUseError> {
        let settings = &self.settings().journal;
        let mut open = self.journal.lock();
        if let Some((_, journal)) = open.as_ref().filter(|(with, _)| with == settings) {
            return Ok(Arc::clone(journal));
        }
        let worktree = self.engine.as_ref().map(|engine| engine.worktree());
        let journal = SessionJournal::open(worktree, settings, &self.state_dir, self.clock().clone())?;
        let journal = Arc::new(journal);
        *open = Some((settings.clone(), Arc::clone(&journal)));
        Ok(journal)
    }
}
