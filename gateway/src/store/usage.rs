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

/// The day of UTC.
#[must_use]
pub fn utc_today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Usage that waits to be written, by key and day.
#[derive(Debug, Default)]
pub(super) struct Gathered(HashMap<(String, Date), UsageSum>);

impl Gathered {
    pub(super) fn add(&mut self, key: String, day: Date, sum: &UsageSum) {
        self.0.entry((key, day)).or_default().add(sum);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::tests::limits;
    use crate::store::{SqliteStore, Store};

    #[test]
    fn usage_adds_up_by_key_and_day_and_survives() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = SqliteStore::open(folder.path(), &limits()).unwrap();
        let sum = UsageSum {
            requests: 1,
            input: 10,
            output: 2,
            cached: 8,
        };
        let day = |text: &str| text.parse::<jiff::civil::Date>().unwrap();
        let days = [
            "2026-03-31",
            "2026-03-31",
            "2026-03-02",
            "2026-03-01",
            "2025-12-31",
            "2026-04-01",
        ];
        for written in days {
            store.note_usage("ana", day(written), sum);
        }
        store.flush();
        store.note_usage("ana", day("2026-03-31"), sum);
        store.note_usage("", day("2026-03-30"), sum);
        drop(store);
        let (store, _) = SqliteStore::open(folder.path(), &limits()).unwrap();
        let usage = store.usage(day("2026-03-31")).unwrap();
        let requests: Vec<_> = usage
            .iter()
            .map(|usage| {
                (
                    usage.key.as_str(),
                    usage.today.requests,
                    usage.thirty_days.requests,
                    usage.all.requests,
                )
            })
            .collect();
        assert_eq!(requests, [("", 0, 1, 1), ("ana", 3, 4, 7)]);
        assert_eq!(usage[1].today.cached, 24);
    }

    #[test]
    fn a_database_of_the_first_schema_is_brought_up_to_date() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = SqliteStore::open(folder.path(), &limits()).unwrap();
        drop(store);
        let connection = Connection::open(folder.path().join("state.db")).unwrap();
        connection
            .execute_batch("DROP TABLE key_usage; PRAGMA user_version = 1;")
            .unwrap();
        drop(connection);
        let (store, _) = SqliteStore::open(folder.path(), &limits()).unwrap();
        let today = "2026-01-01".parse().unwrap();
        store.note_usage("ana", today, UsageSum::default());
        store.flush();
        assert_eq!(store.usage(today).unwrap().len(), 1);
    }
}
