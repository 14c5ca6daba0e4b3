//! The entries of a journal in the order of their commits, read once and then extended by new commits.

use std::collections::HashMap;

use muninn_repo_tools::{ChainCommit, ChainError, CommitChain, ObjectId};
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use crate::wiki::PagePath;

/// The digits of a commit in an entry's name. Among a million entries two agree with a probability of 1 in 500.
const DIGITS: usize = 12;

/// The entries up to a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Log {
    pub(super) tip: Option<ObjectId>,
    /// The oldest first.
    pub(super) entries: Vec<LogEntry>,
}

/// An entry without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogEntry {
    pub(super) commit: ObjectId,
    pub(super) section: PagePath,
    /// Seconds since 1970.
    pub(super) seconds: i64,
    pub(super) headline: String,
    /// The commits that it was before merges.
    pub(super) was: Vec<ObjectId>,
}

/// An entry in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedEntry {
    /// Its name, `path#hash`.
    pub id: String,
    /// Its time, RFC 3339.
    pub timestamp: String,
    /// Its summary, or the first line of its text.
    pub summary: String,
}

impl Log {
    /// The log up to another commit. Only commits after this log's last one are read; if that one is not among the
    /// ancestors of the new commit, because the ref was replaced, all are.
    pub(super) fn extended(self, chain: &CommitChain, tip: Option<ObjectId>) -> Result<Log, ChainError> {
        let commits = chain.back_to(tip, self.tip)?;
        let is_continued = match commits.last() {
            Some(first) => first.parent == self.tip,
            None => tip == self.tip,
        };
        let mut entries = match is_continued {
            true => self.entries,
            false => Vec::new(),
        };
        entries.extend(commits.iter().rev().filter_map(LogEntry::of));
        Ok(Log { tip, entries })
    }

    /// The entries of a section, the newest first.
    pub(super) fn of<'l>(&'l self, section: &'l PagePath) -> impl Iterator<Item = &'l LogEntry> {
        self.entries.iter().rev().filter(move |entry| entry.section == *section)
    }

    /// The number of entries and the time of the last one, by section.
    pub(super) fn counts(&self) -> HashMap<&str, (u64, i64)> {
        let mut counts: HashMap<&str, (u64, i64)> = HashMap::new();
        for entry in &self.entries {
            let (count, last) = counts.entry(entry.section.as_str()).or_default();
            (*count, *last) = (*count + 1, entry.seconds);
        }
        counts
    }
}

impl LogEntry {
    /// The entry of a commit; `None` for a commit of other means.
    pub(super) fn of(commit: &ChainCommit) -> Option<LogEntry> {
        let entry = Entry::parse(&commit.message)?;
        Some(LogEntry {
            commit: commit.id,
            headline: entry.headline(),
            seconds: commit.author.seconds,
            was: entry.was.iter().filter_map(|was| ObjectId::from_hex(was)).collect(),
            section: entry.section,
        })
    }

    /// Whether the entry's commit, or one that it was before, begins with these digits.
    pub(super) fn is_named(&self, digits: &str) -> bool {
        let mut commits = std::iter::once(&self.commit).chain(&self.was);
        commits.any(|commit| commit.to_string().starts_with(digits))
    }

    /// The name of the entry.
    pub(super) fn name(&self) -> String {
        let digits: String = self.commit.to_string().chars().take(DIGITS).collect();
        format!("{}#{digits}", self.section)
    }

    pub(super) fn listed(&self) -> ListedEntry {
        ListedEntry {
            id: self.name(),
            timestamp: timestamp(self.seconds),
            summary: self.headline.clone(),
        }
    }
}

/// A time as RFC 3339.
pub(super) fn timestamp(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
