use muninn_team::records::{Body, Moment, Record, kinds};
use muninn_text::redact::redact;
use serde::Serialize;

/// An older record that a newer one stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fold {
    /// The id, which `apart` takes.
    pub id: String,
    /// `rules`, or the model's name.
    pub by: String,
    /// Whether the texts are the same but for harmless differences. Models, and the rules of earlier versions, fold other
    /// texts too.
    pub same_statement: bool,
    /// Whether the rules of an earlier version folded it.
    pub earlier: bool,
    /// The older record, which recall returns as superseded.
    pub older: FoldedRecord,
    /// The newer record, which recall returns.
    pub newer: FoldedRecord,
}

/// A side of a fold, redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoldedRecord {
    /// The record's id.
    pub id: String,
    /// The time of writing, RFC 3339.
    pub date: Moment,
    pub text: String,
}

impl FoldedRecord {
    pub(crate) fn of(record: &Record) -> Self {
        let text = match &record.body {
            Body::Learning(kinds::Learning { text, .. }) => text.clone(),
            Body::Pattern(kinds::Pattern { pattern, entities, .. }) => format!("{pattern} ({})", entities.join(", ")),
            Body::Failure(kinds::Failure { attempt, outcome, .. }) => format!("{attempt} {outcome}").trim().to_owned(),
            _ => String::new(),
        };
        Self { id: record.id.clone(), date: record.ts.clone(), text: redact(&text).into_owned() }
    }
}
