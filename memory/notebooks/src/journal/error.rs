//! Errors of the journal.

use std::path::PathBuf;

use muninn_repo_tools::ChainError;
use muninn_text::embed::LoadError;
use thiserror::Error;

use super::REFERENCE;
use super::id::JournalIdError;
use super::limits::MOST_BYTES;
use super::log::ListedEntry;
use super::version::Version;
use crate::wiki::PagePath;

/// Why a journal cannot be read or written. Nothing is written then.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The name is not valid.
    #[error(transparent)]
    Id(#[from] JournalIdError),
    /// The repository cannot be used.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// There is no such entry.
    #[error("there is no entry {0} in the journal")]
    NoEntry(String),
    /// Several entries have the name.
    #[error("{id} names several entries: {}", candidates.join(", "))]
    Ambiguous {
        /// The name.
        id: String,
        /// Their names.
        candidates: Vec<String>,
    },
    /// There is no such section.
    #[error("there is no section {0}")]
    NoSection(PagePath),
    /// The writer has not read the section.
    #[error("read {0} before you write to it")]
    NotRead(PagePath),
    /// The section was changed since the writer read it.
    #[error("{section} was changed since you read it; its version is {version}; read it again{}", shown(entries))]
    Changed {
        section: PagePath,
        /// The version now.
        version: Version,
        /// The entries since, the newest first.
        entries: Vec<ListedEntry>,
    },
    /// Another section has the name in another case.
    #[error("there is {0}, which differs in case only")]
    Case(String),
    /// The section has one overview.
    #[error("{0} has one overview, so there is nothing to merge")]
    NoConflict(PagePath),
    /// There is no fetch to undo.
    #[error("there is no fetch to undo: none has changed the journal, or each was undone")]
    NoFetch,
    /// Another program has moved the ref since the fetch.
    #[error(
        "{REFERENCE} was moved by another program since the fetch, so the entries that came with it are not known; the \
         journal before it is {before}, which `git update-ref {REFERENCE}` can set"
    )]
    Replaced {
        /// The newest commit before the fetch.
        before: String,
    },
    /// An entry is empty.
    #[error("the entry is empty")]
    Empty,
    /// A text is too long.
    #[error("the {what} has {bytes} bytes, and {MOST_BYTES} are the most")]
    TooLong {
        /// The text.
        what: &'static str,
        bytes: usize,
    },
    /// A text has a NUL byte, which ends a commit message.
    #[error("the {what} has a NUL byte")]
    Nul {
        /// The text.
        what: &'static str,
    },
    /// The word vectors cannot be read.
    #[error(transparent)]
    Vectors(#[from] &'static LoadError),
    /// The lock cannot be made.
    #[error("cannot use {}: {source}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Entries, a line each.
fn shown(entries: &[ListedEntry]) -> String {
    let line = |entry: &ListedEntry| format!("\n- {} {} {}", entry.id, entry.timestamp, entry.summary);
    entries.iter().map(line).collect()
}
