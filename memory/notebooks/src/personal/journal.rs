//! The journal: notes with a time and a topic.

use jiff::tz::TimeZone;
use muninn_text::redact::redact;
use schemars::JsonSchema;
use serde::Serialize;

use super::directory::Personal;
use super::error::PersonalError;
use super::journal_lines::{EntryMetadata, JournalEntry, parse};
use super::paths::JOURNAL;
use super::read_budget::{BadLine, BadLines, ReadBudget, text};
use super::timestamp::timestamp;

/// The most bytes of an entry.
const MOST_CONTENT: usize = 100_000;
/// The most bytes of its topic, source or intent.
const MOST_WORDS: usize = 1_000;
/// The most bad lines that are listed.
const MOST_BAD: usize = 20;

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
        let line = serde_json::to_string(&entry).expect("all keys are strings");
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
