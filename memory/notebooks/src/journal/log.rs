//! The entries of a journal in the order of their commits, read once and then extended by new commits.

use std::collections::HashMap;

use muninn_repo_tools::{ChainCommit, ChainError, CommitChain, MAX_COMMITS, ObjectId};
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use crate::wiki::PagePath;

/// The digits of a commit in an entry's name. Among a million entries two agree with a probability of 1 in 500.
const DIGITS: usize = 12;
/// The most bytes of a log in memory: 120,000 usual entries have 24 MiB.
pub(super) const MAX_LOG_BYTES: usize = 64 << 20;

/// The entries up to a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Log {
    pub(super) tip: Option<ObjectId>,
    /// The oldest first.
    pub(super) entries: Vec<LogEntry>,
    /// Whether older entries were left out, because the journal is larger than what is read.
    pub(super) is_cut: bool,
}

/// An entry without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogEntry {
    pub(super) commit: ObjectId,
    pub(super) section: PagePath,
    /// Seconds since 1970.
    pub(super) seconds: i64,
    pub(super) headline: String,
    /// The commits that it says to have been before merges.
    pub(super) was: Vec<ObjectId>,
}

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
    /// ancestors of the new commit, because the ref was replaced, all are. Of a journal that is too large, the newest entries
    /// are read.
    pub(super) fn extended(self, chain: &CommitChain, tip: Option<ObjectId>) -> Result<Log, ChainError> {
        let mut new = Vec::new();
        let (mut bytes, mut is_cut, mut is_continued) = (0, false, self.tip.is_none());
        for commit in chain.history(tip) {
            let commit = match commit {
                Err(ChainError::Limit { .. } | ChainError::TooLarge { .. }) if bytes > 0 => {
                    is_cut = true;
                    break;
                }
                commit => commit?,
            };
            if Some(commit.id) == self.tip {
                is_continued = true;
                break;
            }
            let entry = LogEntry::of(&commit);
            bytes += entry.as_ref().map_or(1, LogEntry::bytes);
            if bytes > MAX_LOG_BYTES {
                is_cut = true;
                break;
            }
            new.extend(entry);
        }
        let mut entries = Vec::new();
        if is_continued && !is_cut {
            entries = self.entries;
            is_cut = self.is_cut;
        }
        entries.extend(new.into_iter().rev());
        let mut left_out = entries.len().saturating_sub(MAX_COMMITS);
        let mut bytes: usize = entries[left_out..].iter().map(LogEntry::bytes).sum();
        while bytes > MAX_LOG_BYTES {
            bytes -= entries[left_out].bytes();
            left_out += 1;
        }
        entries.drain(..left_out);
        Ok(Log { tip, entries, is_cut: is_cut || left_out > 0 })
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
            was: entry.was,
            section: entry.section,
        })
    }

    /// Its size in memory.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.section.as_str().len() + self.headline.len() + size_of_val(&*self.was)
    }

    pub(super) fn name(&self) -> String {
        let digits: String = self.commit.to_string().chars().take(DIGITS).collect();
        format!("{}#{digits}", self.section)
    }

    pub(super) fn listed(&self) -> ListedEntry {
        ListedEntry { id: self.name(), timestamp: timestamp(self.seconds), summary: self.headline.clone() }
    }
}

/// A time as RFC 3339.
pub(super) fn timestamp(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}
