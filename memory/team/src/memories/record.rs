//! Records as memories: their text, redacted.

use muninn_text::redact::redact;
use serde_json::Number;

use super::memory::{Memory, MemoryKind, REASON};
use crate::citations::Citation;
use crate::records::{Body, NoteUse, Record, RecordFile, Source, kinds};

/// Unknown members that can hold text, in the order in which they are shown.
const TEXTS: [&str; 6] = ["text", "pattern", "learnings", "attempt", "outcome", "note"];
/// The prefix of a summary's list of files.
pub const FILES_TOUCHED: &str = "files touched";
/// Maximum number of questions of a record that are searched.
pub const MOST_ANSWERS: usize = 5;
/// Longer subjects are truncated, in bytes.
const LONGEST_NAME: usize = 200;

/// The memory of a record; `None` if the record has no text of its own.
#[expect(clippy::cast_possible_truncation, reason = "a confidence has two digits")]
pub(super) fn memory_of(file: &RecordFile, line: usize, record: &Record) -> Option<Memory> {
    let RecordText { subject, texts, about, confidence, author } = record_text(record);
    let mut text: Vec<String> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
    let listed = about.into_iter().filter(|(_, names)| !names.is_empty());
    text.extend(listed.map(|(name, names)| format!("{name}: {}", names.join(", "))));
    let origin = &record.origin;
    text.extend(origin.reason.iter().map(|reason| format!("{REASON}{reason}")));
    if text.is_empty() {
        return None;
    }
    let kind = match record.body.kind() {
        "" => "record",
        kind => kind,
    };
    let shown = kind.replace('_', " ");
    let mut title = match subject {
        Some(subject) => format!("{shown}: {}", name(&subject)),
        None => shown,
    };
    if let Some(task) = &origin.task {
        title.push_str(&format!(" ({})", name(task)));
    }
    let source = match record.id.as_str() {
        "" => format!("{file}:{line}-{line}"),
        id => id.to_owned(),
    };
    let kept = |text: &Option<String>| text.as_ref().map(|text| redact(name(text)).into_owned());
    let cites =
        origin.sources.iter().filter_map(Source::citation).filter(|citation: &Citation| citation.blob.is_some());
    Some(Memory {
        kind: MemoryKind::Record,
        source: redact(&source).into_owned(),
        path: file.to_string(),
        title: redact(&title).into_owned(),
        text: redact(&text.join("\n")).into_owned(),
        related: String::new(),
        answers: answers(&origin.answers, &[]),
        first_line: 0,
        date: Some(record.ts.clone()).filter(|ts| !ts.is_empty()).map(|ts| redact(&ts).into_owned().into()),
        confidence: confidence
            .and_then(|value| value.as_f64())
            .filter(|value| (0.0..=1.0).contains(value))
            .map(|value| value as f32),
        applies_to: Vec::new(),
        contested: None,
        superseded: None,
        author: kept(&author),
        record_type: Some(redact(kind).into_owned()),
        session: kept(&origin.session),
        branch: kept(&origin.branch),
        task: kept(&origin.task),
        uses: NoteUse::default(),
        cites: cites.collect(),
    })
}

/// The questions of a record and those that were added later, each once, redacted.
pub fn answers(own: &[String], added: &[String]) -> Vec<String> {
    let mut answers: Vec<String> = Vec::new();
    for question in own.iter().chain(added) {
        let question = redact(question).into_owned();
        if answers.len() < MOST_ANSWERS && !answers.contains(&question) {
            answers.push(question);
        }
    }
    answers
}

/// The text of a record and its metadata.
#[derive(Default)]
struct RecordText {
    subject: Option<String>,
    texts: Vec<String>,
    about: Vec<(&'static str, Vec<String>)>,
    confidence: Option<Number>,
    author: Option<String>,
}

fn record_text(record: &Record) -> RecordText {
    let one = |text: &String| vec![text.clone()];
    let mut record_text = match record.body.clone() {
        Body::ContextHit(kinds::ContextHit { terms, files, relevance, .. }) => RecordText {
            about: vec![("terms", terms), ("files", files)],
            confidence: relevance,
            ..RecordText::default()
        },
        Body::Pattern(kinds::Pattern { pattern, entities, confidence, author }) => RecordText {
            texts: one(&pattern),
            subject: Some(pattern),
            about: vec![("entities", entities)],
            confidence,
            author,
        },
        Body::SessionSummary(kinds::SessionSummary { files_touched, learnings, author }) => RecordText {
            texts: learnings,
            author,
            about: vec![(FILES_TOUCHED, files_touched)],
            ..RecordText::default()
        },
        Body::Learning(kinds::Learning { text, subject, confidence, author }) => {
            RecordText { subject, texts: vec![text], confidence, author, ..RecordText::default() }
        }
        Body::Failure(kinds::Failure { attempt, outcome, confidence, author, .. }) => {
            RecordText { texts: vec![attempt, outcome], confidence, author, ..RecordText::default() }
        }
        Body::Supersedes(_) | Body::Other { .. } => {
            RecordText { subject: record.unknown_texts("subject").into_iter().next(), ..RecordText::default() }
        }
        Body::Tombstone(_)
        | Body::Same(_)
        | Body::Distinct(_)
        | Body::Conflict(_)
        | Body::Decision(_)
        | Body::Reconciled(_)
        | Body::Run(_)
        | Body::Compared(_)
        | Body::Use(_)
        | Body::Questions(_) => return RecordText::default(),
    };
    record_text.texts.extend(TEXTS.iter().flat_map(|name| record.unknown_texts(name)));
    record_text
}

/// The first line of a text, truncated.
fn name(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(LONGEST_NAME)]
}
