use muninn_base::{Clock, RelPath};
use muninn_text::redact::redact;

use super::decisions::Decision;
use super::limits::MAX_FILES;
use super::notes::ShownNote;
use crate::records::{Home, Origin};

/// An agent's actions in one human turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    pub question: String,
    /// Words of the question that occur in the repository.
    pub terms: Vec<String>,
    /// Edited files, in order.
    pub edited: Vec<RelPath>,
    /// Files named in the answer.
    pub cited: Vec<RelPath>,
    /// Files read.
    pub read: Vec<RelPath>,
    /// Failed attempts.
    pub failures: Vec<Failure>,
    /// Decisions that the question or the answer states.
    pub decisions: Vec<Decision>,
    /// The notes that the turn's prompt carried.
    pub notes: Vec<ShownNote>,
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The attempt: a tool or program, and files.
    pub attempt: String,
    /// The outcome: an exit code, and files named in the output.
    pub outcome: String,
}

/// The context in which records are created.
#[derive(Debug, Clone)]
pub struct LearnContext<'a> {
    /// The memory.
    pub home: &'a Home,
    pub clock: &'a Clock,
    /// Session, branch, commit and task of the records.
    pub origin: Origin,
    /// Whether the user allows the question's text to be stored.
    pub with_text: bool,
}

/// The edited files, in order of their first edit, up to the maximum of a summary.
pub(crate) fn touched<'a>(turns: impl Iterator<Item = &'a Turn>) -> Vec<RelPath> {
    let mut touched: Vec<RelPath> = Vec::new();
    for path in turns.flat_map(|turn| &turn.edited) {
        if !touched.contains(path) {
            touched.push(path.clone());
        }
    }
    touched.truncate(4 * MAX_FILES);
    touched
}

pub(crate) fn names(paths: &[RelPath]) -> Vec<String> {
    paths.iter().map(|path| redact(path.as_str()).into_owned()).collect()
}
