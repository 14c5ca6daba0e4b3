//! What a model said of a conversation, and the records that it is worth.

use std::collections::BTreeSet;

use muninn_repo_tools::RelPath;
use serde::Deserialize;
use serde_json::Number;
use thiserror::Error;

use super::{AnsweredTurn, prompt};
use crate::learn::{LearnContext, names, touched};
use crate::model::answer::{plain, without_fence};
use crate::records::{Body, Record, kinds};

/// What a model guesses from one session is no surer than this, whatever it says; and this sure if it does not say.
const MOST_CONFIDENCE: f64 = 0.5;
const UNSAID: f64 = 0.3;
/// More learnings are a list of everything that was done.
const MOST_LEARNINGS: usize = 5;
/// Longer ones are no notes, in bytes.
const LONGEST_SUMMARY: usize = 1_000;
const LONGEST_LEARNING: usize = 400;
const LONGEST_SUBJECT: usize = 100;

/// What a model said of a conversation, without what is not worth keeping.
#[derive(Debug, Clone, PartialEq)]
pub struct Notes {
    /// What it came to; empty where that was not said in a few words.
    pub summary: String,
    learnings: Vec<Learning>,
}

#[derive(Debug, Clone, PartialEq)]
struct Learning {
    text: String,
    subject: Option<String>,
    confidence: f64,
}

/// Why an answer is not what was asked for. Nothing of the answer is in it, which may be anything.
#[derive(Debug, Error)]
pub enum NotesError {
    /// It is no JSON, or JSON of another shape.
    #[error("it is not the JSON that was asked for (line {line}, column {column})")]
    Shape {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
}

/// The answer as it is to be written. What else is in it is passed over.
#[derive(Deserialize)]
struct AnswerJson {
    summary: String,
    learnings: Vec<LearningJson>,
}

#[derive(Deserialize)]
struct LearningJson {
    text: String,
    subject: Option<String>,
    confidence: Option<f64>,
}

impl Notes {
    /// Reads an answer, with or without a code fence around it.
    ///
    /// # Errors
    /// [`NotesError`] where it is anything but the JSON that was asked for: one that wanders is not to be trusted with parts.
    pub fn read(answer: &str) -> Result<Notes, NotesError> {
        let written: AnswerJson = serde_json::from_str(without_fence(answer)).map_err(|error| NotesError::Shape {
            line: error.line(),
            column: error.column(),
        })?;
        let instructions = words(prompt::INSTRUCTIONS);
        let mut learnings: Vec<Learning> = Vec::new();
        for learning in written.learnings {
            let text = plain(&learning.text);
            let says_something = !words(&text).is_subset(&instructions);
            let is_new = learnings.iter().all(|known| known.text != text);
            if text.len() <= LONGEST_LEARNING && says_something && is_new {
                let subject = learning.subject.map(|subject| plain(&subject));
                learnings.push(Learning {
                    text,
                    subject: subject.filter(|subject| !subject.is_empty() && subject.len() <= LONGEST_SUBJECT),
                    confidence: learning.confidence.unwrap_or(UNSAID).clamp(0.0, MOST_CONFIDENCE),
                });
            }
        }
        learnings.truncate(MOST_LEARNINGS);
        let summary = plain(&written.summary);
        let is_one = summary.len() <= LONGEST_SUMMARY && !words(&summary).is_subset(&instructions);
        Ok(Notes {
            summary: if is_one { summary } else { String::new() },
            learnings,
        })
    }

    /// The records of what was learned from these turns. `model` is the name of who said it.
    #[must_use]
    pub fn records(&self, turns: &[AnsweredTurn<'_>], context: &LearnContext<'_>, model: &str) -> Vec<Record> {
        let author = Some(format!("model:{model}"));
        let edited = touched(turns.iter().map(|told| told.turn));
        let summary = (!self.summary.is_empty()).then(|| {
            let body = Body::SessionSummary(kinds::SessionSummary {
                files_touched: names(&edited),
                learnings: vec![self.summary.clone()],
                author: author.clone(),
            });
            context.record(body, &edited)
        });
        let learnings = self.learnings.iter().map(|learning| {
            let body = Body::Learning(kinds::Learning {
                text: learning.text.clone(),
                subject: learning.subject.clone(),
                confidence: Number::from_f64(learning.confidence),
                author: author.clone(),
            });
            context.record(body, &learning.named(turns))
        });
        summary.into_iter().chain(learnings).collect()
    }
}

impl Learning {
    /// The files of the conversation that it names: it is stale once these have changed, and not when others do.
    fn named(&self, turns: &[AnsweredTurn<'_>]) -> Vec<RelPath> {
        let said = [Some(&self.text), self.subject.as_ref()];
        let no_part = |c: char| !(c.is_alphanumeric() || "/._-+@".contains(c));
        let words: BTreeSet<&str> = said
            .into_iter()
            .flatten()
            .flat_map(|text| text.split(no_part))
            .map(|word| word.trim_end_matches('.'))
            .collect();
        let files = turns.iter().flat_map(|told| {
            let turn = told.turn;
            turn.edited.iter().chain(&turn.cited).chain(&turn.read)
        });
        let named: BTreeSet<&RelPath> = files.filter(|path| words.contains(path.as_str())).collect();
        named.into_iter().cloned().collect()
    }
}

/// The words of a text, in small letters.
fn words(text: &str) -> BTreeSet<String> {
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}
