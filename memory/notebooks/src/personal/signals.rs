//! Signals: events that may matter later. They are not searched.

use std::collections::BTreeMap;
use std::fs;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use muninn_text::redact::redact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::directory::Personal;
use super::error::PersonalError;
use super::paths::SIGNALS;
use super::read_budget::{ReadBudget, text};
use super::timestamp::timestamp;

/// The most bytes of a signal.
const MOST_SIGNAL: usize = 64 << 10;
/// The most names in a summary.
const MOST_NAMES: usize = 10;

/// An event, as it is in its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    /// The time, RFC 3339.
    pub timestamp: String,
    /// The kind, such as `search` or `session_start`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<SignalContext>,
    /// Any data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
}

/// The subject of a signal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalContext {
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The words of a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
}

/// What the signals of some days say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SignalSummary {
    /// The number of signals.
    pub signals: usize,
    /// The number of lines that are no signals.
    pub bad_lines: usize,
    /// The first and the last day.
    pub days: Option<(String, String)>,
    /// The number of each kind.
    pub kinds: BTreeMap<String, usize>,
    /// The files that are named most, with their numbers.
    pub files: Vec<(String, usize)>,
    /// The most frequent searches, with their numbers.
    pub queries: Vec<(String, usize)>,
}

impl Personal {
    /// Appends a signal, without secrets. Files of days more than `keep_days` ago are removed with the first one of a day.
    ///
    /// # Errors
    /// [`PersonalError`]; nothing is written then.
    pub fn log_signal(
        &self,
        kind: &str,
        context: Option<SignalContext>,
        raw: Option<Value>,
        keep_days: u32,
    ) -> Result<Signal, PersonalError> {
        let kind = kind.trim();
        if kind.is_empty() {
            return Err(PersonalError::Empty("type"));
        }
        let now = self.clock.now();
        let mut signal = Signal { timestamp: timestamp(now), kind: redact(kind).into_owned(), context, raw };
        if let Some(context) = &mut signal.context {
            let texts = [&mut context.file, &mut context.query, &mut context.trigger];
            for text in texts.into_iter().flatten() {
                *text = redact(text).into_owned();
            }
        }
        if let Some(raw) = &mut signal.raw {
            clean(raw);
        }
        let line = serde_json::to_string(&signal).expect("all keys are strings");
        if line.len() > MOST_SIGNAL {
            return Err(PersonalError::TooLong { name: "raw", bytes: line.len(), most: MOST_SIGNAL });
        }
        let today = now.to_zoned(TimeZone::UTC).date();
        let is_first = !self.path(SIGNALS).join(format!("{today}.jsonl")).exists();
        self.append(SIGNALS, today, &line)?;
        if is_first {
            self.remove_signals(now, keep_days)?;
        }
        Ok(signal)
    }

    /// The newest signals, the newest first, without secrets that another program wrote.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn recent_signals(&self, count: usize) -> Result<Vec<Signal>, PersonalError> {
        self.newest(SIGNALS, count, |line| serde_json::from_str(&redact(line)).ok())
    }

    /// Adds up the signals of the last days.
    ///
    /// # Errors
    /// [`PersonalError`].
    pub fn summarize_signals(&self, days: u32) -> Result<SignalSummary, PersonalError> {
        let first = day_before(self.clock.now(), days);
        let (mut summary, mut budget) = (SignalSummary::default(), ReadBudget::default());
        let (mut files, mut queries) = (BTreeMap::new(), BTreeMap::new());
        'days: for file in self.day_files(SIGNALS)? {
            if file.day <= first {
                continue;
            }
            let day = file.day.to_string();
            let begin = summary.days.map_or_else(|| day.clone(), |(begin, _)| begin);
            summary.days = Some((begin, day));
            for line in text(&file.path)?.lines().filter(|line| !line.trim().is_empty()) {
                if !budget.take(line.as_bytes()) {
                    break 'days;
                }
                let Ok(signal) = serde_json::from_str::<Signal>(line) else {
                    summary.bad_lines += 1;
                    continue;
                };
                summary.signals += 1;
                *summary.kinds.entry(signal.kind).or_default() += 1;
                let context = signal.context.unwrap_or_default();
                for (name, counts) in [(context.file, &mut files), (context.query, &mut queries)] {
                    if let Some(name) = name {
                        *counts.entry(redact(&name).into_owned()).or_default() += 1;
                    }
                }
            }
        }
        (summary.files, summary.queries) = (most_frequent(files), most_frequent(queries));
        Ok(summary)
    }

    fn remove_signals(&self, now: Timestamp, keep_days: u32) -> Result<(), PersonalError> {
        let first = day_before(now, keep_days);
        for file in self.day_files(SIGNALS)?.iter().filter(|file| file.day < first) {
            fs::remove_file(&file.path).map_err(PersonalError::io(&file.path))?;
        }
        Ok(())
    }
}

fn day_before(now: Timestamp, days: u32) -> Date {
    let ago = SignedDuration::from_hours(24 * i64::from(days));
    let then = now.checked_sub(ago).unwrap_or(Timestamp::MIN);
    then.to_zoned(TimeZone::UTC).date()
}

fn most_frequent(counts: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(MOST_NAMES);
    counts
}

/// Removes secrets from all texts.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(members) => members.values_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
