use std::time::Duration;

use muninn_base::{RelPath, Until};
use muninn_repo_tools::{FileFilter, FilterError, GrepError};

/// The files that can contain a name.
#[derive(Debug, Clone, Copy, Default)]
pub enum Candidates<'a> {
    /// All files whose text contains the name.
    #[default]
    Grep,
    /// These files, for instance from an index.
    Paths(&'a [RelPath]),
}

/// A question about a name.
#[derive(Debug, Clone)]
pub struct NameQuery<'a> {
    /// The name, alone (`refill`) or with its container (`Bucket::refill`, `Bucket.refill`, `Bucket#refill`).
    pub name: String,
    /// The file in which the name is used. Definitions in this file and definitions that it imports rank first.
    pub from: Option<RelPath>,
    /// The files that can contain the name.
    pub candidates: Candidates<'a>,
    /// The files to search.
    pub filter: FileFilter,
    pub limits: CodeLimits,
}

impl NameQuery<'_> {
    /// Creates a question over the whole worktree with default limits.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            from: None,
            candidates: Candidates::Grep,
            filter: FileFilter::default(),
            limits: CodeLimits::default(),
        }
    }

    /// Splits the name into the last part and the name of its container.
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

/// The limits of a code question.
#[derive(Debug, Clone)]
pub struct CodeLimits {
    /// Maximum number of files to parse.
    pub max_files: usize,
    /// Maximum number of results.
    pub max_results: usize,
    /// Maximum size of a file, in bytes; larger files are skipped.
    pub max_file_bytes: u64,
    /// The deadline.
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

/// Why a code question was refused.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// The name is empty or contains white space.
    #[error("{name:?} is no name")]
    Name {
        /// The name of the question.
        name: String,
    },
    /// A glob is malformed.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The text search for the name failed.
    #[error(transparent)]
    Grep(#[from] GrepError),
}

#[cfg(test)]
mod deadline_tests;

#[cfg(test)]
mod tests;
