//! Reading and writing a journal.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muninn_repo_tools::{ChainError, CommitChain, ObjectId, Signature};
use serde::Serialize;

use super::REFERENCE;
use super::conflict::{self, OverviewConflict};
use super::entry::{Entry, own_context};
use super::error::JournalError;
use super::id::EntryRef;
use super::log::{ListedEntry, Log, LogEntry, timestamp};
use super::merge::{self, Merged};
use super::search::{self, FoundEntry, SearchIndex, SearchSettings, age_days, required};
use super::section::SectionFile;
use super::toc::{TocNode, below, node};
use crate::clock::Clock;
use crate::embed::StaticVectors;
use crate::image::{self, ImageFormat};
use crate::private_file;
use crate::redact::redact;
use crate::wiki::PagePath;

/// The image of the log.
const IMAGE: ImageFormat = ImageFormat {
    prefix: "journal-",
    magic: b"muninn journal 2\n",
};
/// The image of the search.
const SEARCH_IMAGE: ImageFormat = ImageFormat {
    prefix: "journal-search-",
    magic: b"muninn journal search 1\n",
};
/// The new entries after which an image is written.
const READ_FOR_IMAGE: usize = 200;
/// The most bytes of an entry, and of an overview.
pub(super) const MOST_BYTES: usize = 1 << 20;
/// The most entries that a refused write names.
const MOST_NAMED: usize = 50;
/// The age at which the lock of a ref was left behind by a killed process: git holds it for milliseconds.
const LOCK_ABANDONED: Duration = Duration::from_secs(30);
/// Who commits.
pub(super) const COMMITTER: (&str, &str) = ("Muninn", "muninn@localhost");

/// A journal.
pub struct Journal {
    /// The `.git` directory, or a bare repository.
    git_dir: PathBuf,
    /// The directory of the lock and of the image.
    state: PathBuf,
    /// The name and the address of the author of entries.
    author: (String, String),
    clock: Clock,
    log: Mutex<Option<Arc<Log>>>,
    search: Mutex<Search>,
}

/// The index of the search, once it was used.
#[derive(Default)]
struct Search {
    index: Option<SearchIndex>,
    vectors: Option<StaticVectors>,
    /// The entries of the image.
    saved: usize,
}

/// The version of a section: the id of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// There is no section yet.
    New,
    /// The file's id.
    File(ObjectId),
}

impl Version {
    /// Reads a version as it is displayed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "new" => Some(Self::New),
            digits => ObjectId::from_hex(digits).map(Self::File),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("new"),
            Self::File(id) => write!(f, "{id}"),
        }
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A section as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadSection {
    /// The section.
    pub id: PagePath,
    /// The current understanding.
    pub overview: String,
    /// The version, for a write.
    pub version: Version,
    /// The number of entries.
    pub entry_count: u64,
    /// The time of the last entry, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// Another overview, if two journals with different ones were merged. Writing a new overview settles it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<OverviewConflict>,
}

/// An entry as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadEntry {
    /// Its name.
    pub id: String,
    /// Its time, RFC 3339.
    pub timestamp: String,
    /// The name of its author.
    pub author: String,
    /// A line about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The kind of work that led to it.
    pub work_context: String,
    /// The text.
    pub content: String,
    /// The session that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// An entry to write.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The text.
    pub text: String,
    /// The new understanding; it stays as it is without.
    pub overview: Option<String>,
    /// A line about it.
    pub summary: Option<String>,
    /// The kind of work; without, the text's own `work_context:` line, else the section.
    pub work_context: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The task.
    pub task: Option<String>,
}

/// A written entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Its name.
    pub id: String,
    /// The version of the section now.
    pub version: Version,
    /// The number of entries now.
    pub entry_count: u64,
    /// Whether a secret was removed.
    pub redacted: bool,
}

