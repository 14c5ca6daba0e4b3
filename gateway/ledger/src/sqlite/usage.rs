//! The usage of each key: one row per key and day, never deleted.

use std::collections::HashMap;

use jiff::ToSpan;
use jiff::civil::Date;
use rusqlite::{Connection, Transaction, params};

use super::{KeyUsage, UsageSum};

/// Usage that is not written yet, by key and day.
#[derive(Debug, Default)]
pub(super) struct PendingUsage(HashMap<(String, Date), UsageSum>);

impl PendingUsage {
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

/// The usage of all keys, sorted by name.
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
        // A row whose day cannot be parsed counts in `all` only. Muninn does not write such rows.
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

/// SQLite's integers are signed. Larger counts are clamped.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use muninn_text::model::block_on;

    use super::*;
    use crate::sqlite::store::tests::limits;
    use crate::{SqliteStore, Store};

    #[test]
    fn database_of_the_first_schema_is_upgraded() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), &limits()).unwrap();
        drop(store);
        let connection = Connection::open(folder.path().join("state.db")).unwrap();
        connection.execute_batch("DROP TABLE key_usage; PRAGMA user_version = 1;").unwrap();
        drop(connection);
        let store = SqliteStore::open(folder.path(), &limits()).unwrap();
        let today = "2026-01-01".parse().unwrap();
        store.note_usage("ana", today, UsageSum::default());
        block_on(store.flush());
        assert_eq!(block_on(store.usage(today)).unwrap().len(), 1);
    }
}
