//! Copies the readable rows of a damaged database to a new one.
//!
//! A damaged page loses its rows, and ends every query that reads it. So tables are read in ranges of their integer
//! keys, newest first, and a failing range is halved until the unreadable rows remain. Rows have no checksum, so a
//! damaged row that SQLite accepts is copied as it is.

use std::fmt;
use std::time::Instant;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Row, Transaction, params_from_iter};

/// The number of copied rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Salvaged {
    /// Rows of the ledger.
    pub(super) turns: u64,
    pub(super) receipts: u64,
    /// Whether the deadline passed before all rows were tried.
    pub(super) cut_short: bool,
}

impl fmt::Display for Salvaged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Salvaged { turns, receipts, cut_short } = self;
        write!(out, "{turns} of its turns and {receipts} of its receipts were copied to the new ledger")?;
        if *cut_short { out.write_str("; the copy stopped at its time limit before older rows") } else { Ok(()) }
    }
}

struct Table {
    name: &'static str,
    /// The integer column that orders the rows.
    key: &'static str,
    columns: &'static str,
}

const LEDGER: Table =
    Table { name: "ledger", key: "id", columns: "id, key, session, block, tokens, before, created_ms, used_ms" };
const CONTINUATIONS: Table = Table { name: "continuations", key: "entry", columns: "entry, chain" };
const RECEIPTS: Table = Table { name: "receipts", key: "seq", columns: "seq, id, body" };
/// The assumed highest key of a table whose highest key cannot be read.
const ASSUMED_HIGHEST: i64 = 1 << 24;

/// Number of consecutive ranges without a row after which a table is abandoned: its root page is damaged. A damaged
/// interior page hides about a thousand rows.
const MAX_EMPTY_RANGES: u32 = 8_192;

/// Copies readable rows until the deadline `until`.
///
/// # Errors
/// SQLite's error if the new database cannot be written.
pub(super) fn salvage(from: &Connection, into: &mut Connection, until: Instant) -> rusqlite::Result<Salvaged> {
    // Rows may refer to unreadable rows.
    into.pragma_update(None, "foreign_keys", false)?;
    let transaction = into.transaction()?;
    let mut copy = Copy { from, into: &transaction, until, cut_short: false };
    // First the two small tables, which exist nowhere else.
    copy.all("SELECT key, day, requests, input, output, cached FROM key_usage", "key_usage")?;
    copy.all("SELECT id, seen_ms, retention_ms FROM clock", "clock")?;
    let turns = copy.table(&LEDGER)?;
    copy.table(&CONTINUATIONS)?;
    let receipts = match from.prepare("SELECT seq FROM receipts") {
        Ok(_) => copy.table(&RECEIPTS)?,
        // Before version 3 receipts were ordered by their ids.
        Err(_) => copy.all("SELECT NULL, id, body FROM receipts ORDER BY id", RECEIPTS.name)?,
    };
    let cut_short = copy.cut_short;
    transaction.execute("DELETE FROM continuations WHERE entry NOT IN (SELECT id FROM ledger)", [])?;
    reserve_row_numbers(&transaction, highest(from, &LEDGER))?;
    transaction.commit()?;
    Ok(Salvaged { turns, receipts, cut_short })
}

/// Reserves the ledger's used row numbers, because rows and running requests refer to them.
fn reserve_row_numbers(into: &Transaction<'_>, used: i64) -> rusqlite::Result<()> {
    into.execute("DELETE FROM sqlite_sequence WHERE name = 'ledger'", [])?;
    let copied: i64 = into.query_row("SELECT coalesce(max(id), 0) FROM ledger", [], |row| row.get(0))?;
    into.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('ledger', ?1)", [used.max(copied)])?;
    Ok(())
}

fn highest(from: &Connection, table: &Table) -> i64 {
    let given = from.query_row("SELECT seq FROM sqlite_sequence WHERE name = ?1", [table.name], |row| row.get(0));
    let number =
        |sql: String| from.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0)).map(Option::unwrap_or_default);
    given.or_else(|_| number(format!("SELECT max({}) FROM {}", table.key, table.name))).unwrap_or(ASSUMED_HIGHEST)
}

