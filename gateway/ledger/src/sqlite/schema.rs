//! The tables, and the upgrade of databases of earlier versions.

use rusqlite::{Connection, TransactionBehavior};

/// The schema version that this program writes, and the newest that it reads.
pub(super) const VERSION: i32 = 3;

/// The tables of all versions. Existing tables stay unchanged.
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

/// Since version 3 receipts are ordered by writing. Their ids begin with a time, so a clock that was wrong once would
/// order them wrongly forever.
const RECEIPTS: &str = "
    CREATE TABLE receipts (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
";
const RECEIPTS_BY_ID: &str = "
    ALTER TABLE receipts RENAME TO receipts_by_id;
    CREATE TABLE receipts (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL);
    INSERT INTO receipts (id, body) SELECT id, body FROM receipts_by_id ORDER BY id;
    DROP TABLE receipts_by_id;
";
/// One row with the clocks of `retention`.
const CLOCK: &str = "
    CREATE TABLE IF NOT EXISTS clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seen_ms INTEGER NOT NULL,
        retention_ms INTEGER NOT NULL
    );
";

/// The schema version of a database; 0 for an empty one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Upgrades a database to [`VERSION`]. A database of that version is not changed.
pub(super) fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have upgraded the database while this one waited for the lock.
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
