use muninn_text::redact::redact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The entry of a line. Secrets that another program wrote are removed.
pub(super) fn parse(line: &str) -> serde_json::Result<JournalEntry> {
    let entry: JournalEntry = serde_json::from_str(line)?;
    Ok(JournalEntry { content: redact(&entry.content).into_owned(), topic: redact(&entry.topic).into_owned(), ..entry })
}

/// A journal entry, as it is in its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JournalEntry {
    /// The time, RFC 3339.
    pub timestamp: String,
    /// The category.
    pub topic: String,
    /// The note.
    pub content: String,
    /// The origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<EntryMetadata>,
}

/// The origin of a journal entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryMetadata {
    /// Where it came from, such as `conversation` or `cron`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What the agent did when it wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}
