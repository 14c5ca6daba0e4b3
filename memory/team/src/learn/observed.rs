use std::collections::BTreeSet;

use muninn_base::RelPath;
use muninn_repo_tools::{Worktree, read_text};
use muninn_text::redact::redact;
use serde_json::Number;

use super::decisions::{Decision, Speaker};
use super::limits::MAX_FILES;
use super::notes::ShownNote;
use super::turn::{Failure, LearnContext, Turn, names, touched};
use crate::records::{Body, Origin, Record, Source, kinds};

/// Relevance of a file that the agent edited, named in its answer, or read.
const EDITED: f64 = 0.95;

const CITED: f64 = 0.8;

const READ: f64 = 0.5;

/// Number of files edited in one turn that form a pattern. More files are a sweep over the tree.
const TOGETHER: std::ops::RangeInclusive<usize> = 2..=6;

/// Confidence of a pattern from one turn.
const ONE_SESSION: f64 = 0.5;

/// Maximum number of words of a question that is kept for the decision which answers it. A longer one brings its own material.
const QUESTION_WORDS: usize = 40;

/// Minimum count of a failure that is recorded.
const REPEATED: u64 = 2;

/// Larger files get no blob id in a record.
const MAX_SOURCE_BYTES: u64 = 4 << 20;

impl Turn {
    /// Returns whether the turn has no actions, no decisions and no notes.
    pub fn is_empty(&self) -> bool {
        let has_files = [&self.edited, &self.cited, &self.read].iter().any(|files| !files.is_empty());
        !has_files && self.failures.is_empty() && self.decisions.is_empty() && self.notes.is_empty()
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
        records.extend(self.uses().map(|body| context.record(body, &[])));
        records.extend(self.repeated().into_iter().map(|body| context.record(body, &[])));
        if context.with_text {
            records.extend(self.decisions.iter().map(|decision| self.decided(decision, context)));
        }
        records
    }

    /// The record of a decision. What the agent decided answers the turn's question.
    fn decided(&self, decision: &Decision, context: &LearnContext<'_>) -> Record {
        let mut record = context.record(decision.body(), &decision.files);
        let words: Vec<&str> = self.question.split_whitespace().take(QUESTION_WORDS + 1).collect();
        if decision.speaker == Speaker::Agent && (1..=QUESTION_WORDS).contains(&words.len()) {
            record.origin.answers = vec![redact(&words.join(" ")).into_owned()];
        }
        record
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

    /// What became of the notes in the prompt.
    fn uses(&self) -> Option<Body> {
        let ids = |wanted: &dyn Fn(&ShownNote) -> bool| {
            self.notes.iter().filter(|note| wanted(note)).map(|note| note.id.clone()).collect()
        };
        let of = kinds::Use {
            shown: ids(&|_| true),
            used: ids(&|note| note.used),
            contradicted: ids(&|note| note.contradicted),
        };
        (!self.notes.is_empty()).then_some(Body::Use(of))
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

/// Hash of a question, independent of case and whitespace.
pub fn query_hash(question: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("muninn question 1");
    for word in question.split_whitespace() {
        hasher.update(word.to_lowercase().as_bytes());
        hasher.update(b" ");
    }
    hasher.finalize().to_hex()[..16].to_owned()
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
