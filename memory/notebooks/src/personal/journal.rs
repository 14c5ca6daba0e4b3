//! The journal: notes with a time and a topic.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::day_files::{BadLine, BadLines, ReadBudget, text};
use super::directory::{JOURNAL, Personal};
use super::error::PersonalError;
use muninn_text::redact::redact;

/// The most bytes of an entry.
const MOST_CONTENT: usize = 100_000;
/// The most bytes of its topic, source or intent.
const MOST_WORDS: usize = 1_000;
/// The most bad lines that are listed.
const MOST_BAD: usize = 20;

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

/// An entry that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Logged {
    /// The entry.
    pub entry: JournalEntry,
    /// Whether a secret was removed from it.
    pub redacted: bool,
}

impl Personal {
    /// Appends an entry, without secrets, to the file of the day.
    ///
    /// # Errors
    /// [`PersonalError`]; nothing is written then.
    pub fn log(&self, topic: &str, content: &str, metadata: EntryMetadata) -> Result<Logged, PersonalError> {
        let mut redacted = false;
        let mut clean = |name: &'static str, text: &str, most: usize| {
            let text = text.trim();
            if text.is_empty() {
                return Err(PersonalError::Empty(name));
            }
            if text.len() > most {
                let bytes = text.len();
                return Err(PersonalError::TooLong { name, bytes, most });
            }
            let clean = redact(text).into_owned();
            redacted |= clean != text;
            Ok(clean)
        };
        let topic = clean("topic", topic, MOST_WORDS)?;
        let content = clean("content", content, MOST_CONTENT)?;
        let mut optional = |name, text: Option<String>| {
            let text = text.filter(|text| !text.trim().is_empty());
            text.map(|text| clean(name, &text, MOST_WORDS)).transpose()
        };
        let metadata = EntryMetadata {
            source: optional("source", metadata.source)?,
            intent: optional("intent", metadata.intent)?,
        };
        let now = self.clock.now();
        let entry = JournalEntry {
            timestamp: timestamp(now),
            topic,
            content,
            metadata: (metadata != EntryMetadata::default()).then_some(metadata),
        };
        let line = serde_json::to_string(&entry).unwrap_or_default();
        self.append(JOURNAL, now.to_zoned(TimeZone::UTC).date(), &line)?;
        Ok(Logged { entry, redacted })
    }

    /// The newest entries, the newest first; only those about a topic, if one is given. Lines that are no entries are left
    /// out; [`Self::check_journal`] lists them. Entries that lie behind too many lines are not found.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn recent(&self, count: usize, topic: Option<&str>) -> Result<Vec<JournalEntry>, PersonalError> {
        let is_wanted = |entry: &JournalEntry| topic.is_none_or(|topic| entry.topic == topic);
        self.newest(JOURNAL, count, |line| parse(line).ok().filter(is_wanted))
    }

    /// The lines of the journal that are no entries.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn check_journal(&self) -> Result<BadLines, PersonalError> {
        let (mut bad, mut budget) = (BadLines::default(), ReadBudget::default());
        for file in self.day_files(JOURNAL)? {
            for (at, line) in text(&file.path)?.lines().enumerate() {
                if !budget.take(line.as_bytes()) {
                    bad.ended_in = Some(file.name);
                    return Ok(bad);
                }
                let Some(error) = parse(line).err().filter(|_| !line.trim().is_empty()) else {
                    continue;
                };
                bad.count += 1;
                if bad.lines.len() < MOST_BAD {
                    bad.lines.push(BadLine { file: file.name.clone(), line: at + 1, problem: error.to_string() });
                }
            }
        }
        Ok(bad)
    }
}

/// The entry of a line. Secrets that another program wrote are removed.
pub(super) fn parse(line: &str) -> serde_json::Result<JournalEntry> {
    let entry: JournalEntry = serde_json::from_str(line)?;
    Ok(JournalEntry { content: redact(&entry.content).into_owned(), topic: redact(&entry.topic).into_owned(), ..entry })
}

/// A time as JavaScript writes it, with milliseconds.
pub(super) fn timestamp(at: Timestamp) -> String {
    format!("{at:.3}")
}
