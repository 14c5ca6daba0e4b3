//! Learning from what an agent did, without asking a model.
//!
//! Between two turns of a person, an agent reads files, edits some, and names others in its answer. Those are what the
//! question was about, and the edited ones more than those that were only read. What is written down are paths, hashes,
//! and the words of the question that the repository itself contains, so that nothing reaches git that was not in it.

pub mod budget;
pub mod summarize;

use std::collections::BTreeSet;

use muninn_repo_tools::{RelPath, Worktree, read_text};
use serde_json::Number;

use crate::Clock;
use crate::records::{Body, Home, Origin, Record, Source, kinds};
use crate::redact::redact;

/// How relevant a file was that the agent edited, named in its answer, or read.
const EDITED: f64 = 0.95;
const CITED: f64 = 0.8;
const READ: f64 = 0.5;
/// So many files of a kind are written down for a turn. An agent that reads more was searching.
const MAX_FILES: usize = 16;
/// Files edited together belong together if they are few; more are a sweep over the tree.
const TOGETHER: std::ops::RangeInclusive<usize> = 2..=6;
/// What one turn of one session is worth.
const ONE_SESSION: f64 = 0.5;
/// A failure that came this often is noted.
const REPEATED: u64 = 2;
/// Larger files have no blob id in a record.
const MAX_SOURCE_BYTES: u64 = 4 << 20;

/// What an agent did for one turn of a person.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Turn {
    /// What was asked.
    pub question: String,
    /// The question's words that the repository contains.
    pub terms: Vec<String>,
    /// Files that the agent changed, in the order in which it did.
    pub edited: Vec<RelPath>,
    /// Files that its answer names.
    pub cited: Vec<RelPath>,
    /// Files that it read.
    pub read: Vec<RelPath>,
    /// What it tried and failed at, each try once.
    pub failures: Vec<Failure>,
}

/// Something that an agent tried and that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was tried: a tool or a program, and files.
    pub attempt: String,
    /// How it ended: a code, and files that were named.
    pub outcome: String,
}

/// Where and when something is learned.
#[derive(Debug, Clone)]
pub struct LearnContext<'a> {
    /// The memory that is to know it.
    pub home: &'a Home,
    /// Tells the time.
    pub clock: &'a Clock,
    /// The session's id.
    pub session: String,
    /// The task that is worked on.
    pub task: Option<String>,
    /// Whether the question's own words may be kept.
    pub with_text: bool,
}

impl Turn {
    /// Whether there is nothing to learn from it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edited.is_empty() && self.cited.is_empty() && self.read.is_empty() && self.failures.is_empty()
    }

    /// What there is to write down. A file counts once, for the most that was done with it.
    #[must_use]
    pub fn records(&self, context: &LearnContext<'_>) -> Vec<Record> {
        let mut seen = BTreeSet::new();
        let mut fresh = |paths: &[RelPath]| -> Vec<RelPath> {
            let fresh = paths.iter().filter(|path| seen.insert((*path).clone()));
            fresh.take(MAX_FILES).cloned().collect()
        };
        let kinds = [
            (EDITED, fresh(&self.edited)),
            (CITED, fresh(&self.cited)),
            (READ, fresh(&self.read)),
        ];
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

    /// The failures that came more than once.
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

/// What a whole session came to: the files that its turns edited. `None` where it edited none.
#[must_use]
pub fn summary(turns: &[Turn], context: &LearnContext<'_>) -> Option<Record> {
    let touched = touched(turns.iter());
    let body = Body::SessionSummary(kinds::SessionSummary {
        files_touched: names(&touched),
        learnings: Vec::new(),
        author: None,
    });
    (!touched.is_empty()).then(|| context.record(body, &touched))
}

/// The files that turns edited, in the order in which they were first; the most that a summary names.
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

/// By which the same question is known again, whatever blanks it has.
#[must_use]
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
    /// A record that rests on these files as they are now.
    pub fn record(&self, body: Body, files: &[RelPath]) -> Record {
        let blob = |path: &RelPath| blob(self.home.worktree()?, path);
        let source = |path: &RelPath| Source::new(redact(path.as_str()).into_owned(), blob(path));
        let origin = Origin {
            session: Some(self.session.clone()),
            sources: files.iter().map(source).collect(),
            task: self.task.clone(),
            ..self.home.origin()
        };
        Record::new(body, origin, self.clock)
    }
}

/// A file's content now, as git would name it.
fn blob(worktree: &Worktree, path: &RelPath) -> Option<String> {
    let file = read_text(worktree, path, MAX_SOURCE_BYTES).ok()?;
    Some(file.blob.to_string())
}