struct Copy<'c> {
    from: &'c Connection,
    into: &'c Transaction<'c>,
    until: Instant,
    cut_short: bool,
}

impl Copy<'_> {
    /// Copies a small table up to its first unreadable row.
    fn all(&mut self, select: &str, table: &str) -> rusqlite::Result<u64> {
        let Ok(mut select) = self.from.prepare(select) else {
            return Ok(0);
        };
        let mut insert = insert_into(self.into, table, select.column_count())?;
        let Ok(mut rows) = select.query([]) else {
            return Ok(0);
        };
        let mut copied = 0;
        while let Ok(Some(row)) = rows.next() {
            copied += copy_row(row, &mut insert)?;
        }
        Ok(copied)
    }

    /// Copies a table in ranges of its key, and skips unreadable rows.
    fn table(&mut self, table: &Table) -> rusqlite::Result<u64> {
        let Table { name, key, columns } = table;
        let select = format!("SELECT {columns} FROM {name} WHERE {key} BETWEEN ?1 AND ?2 ORDER BY {key} DESC");
        let Ok(mut select) = self.from.prepare(&select) else {
            return Ok(0);
        };
        let mut insert = insert_into(self.into, name, select.column_count())?;
        let highest = match *key {
            "entry" => highest(self.from, &LEDGER),
            _ => highest(self.from, table),
        };
        let mut copied = 0;
        // The journal gives negative numbers.
        let mut ranges = match *key {
            "seq" => vec![(1, highest)],
            _ => vec![(i64::MIN / 2, -1), (1, highest)],
        };
        let mut empty_ranges = 0;
        while let Some((low, high)) = ranges.pop() {
            empty_ranges += 1;
            if empty_ranges > MAX_EMPTY_RANGES {
                return Ok(copied);
            }
            if Instant::now() > self.until {
                self.cut_short = true;
                return Ok(copied);
            }
            let Ok(mut rows) = select.query([low, high]) else {
                return Ok(copied);
            };
            let mut unread = high;
            let broke_off = loop {
                match rows.next() {
                    Ok(Some(row)) => {
                        empty_ranges = 0;
                        unread = row.get::<_, i64>(0).map_or(unread, |key| key - 1);
                        copied += copy_row(row, &mut insert)?;
                    }
                    Ok(None) => break false,
                    Err(_) => break true,
                }
            };
            if broke_off && low < unread {
                let middle = low + (unread - low) / 2;
                ranges.extend([(low, middle), (middle + 1, unread)]);
            }
        }
        Ok(copied)
    }
}

fn insert_into<'c>(
    into: &'c Transaction<'c>,
    table: &str,
    columns: usize,
) -> rusqlite::Result<rusqlite::Statement<'c>> {
    let values = vec!["?"; columns].join(", ");
    let columns = match table {
        "receipts" => " (seq, id, body)",
        _ => "",
    };
    into.prepare(&format!("INSERT OR IGNORE INTO {table}{columns} VALUES ({values})"))
}