impl Journal {
    /// The journal of a repository. The lock of its writers and what is derived from it are in the directory `state`.
    #[must_use]
    pub fn new(git_dir: &Path, state: &Path, author: (String, String), clock: Clock) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            state: state.to_owned(),
            author,
            clock,
            log: Mutex::default(),
            search: Mutex::default(),
        }
    }

    fn chain(&self) -> Result<CommitChain, ChainError> {
        CommitChain::open(&self.git_dir, REFERENCE)
    }

    /// The log up to the newest commit.
    fn log(&self, chain: &CommitChain) -> Result<Arc<Log>, ChainError> {
        let tip = chain.tip()?;
        let mut kept = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.take().unwrap_or_else(|| Arc::new(self.restored()));
        let log = match before.tip == tip {
            true => before,
            false => {
                let log = Arc::new(before.extended(chain, tip)?);
                if log.entries.len().abs_diff(before.entries.len()) >= READ_FOR_IMAGE {
                    self.save(&log);
                }
                log
            }
        };
        *kept = Some(Arc::clone(&log));
        Ok(log)
    }

    fn restored(&self) -> Log {
        let stored = image::read(&IMAGE, &self.state, &self.git_dir).ok().flatten();
        stored.unwrap_or_default()
    }

    fn save(&self, log: &Log) {
        // Without an image, the next process reads all commits.
        if private_file::dir(&self.state).is_ok() {
            image::write(&IMAGE, &self.state, &self.git_dir, log).ok();
        }
    }

    /// Reads a section. One that does not exist yet is empty, and its version is [`Version::New`].
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn section(&self, section: &PagePath) -> Result<ReadSection, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let (file, version) = section_at(&chain, log.tip, section)?;
        Ok(ReadSection {
            id: section.clone(),
            overview: file.overview,
            version,
            entry_count: file.count,
            last_updated: log.of(section).next().map(|entry| timestamp(entry.seconds)),
            conflict: conflict::of(&chain, log.tip, section)?,
        })
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// [`JournalError::NoEntry`] and others.
    pub fn entry(&self, name: &EntryRef) -> Result<ReadEntry, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let digits = name.commit.as_deref().unwrap_or_default();
        let found = log.of(&name.section).filter(|entry| entry.is_named(digits));
        let found: Vec<&LogEntry> = found.collect();
        let [entry] = found[..] else {
            return Err(match found.is_empty() {
                true => JournalError::NoEntry(name.to_string()),
                false => JournalError::Ambiguous {
                    id: name.to_string(),
                    candidates: found
                        .iter()
                        .map(|entry| format!("{}#{}", entry.section, entry.commit))
                        .collect(),
                },
            });
        };
        let commit = chain.commit(entry.commit)?;
        let parsed = Entry::parse(&commit.message).ok_or_else(|| JournalError::NoEntry(name.to_string()))?;
        Ok(ReadEntry {
            id: entry.name(),
            timestamp: timestamp(entry.seconds),
            author: commit.author.name,
            summary: parsed.summary,
            work_context: parsed.work_context,
            content: parsed.text,
            session: parsed.session,
        })
    }

    /// The entries of a section, the newest first, from `start` on.
    ///
    /// # Errors
    /// [`JournalError::NoSection`] and others.
    pub fn entries(&self, section: &PagePath, start: usize, length: usize) -> Result<Vec<ListedEntry>, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        if log.of(section).next().is_none() {
            return Err(JournalError::NoSection(section.clone()));
        }
        Ok(log.of(section).skip(start).take(length).map(LogEntry::listed).collect())
    }

    /// The table of contents: the sections at the top, or one section, with `depth` levels.
    ///
    /// # Errors
    /// [`JournalError::NoSection`] and others.
    pub fn toc(&self, from: Option<&PagePath>, depth: usize) -> Result<Vec<TocNode>, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let files = log.tip.map(|tip| chain.files(tip)).transpose()?.unwrap_or_default();
        let sections: Vec<PagePath> = files.iter().filter_map(|(file, _)| PagePath::of_file(file)).collect();
        let counts = log.counts();
        match from {
            None => Ok(below("", &sections, &counts, depth)),
            Some(from) => match node(from.as_str(), &sections, &counts, depth) {
                Some(node) => Ok(vec![node]),
                None => Err(JournalError::NoSection(from.clone())),
            },
        }
    }

    /// The entries that match best in their context and their content. An old entry needs a better match. Without a
    /// `threshold`, that of the settings holds.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn search(
        &self,
        work_context: &str,
        content: &str,
        threshold: Option<f32>,
        settings: &SearchSettings,
    ) -> Result<Vec<FoundEntry>, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let Search {
            index: kept,
            vectors,
            saved,
        } = &mut *search;
        let vectors = match vectors {
            Some(vectors) => vectors,
            None => vectors.insert(StaticVectors::shipped()?),
        };
        let before = kept.take().unwrap_or_else(|| {
            let stored = image::read(&SEARCH_IMAGE, &self.state, &self.git_dir).ok().flatten();
            stored.unwrap_or_default()
        });
        let index = before.extended(&chain, &log, vectors)?;
        let (now, threshold) = (
            self.clock.now().as_second(),
            threshold.unwrap_or(settings.default_salience_threshold),
        );
        let is_wanted = |at: usize, score: f32| {
            let age = log.entries.get(at).map(|entry| age_days(now, entry));
            score > 0.0 && age.is_some_and(|age| score >= required(age, threshold, settings))
        };
        let best = index.best((work_context, content), vectors, settings, is_wanted);
        if index.len().abs_diff(*saved) >= READ_FOR_IMAGE {
            *saved = index.len();
            // Without an image, the next process reads all entries.
            if private_file::dir(&self.state).is_ok() {
                image::write(&SEARCH_IMAGE, &self.state, &self.git_dir, &index).ok();
            }
        }
        *kept = Some(index);
        let mut found = Vec::new();
        for (at, scores) in best {
            let Some(entry) = log.entries.get(at) else { continue };
            let text = Entry::parse(&chain.commit(entry.commit)?.message).map(|entry| entry.text);
            found.push(search::found(entry, text.unwrap_or_default(), scores));
        }
        Ok(found)
    }

    /// Writes an entry. The section must be as the writer has `seen` it; other sections may change meanwhile.
    ///
    /// # Errors
    /// [`JournalError`]; nothing is written then.
    pub fn write(&self, section: &PagePath, draft: &Draft, seen: Option<Version>) -> Result<Written, JournalError> {
        let (entry, overview, redacted) = self.checked(section, draft)?;
        let seen = seen.ok_or_else(|| JournalError::NotRead(section.clone()))?;
        let _lock = self.lock()?;
        loop {
            let chain = self.chain()?;
            let tip = chain.tip()?;
            let (mut file, version) = section_at(&chain, tip, section)?;
            if version != seen {
                return Err(self.changed(&chain, section, seen, version)?);
            }
            if version == Version::New {
                refuse_case(&chain, tip, section)?;
            }
            file.count += 1;
            if let Some(overview) = &overview {
                file.overview.clone_from(overview);
            }
            let (text, now) = (file.render(), self.clock.now().as_second());
            let (path, beside) = (section.file(), conflict::file(section));
            let mut files = vec![(&*path, Some(&*text))];
            // A new overview settles a conflict, which its writer has read.
            if overview.is_some() && conflict::of(&chain, tip, section)?.is_some() {
                files.push((&*beside, None));
            }
            let signature = |(name, email): (&str, &str)| Signature {
                name: name.to_owned(),
                email: email.to_owned(),
                seconds: now,
                offset: 0,
            };
            let author = signature((&self.author.0, &self.author.1));
            let commit = chain.write(tip, &files, (&author, &signature(COMMITTER)), &entry.message())?;
            // A program that is not Muninn can have moved the ref.
            if chain.advance(tip, commit)? {
                let named = LogEntry {
                    commit,
                    section: section.clone(),
                    seconds: now,
                    headline: String::new(),
                    was: Vec::new(),
                };
                let (_, version) = section_at(&chain, Some(commit), section)?;
                return Ok(Written {
                    id: named.name(),
                    version,
                    entry_count: file.count,
                    redacted,
                });
            }
        }
    }

    /// Takes in the entries of another chain of commits, such as that of a remote: those that only this journal has are put
    /// on top of it. If both changed an overview, both are kept.
    ///
    /// # Errors
    /// [`JournalError`]; the journal stays as it is then.
    pub fn merge(&self, other: ObjectId) -> Result<Merged, JournalError> {
        let _lock = self.lock()?;
        loop {
            let chain = self.chain()?;
            let tip = chain.tip()?;
            let merged = merge::onto(&chain, tip, other)?;
            if Some(merged.tip) == tip || chain.advance(tip, merged.tip)? {
                return Ok(merged);
            }
        }
    }

    /// The newest commit; `None` if the journal is empty.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn tip(&self) -> Result<Option<ObjectId>, JournalError> {
        Ok(self.chain()?.tip()?)
    }

    /// Whether a commit is in the journal.
    #[must_use]
    pub fn has(&self, commit: ObjectId) -> bool {
        let found = || -> Result<bool, ChainError> {
            let chain = self.chain()?;
            let commits = chain.back_to(chain.tip()?, None)?;
            Ok(commits.iter().any(|found| found.id == commit))
        };
        found().unwrap_or(false)
    }

    /// The repository of the journal.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The entry and the overview without secrets, and whether there were any.
    fn checked(&self, section: &PagePath, draft: &Draft) -> Result<(Entry, Option<String>, bool), JournalError> {
        let texts = [("entry", Some(&draft.text)), ("overview", draft.overview.as_ref())];
        let others = [
            ("summary", draft.summary.as_ref()),
            ("work context", draft.work_context.as_ref()),
        ];
        for (what, text) in texts.into_iter().chain(others) {
            let text = text.map_or("", String::as_str);
            if text.len() > MOST_BYTES {
                let bytes = text.len();
                return Err(JournalError::TooLong { what, bytes });
            }
            if text.contains('\0') {
                return Err(JournalError::Nul { what });
            }
        }
        if draft.text.trim().is_empty() {
            return Err(JournalError::Empty);
        }
        let mut redacted = false;
        let mut clean = |text: &str| {
            let clean = redact(text).into_owned();
            redacted |= clean != text;
            clean
        };
        let text = clean(&draft.text);
        let own = || own_context(&text).map(str::to_owned);
        let context = draft.work_context.clone().filter(|context| !context.trim().is_empty());
        let context = context.or_else(own).unwrap_or_else(|| section.to_string());
        let entry = Entry {
            section: section.clone(),
            summary: draft.summary.as_deref().map(&mut clean),
            work_context: clean(&context),
            session: draft.session.clone(),
            agent: draft.agent.clone(),
            task: draft.task.clone(),
            was: Vec::new(),
            text,
        };
        let overview = draft.overview.as_deref().map(&mut clean);
        Ok((entry, overview, redacted))
    }

    /// The error that names the entries since a version.
    fn changed(
        &self,
        chain: &CommitChain,
        section: &PagePath,
        seen: Version,
        version: Version,
    ) -> Result<JournalError, JournalError> {
        let log = self.log(chain)?;
        let mut entries = Vec::new();
        for entry in log.of(section).take(MOST_NAMED) {
            let (_, then) = section_at(chain, Some(entry.commit), section)?;
            if then == seen {
                break;
            }
            entries.push(entry.listed());
        }
        Ok(JournalError::Changed {
            section: section.clone(),
            version,
            entries,
        })
    }

    /// Waits for other writers. The lock of the ref that a killed one left is removed.
    fn lock(&self) -> Result<fs::File, JournalError> {
        let path = self.state.join("journal.lock");
        let lock = private_file::dir(&self.state).and_then(|()| private_file::lock(&path));
        let lock = lock.map_err(|source| JournalError::State { path, source })?;
        let left = self.git_dir.join(format!("{REFERENCE}.lock"));
        let age = left.metadata().and_then(|metadata| metadata.modified());
        let age = age.map(|modified| std::time::SystemTime::from(self.clock.now()).duration_since(modified));
        if age.is_ok_and(|age| age.is_ok_and(|age| age > LOCK_ABANDONED)) {
            // If it stays, moving the ref names it.
            fs::remove_file(&left).ok();
        }
        Ok(lock)
    }
}

