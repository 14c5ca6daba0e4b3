//! Reading a journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_base::clock::Clock;
use muninn_base::image::{DerivedImage, ImageFormat};
use muninn_repo_tools::{ChainError, CommitChain, ObjectId};
use parking_lot::Mutex;
use serde::Serialize;

use super::conflict::{self, OverviewConflict};
use super::entry::{Entry, shown};
use super::error::JournalError;
use super::id::EntryRef;
use super::log::{ListedEntry, Log, LogEntry, timestamp};
use super::search::Search;
use super::section::SectionFile;
use super::toc::{TocNode, contents};
use super::version::Version;
use super::{REFERENCE, claims};
use crate::wiki::PagePath;

const IMAGE: ImageFormat = ImageFormat { prefix: "journal-", magic: b"muninn journal 3\n" };
/// The most entries that an ambiguous name lists.
const MOST_NAMED: usize = 10;
/// The new entries after which an image is written.
pub(super) const READ_FOR_IMAGE: usize = 200;

pub struct Journal {
    /// The `.git` directory, or a bare repository.
    pub(super) git_dir: PathBuf,
    /// The directory of the lock and of the image.
    pub(super) state: PathBuf,
    pub(super) settings: JournalSettings,
    pub(super) clock: Clock,
    log: Mutex<Option<Arc<Log>>>,
    pub(super) search: Mutex<Search>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalSettings {
    /// The name and the address of the author of entries.
    pub author: (String, String),
    /// Whether a write needs that no section has changed since its writer read one.
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadSection {
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

/// The condition of a journal that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// The number of entries that are read.
    pub entries: usize,
    /// Whether older entries are not read, because there are too many.
    pub is_cut: bool,
    /// The number of entries that say to be another one that they are not.
    pub false_claims: usize,
}

impl Journal {
    /// The journal of a repository. The lock of its writers and what is derived from it are in the directory `state`.
    pub fn new(git_dir: &Path, state: &Path, settings: JournalSettings, clock: Clock) -> Self {
        Self {
            git_dir: git_dir.to_owned(),
            state: state.to_owned(),
            settings,
            clock,
            log: Mutex::default(),
            search: Mutex::new(Search::new(git_dir, state)),
        }
    }

    pub(super) fn chain(&self) -> Result<CommitChain, ChainError> {
        CommitChain::open(&self.git_dir, REFERENCE)
    }

    /// The log up to the newest commit.
    pub(super) fn log(&self, chain: &CommitChain) -> Result<Arc<Log>, ChainError> {
        let tip = chain.tip()?;
        let mut kept = self.log.lock();
        let before: Arc<Log> = kept.take().unwrap_or_else(|| Arc::new(self.image().read()));
        let log = if before.tip == tip {
            before
        } else {
            let known = before.entries.len();
            let log = Arc::unwrap_or_clone(before).extended(chain, tip)?;
            if log.entries.len().abs_diff(known) >= READ_FOR_IMAGE {
                self.image().write(&log);
            }
            Arc::new(log)
        };
        *kept = Some(Arc::clone(&log));
        Ok(log)
    }

    /// The image of the log.
    fn image(&self) -> DerivedImage {
        DerivedImage::new(&IMAGE, &self.state, &self.git_dir)
    }

    /// Reads a section. One that does not exist yet is empty, and its version is [`Version::New`].
    pub fn section(&self, section: &PagePath) -> Result<ReadSection, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let (file, version) = section_at(&chain, log.tip, section)?;
        let version = self.version(version, log.tip);
        Ok(ReadSection {
            id: section.clone(),
            overview: file.overview,
            version,
            entry_count: file.count,
            last_updated: log.of(section).next().map(|entry| timestamp(entry.seconds)),
            conflict: conflict::of(&chain, log.tip, section)?,
        })
    }

    /// The version that a writer must have seen.
    pub(super) fn version(&self, section: Version, tip: Option<ObjectId>) -> Version {
        if self.settings.strict { tip.map_or(Version::New, Version::Of) } else { section }
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// [`JournalError::NoEntry`] and others.
    pub fn entry(&self, name: &EntryRef) -> Result<ReadEntry, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let digits = name.commit.as_deref().unwrap_or_default();
        let found = named(&chain, &log, &name.section, digits)?;
        let [entry] = found[..] else {
            return Err(if found.is_empty() {
                JournalError::NoEntry(name.to_string())
            } else {
                JournalError::Ambiguous {
                    id: name.to_string(),
                    candidates: found.iter().map(|entry| format!("{}#{}", entry.section, entry.commit)).collect(),
                }
            });
        };
        let commit = chain.commit(entry.commit)?;
        let parsed = Entry::parse(&commit.message).ok_or_else(|| JournalError::NoEntry(name.to_string()))?;
        Ok(ReadEntry {
            id: entry.name(),
            timestamp: timestamp(entry.seconds),
            author: shown(&commit.author.name),
            summary: parsed.summary.as_deref().map(shown),
            work_context: shown(&parsed.work_context),
            content: parsed.text,
            session: parsed.session.as_deref().map(shown),
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
        let sections = log.tip.map(|tip| sections_at(&chain, tip)).transpose()?.unwrap_or_default();
        let sections: Vec<PagePath> = sections.into_keys().collect();
        let found = contents(&sections, &log.counts(), from, depth);
        match from.filter(|_| found.is_empty()) {
            Some(from) => Err(JournalError::NoSection(from.clone())),
            None => Ok(found),
        }
    }

    /// The newest commit; `None` if the journal is empty.
    pub fn tip(&self) -> Result<Option<ObjectId>, JournalError> {
        Ok(self.chain()?.tip()?)
    }

    /// Whether the journal can be read as a whole, and what of it does not count.
    ///
    /// # Errors
    /// [`JournalError`] if a part that is always read is beyond the limits or damaged.
    pub fn condition(&self) -> Result<Condition, JournalError> {
        let chain = self.chain()?;
        let log = self.log(&chain)?;
        let sections = log.tip.map(|tip| sections_at(&chain, tip)).transpose()?;
        for file in sections.unwrap_or_default().values() {
            chain.file_cost(*file)?;
        }
        Ok(Condition {
            entries: log.entries.len(),
            is_cut: log.is_cut,
            false_claims: claims::count_false(&chain, &log)?,
        })
    }

    /// Whether a commit is in the journal.
    pub fn has(&self, commit: ObjectId) -> bool {
        let found = || -> Result<bool, ChainError> {
            let chain = self.chain()?;
            let mut commits = chain.history(chain.tip()?);
            Ok(commits.any(|found| found.is_ok_and(|found| found.id == commit)))
        };
        found().unwrap_or(false)
    }

    /// The repository of the journal.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }
}

/// The entries of a section that some digits name: those of their commits, or of commits that they were. A commit that is
/// in the section names no other entry.
fn named<'l>(
    chain: &CommitChain,
    log: &'l Log,
    section: &'l PagePath,
    digits: &str,
) -> Result<Vec<&'l LogEntry>, ChainError> {
    let is_named = |id: &ObjectId| id.to_string().starts_with(digits);
    let mut found: Vec<&LogEntry> = log.of(section).filter(|entry| is_named(&entry.commit)).collect();
    let own: Vec<ObjectId> = found.iter().map(|entry| entry.commit).collect();
    for entry in log.of(section).filter(|entry| !own.contains(&entry.commit)) {
        for was in entry.was.iter().filter(|was| is_named(was) && !own.contains(was)) {
            if claims::may_be(chain, entry.commit, *was)? {
                found.push(entry);
                break;
            }
        }
        if found.len() > MOST_NAMED {
            break;
        }
    }
    Ok(found)
}

/// The sections at a commit, with the ids of their files. A file under another spelling of a section's name is none: two files
/// would be one section.
pub(super) fn sections_at(chain: &CommitChain, commit: ObjectId) -> Result<BTreeMap<PagePath, ObjectId>, ChainError> {
    let files = chain.files(commit)?.into_iter();
    Ok(files
        .filter_map(|(file, id)| Some((PagePath::of_file(&file).filter(|section| section.file() == file)?, id)))
        .collect())
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
        Some(file) => (SectionFile::parse(&file.text), Version::Of(file.id)),
        None => (SectionFile::default(), Version::New),
    })
}
