//! Learning from an agent's actions, without a model.
//!
//! Between two human turns, an agent reads files, edits files, and names files in its answer. These files are relevant
//! to the question; edited files are the most relevant. Records contain paths, hashes, and only those words of the
//! question that occur in the repository, so nothing new reaches git. If the user allows text, sentences that state a
//! decision are recorded too ([`decisions`]).

pub mod budget;
pub mod decisions;
pub mod summarize;

use std::collections::BTreeSet;

use muninn_base::{Clock, RelPath};
use muninn_repo_tools::{Worktree, read_text};
use muninn_text::redact::redact;

use serde_json::Number;

use self::decisions::Decision;
use crate::records::{Body, Home, Origin, Record, Source, kinds};

/// Relevance of a file that the agent edited, named in its answer, or read.
const EDITED: f64 = 0.95;
const CITED: f64 = 0.8;
const READ: f64 = 0.5;
/// Maximum number of files of a kind per turn. An agent that reads more was searching.
const MAX_FILES: usize = 16;
/// Number of files edited in one turn that form a pattern. More files are a sweep over the tree.
const TOGETHER: std::ops::RangeInclusive<usize> = 2..=6;
/// Confidence of a pattern from one turn.
const ONE_SESSION: f64 = 0.5;
/// Maximum confidence of a learning that no person recorded.
const MOST_CONFIDENCE: f64 = 0.5;
/// Minimum count of a failure that is recorded.
const REPEATED: u64 = 2;
/// Larger files get no blob id in a record.
const MAX_SOURCE_BYTES: u64 = 4 << 20;

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

impl Turn {
    /// Returns whether the turn has no actions and no decisions.
    pub fn is_empty(&self) -> bool {
        let has_files = [&self.edited, &self.cited, &self.read].iter().any(|files| !files.is_empty());
        !has_files && self.failures.is_empty() && self.decisions.is_empty()
    }

    /// The records of the turn. A file counts once, with its most relevant use.
    pub fn records(&self, context: &LearnContext<'_>) -> Vec<Record> {
        let mut seen = BTreeSet::new();
        let mut fresh = |paths: &[RelPath]| -> Vec<RelPath> {
            let fresh = paths.iter().filter(|path| seen.insert((*path).clone()));
            fresh.take(MAX_FILES).cloned().collect()
        };
        let kinds = [(EDITED, fresh(&self.edited)), (CITED, fresh(&self.cited)), (READ, fresh(&self.read))];
        let mut records = Vec::new();
        for (relevance, files) in kinds.iter().filter(|(_, files)| !files.is_empty()) {
            records.push(context.record(self.hit(files, *relevance, context.with_text), files));
        }
        let edited = &kinds[0].1;
        if TOGETHER.contains(&edited.len()) {
            let mut entities = names(edited);
            entities.sort();
            let body = Body::Pattern(kinds::Pattern {
                pattern: "edited together".to_owned(),
                entities,
                confidence: Number::from_f64(ONE_SESSION),
                author: None,
            });
            records.push(context.record(body, edited));
        }
        records.extend(self.repeated().into_iter().map(|body| context.record(body, &[])));
        if context.with_text {
            let decided = self.decisions.iter().map(|decision| context.record(decision.body(), &decision.files));
            records.extend(decided);
        }
        records
    }

    fn hit(&self, files: &[RelPath], relevance: f64, with_text: bool) -> Body {
        let question = self.question.split_whitespace().collect::<Vec<_>>().join(" ");
        Body::ContextHit(kinds::ContextHit {
            query_hash: query_hash(&question),
            query: with_text.then(|| redact(&question).into_owned()),
            terms: self.terms.iter().map(|term| redact(term).into_owned()).collect(),
            files: names(files),
            relevance: Number::from_f64(relevance),
        })
    }

    /// Failures that occurred more than once.
    fn repeated(&self) -> Vec<Body> {
        let mut counted: Vec<(&Failure, u64)> = Vec::new();
        for failure in &self.failures {
            match counted.iter_mut().find(|(seen, _)| *seen == failure) {
                Some((_, count)) => *count += 1,
                None => counted.push((failure, 1)),
            }
        }
        let repeated = counted.into_iter().filter(|(_, count)| *count >= REPEATED);
        repeated
            .map(|(failure, count)| {
                Body::Failure(kinds::Failure {
                    attempt: redact(&failure.attempt).into_owned(),
                    count: Some(count),
                    outcome: redact(&failure.outcome).into_owned(),
                    confidence: None,
                    author: None,
                })
            })
            .collect()
    }
}

/// The summary of a session: the files that its turns edited. `None` if they edited none.
pub fn summary(turns: &[Turn], context: &LearnContext<'_>) -> Option<Record> {
    let touched = touched(turns.iter());
    let body = Body::SessionSummary(kinds::SessionSummary {
        files_touched: names(&touched),
        learnings: Vec::new(),
        author: None,
    });
    (!touched.is_empty()).then(|| context.record(body, &touched))
}

/// The edited files, in order of their first edit, up to the maximum of a summary.
fn touched<'a>(turns: impl Iterator<Item = &'a Turn>) -> Vec<RelPath> {
    let mut touched: Vec<RelPath> = Vec::new();
    for path in turns.flat_map(|turn| &turn.edited) {
        if !touched.contains(path) {
            touched.push(path.clone());
        }
    }
    touched.truncate(4 * MAX_FILES);
    touched
}

/// Hash of a question, independent of case and whitespace.
pub fn query_hash(question: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("muninn question 1");
    for word in question.split_whitespace() {
        hasher.update(word.to_lowercase().as_bytes());
        hasher.update(b" ");
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

fn names(paths: &[RelPath]) -> Vec<String> {
    paths.iter().map(|path| redact(path.as_str()).into_owned()).collect()
}

impl LearnContext<'_> {
    /// Creates a record that cites these files with their current content.
    pub fn record(&self, body: Body, files: &[RelPath]) -> Record {
        let blob = |path: &RelPath| blob(self.home.worktree()?, path);
        let source = |path: &RelPath| Source::new(redact(path.as_str()).into_owned(), blob(path));
        let origin = Origin { sources: files.iter().map(source).collect(), ..self.origin.clone() };
        Record::new(body, origin, self.clock)
    }
}

/// The blob id of a file's current content.
fn blob(worktree: &Worktree, path: &RelPath) -> Option<String> {
    let file = read_text(worktree, path, MAX_SOURCE_BYTES).ok()?;
    Some(file.blob.to_string())
}
