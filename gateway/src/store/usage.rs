//! What each access key used, day by day: tokens that backends counted, kept for good in a row per key and day.

use std::collections::HashMap;

use jiff::ToSpan;
use jiff::civil::Date;
use rusqlite::{Connection, Transaction, params};
use serde::Serialize;

/// Requests and tokens, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct UsageSum {
    /// Requests that were answered by a backend or by the built-in model.
    pub requests: u64,
    /// Tokens of their prompts, cached ones included.
    pub input: u64,
    /// Tokens of the answers.
    pub output: u64,
    /// Tokens of the prompts that backends had in their caches.
    pub cached: u64,
}

impl UsageSum {
    fn add(&mut self, other: &UsageSum) {
        self.requests = self.requests.saturating_add(other.requests);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}

/// What one key used. Days are those of UTC, so that they mean the same wherever a gateway runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyUsage {
    /// The key's name, empty for requests without one.
    pub key: String,
    /// On the day that was asked about.
    pub today: UsageSum,
    /// On that day and the 29 before it.
    pub thirty_days: UsageSum,
    /// Since the store was made.
    pub all: UsageSum,
}

/// Usage that waits to be written, by key and day.
#[derive(Debug, Default)]
pub(super) struct Gathered(HashMap<(String, Date), UsageSum>);

impl Gathered {
    pub(super) fn add(&mut self, key: String, day: Date, sum: &UsageSum) {
        self.0.entry((key, day)).or_default().add(sum);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut upsert = transaction.prepare_cached(
            "INSERT INTO key_usage (key, day, requests, input, output, cached) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (key, day) DO UPDATE SET requests = requests + excluded.requests,
                input = input + excluded.input, output = output + excluded.output, cached = cached + excluded.cached",
        )?;
        for ((key, day), sum) in &self.0 {
            upsert.execute(params![
                key,
                day.to_string(),
                signed(sum.requests),
                signed(sum.input),
                signed(sum.output),
                signed(sum.cached)
            ])?;
        }
        Ok(())
    }
}

/// All keys that were ever used, by name.
pub(super) fn read(connection: &Connection, today: Date) -> rusqlite::Result<Vec<KeyUsage>> {
    let since = today.saturating_sub(29.days());
    let mut select = connection
        .prepare_cached("SELECT key, day, requests, input, output, cached FROM key_usage ORDER BY key, day")?;
    let mut rows = select.query([])?;
    let mut keys: Vec<KeyUsage> = Vec::new();
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        let day: String = row.get(1)?;
        let sum = UsageSum {
            requests: unsigned(row.get(2)?),
            input: unsigned(row.get(3)?),
            output: unsigned(row.get(4)?),
            cached: unsigned(row.get(5)?),
        };
        let usage = match keys.last_mut() {
            Some(last) if last.key == key => last,
            _ => {
                keys.push(KeyUsage {
                    key,
                    today: UsageSum::default(),
                    thirty_days: UsageSum::default(),
                    all: UsageSum::default(),
                });
                let Some(new) = keys.last_mut() else { continue };
                new
            }
        };
        usage.all.add(&sum);
        // A day that cannot be read was not written by us, and still counts among all.
        if let Ok(day) = day.parse::<Date>() {
            if day == today {
                usage.today.add(&sum);
            }
            if (since..=today).contains(&day) {
                usage.thirty_days.add(&sum);
            }
        }
    }
    Ok(keys)
}

/// SQLite's integers are signed; a count beyond them has long stopped to mean anything.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
