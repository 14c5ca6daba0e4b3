//! A model's notes on a conversation, and their records.

use std::collections::BTreeSet;

use muninn_base::RelPath;
use muninn_text::model::answer::{plain, without_fence};
use serde::Deserialize;
use serde_json::Number;
use thiserror::Error;

use super::{AnsweredTurn, prompt};
use crate::learn::{LearnContext, MOST_CONFIDENCE, names, touched};
use crate::records::{Body, Record, kinds};

/// The confidence of a learning for which the model gives none.
const DEFAULT_CONFIDENCE: f64 = 0.3;
/// Maximum number of learnings; more would be a list of everything that was done.
const MOST_LEARNINGS: usize = 5;
/// Maximum lengths, in bytes. Longer texts are dropped.
const LONGEST_SUMMARY: usize = 1_000;
const LONGEST_LEARNING: usize = 400;
const LONGEST_SUBJECT: usize = 100;

/// A model's notes on a conversation, without unusable parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Notes {
    /// The summary; empty if the model gave none, or a long one.
    pub summary: String,
    learnings: Vec<Learning>,
}

#[derive(Debug, Clone, PartialEq)]
struct Learning {
    text: String,
    subject: Option<String>,
    confidence: f64,
}

/// Why an answer is not usable. The error holds no text of the answer.
#[derive(Debug, Error)]
pub enum NotesError {
    /// Not JSON, or JSON of another shape.
    #[error("it is not the JSON that was asked for (line {line}, column {column})")]
    Shape {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
}

/// The expected answer. Other members are ignored.
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
    /// Parses an answer, with or without a code fence around it.
    ///
    /// # Errors
    /// [`NotesError`] if the answer is anything but the requested JSON: no part of an invalid answer is used.
    pub fn read(answer: &str) -> Result<Notes, NotesError> {
        let written: AnswerJson = serde_json::from_str(without_fence(answer))
            .map_err(|error| NotesError::Shape { line: error.line(), column: error.column() })?;
        let instructions = words(prompt::INSTRUCTIONS);
        let mut learnings: Vec<Learning> = Vec::new();
        for learning in written.learnings {
            let text = plain(&learning.text);
            let has_new_words = !words(&text).is_subset(&instructions);
            let is_new = learnings.iter().all(|known| known.text != text);
            if text.len() <= LONGEST_LEARNING && has_new_words && is_new {
                let subject = learning.subject.map(|subject| plain(&subject));
                learnings.push(Learning {
                    text,
                    subject: subject.filter(|subject| !subject.is_empty() && subject.len() <= LONGEST_SUBJECT),
                    confidence: learning.confidence.unwrap_or(DEFAULT_CONFIDENCE).clamp(0.0, MOST_CONFIDENCE),
                });
            }
        }
        learnings.truncate(MOST_LEARNINGS);
        let summary = plain(&written.summary);
        let is_usable = summary.len() <= LONGEST_SUMMARY && !words(&summary).is_subset(&instructions);
        Ok(Notes { summary: if is_usable { summary } else { String::new() }, learnings })
    }

    /// The records of these notes. `model` is the author's name.
    pub fn records(&self, turns: &[AnsweredTurn<'_>], context: &LearnContext<'_>, model: &str) -> Vec<Record> {
        let author = Some(format!("model:{model}"));
        let edited = touched(turns.iter().map(|answered| answered.turn));
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
    /// The conversation's files that the learning names. It becomes stale when one of these changes.
    fn named(&self, turns: &[AnsweredTurn<'_>]) -> Vec<RelPath> {
        let texts = [Some(&self.text), self.subject.as_ref()];
        let no_part = |c: char| !(c.is_alphanumeric() || "/._-+@".contains(c));
        let words: BTreeSet<&str> = texts
            .into_iter()
            .flatten()
            .flat_map(|text| text.split(no_part))
            .map(|word| word.trim_end_matches('.'))
            .collect();
        let files = turns.iter().flat_map(|answered| {
            let turn = answered.turn;
            turn.edited.iter().chain(&turn.cited).chain(&turn.read)
        });
        let named: BTreeSet<&RelPath> = files.filter(|path| words.contains(path.as_str())).collect();
        named.into_iter().cloned().collect()
    }
}

/// The words of a text in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}
