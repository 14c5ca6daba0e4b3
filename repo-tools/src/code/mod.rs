//! Questions about code by name: what a file holds, where something is defined, who uses it.
//!
//! They run over the files as they are now, without an index: a search for the name picks the files, and only these are
//! parsed. Whoever knows better which files matter (an index) hands over the paths instead, as [`Candidates`].
//! Answers are by name and not by type, so each one carries a confidence and what it rests on.

mod answer;
mod confidence;
mod definition;
mod outline;
mod references;
mod scan;
mod symbols;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use answer::{Basis, Caller, Callers, Definitions, References, ScoredDefinition, Symbol, Usage, UsageKind};
pub use definition::definition;
pub use outline::{Outline, OutlineEntry, OutlineError, outline};
pub use references::{callers, references};
pub use symbols::{NameMatch, SymbolQuery, Symbols, symbols};

use crate::files::{FileFilter, FilterError};
use crate::grep::GrepError;
use crate::path::RelPath;
use crate::until::Until;

/// Which files may hold a name.
#[derive(Debug, Clone, Copy, Default)]
pub enum Candidates<'a> {
    /// All whose text holds it.
    #[default]
    Grep,
    /// These, from somebody who knows.
    Paths(&'a [RelPath]),
}

/// A question by name.
#[derive(Debug, Clone)]
pub struct NameQuery<'a> {
    /// The name, alone (`refill`) or with what it belongs to (`Bucket::refill`, `Bucket.refill`, `Bucket#refill`).
    pub name: String,
    /// The file that the question comes from: what it defines and imports is meant first.
    pub from: Option<RelPath>,
    /// Which files may hold the name.
    pub candidates: Candidates<'a>,
    /// Where to look.
    pub filter: FileFilter,
    /// The bounds.
    pub limits: CodeLimits,
}

impl NameQuery<'_> {
    /// Looks everywhere.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            from: None,
            candidates: Candidates::Grep,
            filter: FileFilter::default(),
            limits: CodeLimits::default(),
        }
    }

    /// The name itself, and the name of what it belongs to.
    pub fn parts(&self) -> (&str, Option<&str>) {
        let name = self.name.trim().trim_end_matches("()");
        match name.rsplit_once("::").or_else(|| name.rsplit_once(['.', '#', '\\'])) {
            Some((before, last)) if !last.is_empty() => {
                let container = before.rsplit(['.', ':', '#', '\\']).next().unwrap_or(before);
                (last, Some(container).filter(|name| !name.is_empty()))
            }
            _ => (name, None),
        }
    }
}

/// The bounds of a question about code.
#[derive(Debug, Clone)]
pub struct CodeLimits {
    /// Files that are parsed.
    pub max_files: usize,
    /// Answers.
    pub max_results: usize,
    /// Larger files are skipped, in bytes.
    pub max_file_bytes: u64,
    /// When to give up.
    pub until: Until,
}

impl Default for CodeLimits {
    fn default() -> Self {
        Self {
            max_files: 2_000,
            max_results: 200,
            max_file_bytes: 1 << 20,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// Why a question could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// No name, or one with white space in it.
    #[error("{name:?} is no name")]
    Name {
        /// What was asked for.
        name: String,
    },
    /// A malformed glob.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The name cannot be searched for.
    #[error(transparent)]
    Grep(#[from] GrepError),
}