/// Copies a row, unless a value is invalid. Returns the number of rows written.
fn copy_row(row: &Row<'_>, insert: &mut rusqlite::Statement<'_>) -> rusqlite::Result<u64> {
    let columns = insert.parameter_count();
    let values: Option<Vec<_>> = (0..columns)
        .map(|column| match row.get_ref(column) {
            Ok(ValueRef::Text(text)) if std::str::from_utf8(text).is_err() => None,
            Ok(value) => Some(ToSqlOutput::Borrowed(value)),
            Err(_) => None,
        })
        .collect();
    let Some(values) = values else {
        return Ok(0);
    };
    match insert.execute(params_from_iter(values)) {
        Ok(written) => Ok(written as u64),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok(0),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sqlite::connection::connect;
    use crate::sqlite::schema;

    fn long() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn empty(path: &std::path::Path) -> Connection {
        std::fs::write(path, "").unwrap();
        let mut connection = connect(path, "OFF").unwrap().connection;
        schema::upgrade(&mut connection).unwrap();
        connection
    }

    /// Overwrites pages with bytes that are no page.
    fn damage(path: &std::path::Path, pages: std::ops::Range<usize>) {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[pages.start * 4096..pages.end * 4096].fill(0xa5);
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn rows_around_damaged_pages_are_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.db"), folder.path().join("new.db"));
        let connection = empty(&old);
        connection.execute_batch("BEGIN").unwrap();
        for id in 1..=1000 {
            connection
                .execute("INSERT INTO ledger VALUES (?1, ?2, 's', ?3, 1, '', 0, 0)", (id, [7; 32], "b".repeat(1000)))
                .unwrap();
            connection.execute("INSERT INTO continuations VALUES (?1, ?2)", (id, [8; 32])).unwrap();
            connection.execute("INSERT INTO receipts (id, body) VALUES (?1, '{}')", [id.to_string()]).unwrap();
        }
        connection.execute("DELETE FROM ledger WHERE id > 990", []).unwrap();
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);
        let pages = std::fs::metadata(&old).unwrap().len() as usize / 4096;
        damage(&old, pages / 2..pages / 2 + 3);
        damage(&old, pages / 4..pages / 4 + 1);

        let mut into = empty(&new);
        let salvaged = salvage(&Connection::open(&old).unwrap(), &mut into, long()).unwrap();
        assert!((900..990).contains(&salvaged.turns), "{salvaged}");
        assert!(salvaged.receipts >= 900 && !salvaged.cut_short, "{salvaged}");
        let whole = "SELECT count(*) FROM ledger WHERE length(block) = 1000";
        let whole: i64 = into.query_row(whole, [], |row| row.get(0)).unwrap();
        assert_eq!(u64::try_from(whole).unwrap(), salvaged.turns);
        into.execute("INSERT INTO ledger (key, tokens, before, created_ms, used_ms) VALUES (x'00', 0, '', 0, 0)", [])
            .unwrap();
        assert_eq!(into.last_insert_rowid(), 1001, "a row number is not used twice");
    }

    #[test]
    fn file_that_is_no_database_yields_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old.db");
        std::fs::write(&old, "no database ".repeat(1000)).unwrap();
        let mut into = empty(&folder.path().join("new.db"));
        let salvaged = salvage(&Connection::open(&old).unwrap(), &mut into, long()).unwrap();
        assert_eq!(salvaged, Salvaged::default());
    }

    #[test]
    fn table_without_a_readable_row_is_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old.db"), folder.path().join("new.db"));
        let connection = empty(&old);
        for id in 1..=10 {
            connection.execute("INSERT INTO receipts (id, body) VALUES (?1, '{}')", [id]).unwrap();
        }
        drop(connection);
        let pages = std::fs::metadata(&old).unwrap().len() as usize / 4096;
        damage(&old, 1..pages);
        let mut into = empty(&new);
        let salvaged = salvage(&Connection::open(&old).unwrap(), &mut into, long()).unwrap();
        assert_eq!(salvaged, Salvaged::default(), "nothing was read, before the deadline");
    }

    #[test]
    fn receipts_of_the_second_version_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let from = Connection::open(folder.path().join("old.db")).unwrap();
        from.execute_batch(
            "CREATE TABLE receipts (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
             INSERT INTO receipts VALUES ('b', '2'), ('a', '1')",
        )
        .unwrap();
        let mut into = empty(&folder.path().join("new.db"));
        assert_eq!(salvage(&from, &mut into, long()).unwrap().receipts, 2);
        let newest: String =
            into.query_row("SELECT id FROM receipts ORDER BY seq DESC LIMIT 1", [], |row| row.get(0)).unwrap();
        assert_eq!(newest, "b");
    }
}