/// A section's file at a commit, and its version.
pub(super) fn section_at(
    chain: &CommitChain,
    commit: Option<ObjectId>,
    section: &PagePath,
) -> Result<(SectionFile, Version), JournalError> {
    let file = match commit {
        Some(commit) => chain.file(commit, &section.file())?,
        None => None,
    };
    Ok(match file {
        Some(file) => (SectionFile::parse(&file.text), Version::File(file.id)),
        None => (SectionFile::default(), Version::New),
    })
}

/// Refuses a section that a file system without case would take for another one.
fn refuse_case(chain: &CommitChain, tip: Option<ObjectId>, section: &PagePath) -> Result<(), JournalError> {
    let Some(tip) = tip else { return Ok(()) };
    let parts: Vec<&str> = section.as_str().split('/').collect();
    for (file, _) in chain.files(tip)? {
        let Some(other) = PagePath::of_file(&file) else {
            continue;
        };
        for (part, there) in parts.iter().zip(other.as_str().split('/')) {
            let same = PagePath::new(part).ok().map(|part| part.folded())
                == PagePath::new(there).ok().map(|there| there.folded());
            match (*part == there, same) {
                (true, _) => {}
                (false, true) => return Err(JournalError::Case(other.to_string())),
                (false, false) => break,
            }
        }
    }
    Ok(())
}
