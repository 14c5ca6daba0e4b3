//! Remembering and forgetting facts.

use muninn_repo_tools::Worktree;
use muninn_team::citations::{Citation, Place};
use muninn_team::knowledge::metis::current_task;
use muninn_team::learn::LearnContext;
use muninn_team::memories::MOST_ANSWERS;
use muninn_team::records::{Body, Origin, Record, Source, kinds};
use muninn_text::redact;
use serde_json::Number;

use super::{MemoryError, WritableMemory};

/// The session of facts that people enter.
pub(super) const BY_HAND: &str = "by hand";
/// The session of statements that came with a file.
const QUOTED: &str = "quoted";

/// The longest text of a fact with its questions, in bytes. Every prompt pays for a recalled fact; longer texts belong in knowledge pages.
const MAX_TEXT_BYTES: usize = 2 << 10;

/// A fact that a person or an agent states.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The text. With the reason and the questions it has at most 2 KiB.
    pub text: String,
    /// Questions that it answers, five at most, in words in which they may be asked.
    pub answers: Vec<String>,
    pub kind: FactKind,
    /// The places that it is about, from the worktree's root: `src/a.rs`, or lines as `src/a.rs:10-20`.
    pub cites: Vec<String>,
    /// Why it is so.
    pub reason: Option<String>,
    /// The task that it was learned in; `None` for the active Metis task.
    pub task: Option<String>,
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// The session that it belongs to; `None` for a fact that a person enters.
    pub session: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    /// A true statement.
    Learning,
    /// Files or names that belong together.
    Pattern,
    /// An attempt that did not work.
    Failure,
}

/// A remembered fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The record's id.
    pub id: String,
    /// Whether a secret was redacted from the text.
    pub redacted: bool,
}

impl WritableMemory<'_> {
    /// Keeps a fact and flushes it to a segment.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing is kept then, except where [`MemoryError::Spool`] comes from the flush.
    pub fn remember(&self, fact: &Fact) -> Result<Kept, MemoryError> {
        let text = fact.text.trim();
        if text.is_empty() {
            return Err(MemoryError::Empty);
        }
        let reason = fact.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let (answers, is_question_redacted) = questions(&fact.answers, text.len() + reason.map_or(0, str::len))?;
        let cites: Vec<Citation> = fact.cites.iter().map(|place| self.cite(place)).collect::<Result<_, _>>()?;
        let redacted = redact(text).into_owned();
        let because = reason.map(|reason| redact(reason).into_owned());
        let is_redacted = redacted != text || is_question_redacted || because.as_deref() != reason;
        let task = fact.task.clone().or_else(|| current_task(self.store.home().worktree()?));
        let body = self.body(fact, redacted, &cites);
        let id = self.keep(fact.session.as_deref().unwrap_or(BY_HAND), body, |origin| Origin {
            task: task.map(|task| redact(&task).into_owned()),
            sources: cites.into_iter().map(Source::from).collect(),
            reason: because,
            answers,
            ..origin
        })?;
        self.flush()?;
        Ok(Kept { id, redacted: is_redacted })
    }

    /// Adds questions to a record that answers them, given any unambiguous part of its id, and flushes them to a segment.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing is kept then, except where [`MemoryError::Spool`] comes from the flush.
    pub fn add_questions(&self, part: &str, added: &[String], session: Option<&str>) -> Result<Kept, MemoryError> {
        let (answers, redacted) = questions(added, 0)?;
        if answers.is_empty() {
            return Err(MemoryError::Empty);
        }
        let of = self.id_of(part)?;
        let author = self.author();
        let body = Body::Questions(kinds::Questions { of: of.clone(), author });
        self.keep(session.unwrap_or(BY_HAND), body, |origin| Origin { task: None, answers, ..origin })?;
        self.flush()?;
        Ok(Kept { id: of, redacted })
    }

    /// Keeps a statement that `author` wrote into a file of the worktree. It is written to the state directory whatever the
    /// destination of memory is: a clone must not make its user publish what it says. A text that is too long is left out.
    pub fn quote(&self, text: &str, author: &str, confidence: f64) -> Result<(), MemoryError> {
        if text.len() > MAX_TEXT_BYTES {
            return Ok(());
        }
        let body = Body::Learning(kinds::Learning {
            text: redact(text).into_owned(),
            subject: None,
            confidence: Number::from_f64(confidence),
            author: Some(redact(author).into_owned()),
        });
        let place = LearnContext {
            home: self.store.home(),
            clock: self.store.clock(),
            origin: Origin { session: Some(QUOTED.to_owned()), ..self.store.home().origin()? },
            with_text: true,
        };
        Ok(self.store.keep_locally(&[place.record(body, &[])])?)
    }

    /// Appends a tombstone for a record, given any unambiguous part of its id. Returns the whole id.
    pub fn forget(&self, part: &str) -> Result<String, MemoryError> {
        let id = self.id_of(part)?;
        let tombstone = Body::Tombstone(kinds::Tombstone { forget: id.clone() });
        self.keep(BY_HAND, tombstone, |origin| Origin { task: None, ..origin })?;
        self.flush()?;
        Ok(id)
    }

    fn body(&self, fact: &Fact, text: String, cites: &[Citation]) -> Body {
        let confidence = Number::from_f64(fact.confidence);
        let author = self.author();
        match fact.kind {
            FactKind::Learning => Body::Learning(kinds::Learning { text, subject: None, confidence, author }),
            FactKind::Pattern => Body::Pattern(kinds::Pattern {
                pattern: text,
                entities: cites.iter().map(|cited| cited.path.to_string()).collect(),
                confidence,
                author,
            }),
            FactKind::Failure => {
                Body::Failure(kinds::Failure { attempt: text, count: None, outcome: String::new(), confidence, author })
            }
        }
    }

    pub(super) fn author(&self) -> Option<String> {
        let author = self.store.home().worktree().and_then(Worktree::author)?;
        Some(redact(&author).into_owned())
    }

    /// Keeps a record of a session, with its origin as `completed`, and returns its id.
    pub(super) fn keep(
        &self,
        session: &str,
        body: Body,
        completed: impl FnOnce(Origin) -> Origin,
    ) -> Result<String, MemoryError> {
        let mut id = String::new();
        self.store.keep(session, None, |origin| {
            let record = Record::new(body, Origin { stated: true, ..completed(origin) }, self.store.clock());
            id.clone_from(&record.id);
            vec![record]
        })?;
        Ok(id)
    }

    /// A place of the worktree with its current content.
    fn cite(&self, written: &str) -> Result<Citation, MemoryError> {
        let place = Place::parse(written)?;
        let Some(worktree) = self.store.home().worktree() else {
            return Err(MemoryError::NoFiles(written.to_owned()));
        };
        Ok(Citation::of(worktree, place)?)
    }
}

/// Questions as they are written, and whether a secret was redacted from one. `bytes`: those of the text that they belong to.
fn questions(given: &[String], bytes: usize) -> Result<(Vec<String>, bool), MemoryError> {
    if given.len() > MOST_ANSWERS {
        return Err(MemoryError::TooManyAnswers { most: MOST_ANSWERS });
    }
    let bytes = bytes + given.iter().map(String::len).sum::<usize>();
    if bytes > MAX_TEXT_BYTES {
        return Err(MemoryError::TooLong { bytes, most: MAX_TEXT_BYTES });
    }
    let given: Vec<&str> = given.iter().map(|question| question.trim()).filter(|one| !one.is_empty()).collect();
    let kept: Vec<String> = given.iter().map(|question| redact(question).into_owned()).collect();
    let is_redacted = kept != given;
    Ok((kept, is_redacted))
}
