//! The tables, and how a database of an earlier version gets them.

use rusqlite::{Connection, TransactionBehavior};

/// The version that this program writes and understands.
pub(super) const VERSION: i32 = 3;

/// What every version has had; a table that is there stays as it is.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS ledger (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key BLOB NOT NULL,
        session TEXT,
        block TEXT,
        tokens INTEGER NOT NULL,
        before TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        used_ms INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ledger_by_key ON ledger (key);
    CREATE INDEX IF NOT EXISTS ledger_by_use ON ledger (used_ms);
    CREATE TABLE IF NOT EXISTS continuations (
        entry INTEGER NOT NULL REFERENCES ledger (id) ON DELETE CASCADE,
        chain BLOB NOT NULL,
        PRIMARY KEY (entry, chain)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS key_usage (
        key TEXT NOT NULL,
        day TEXT NOT NULL,
        requests INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cached INTEGER NOT NULL,
        PRIMARY KEY (key, day)
    ) WITHOUT ROWID;
";

/// Since version 3 receipts are in the order in which they were written. Their ids begin with a time, and a clock that is
/// wrong once would order them wrongly for good.
const RECEIPTS: &str = "
    CREATE TABLE receipts (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
";
const RECEIPTS_BY_ID: &str = "
    ALTER TABLE receipts RENAME TO receipts_by_id;
    CREATE TABLE receipts (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
    INSERT INTO receipts (id, body) SELECT id, body FROM receipts_by_id ORDER BY id;
    DROP TABLE receipts_by_id;
";
/// See `retention`. One row.
const CLOCK: &str = "
    CREATE TABLE IF NOT EXISTS clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seen_ms INTEGER NOT NULL,
        retention_ms INTEGER NOT NULL
    );
";

/// The version of a database, 0 for an empty one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a database up to [`VERSION`]; one that is there already is not touched.
pub(super) fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while this one waited.
    if version(&transaction)? < VERSION {
        transaction.execute_batch(TABLES)?;
        let has_receipts = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'receipts')";
        let has_receipts: bool = transaction.query_row(has_receipts, [], |row| row.get(0))?;
        transaction.execute_batch(if has_receipts { RECEIPTS_BY_ID } else { RECEIPTS })?;
        transaction.execute_batch(CLOCK)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}
