//! The store as one SQLite file in the state directory: WAL, mode 0600, short waits.
//!
//! Reads use a small pool of connections and never wait for writers. Ledger rows are written with a full sync, because a
//! block that reached a backend and is forgotten would break that conversation's cache and its signatures; everything
//! else goes through the writer's thread with a relaxed one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};

use super::journal::{Journal, orphans};
use super::ledger::{entry_of, insert, record, rows};
use super::secret::{private_dir, private_file};
use super::writer::Writer;
use super::{Entry, KeyUsage, NewEntry, Receipt, Store, StoreCounts, StoreError, UsageSum, Use};
use crate::config::LimitsConfig;
use crate::inject::TurnKey;

/// How long a request may wait for another process's write.
const BUSY: Duration = Duration::from_millis(250);
const SCHEMA_VERSION: i32 = 2;
const SCHEMA: &str = "
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
    CREATE TABLE IF NOT EXISTS receipts (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS key_usage (
        key TEXT NOT NULL,
        day TEXT NOT NULL,
        requests INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cached INTEGER NOT NULL,
        PRIMARY KEY (key, day)
    ) WITHOUT ROWID;
    PRAGMA user_version = 2;
";

/// See the module's documentation.
pub struct SqliteStore {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    recorder: Mutex<Option<Connection>>,
    journal: Arc<Mutex<Journal>>,
    writer: Writer,
}

/// What opening found.
#[derive(Debug, Default)]
pub struct Opened {
    /// Where a damaged database was put aside, if it had to be.
    pub set_aside: Option<PathBuf>,
}

impl SqliteStore {
    /// Opens the store of a state directory, making both where they are missing. A database that is no database is put
    /// aside under another name, never deleted.
    ///
    /// # Errors
    /// [`StoreError`] where there can be no store: the directory or the file cannot be made, read or understood.
    pub fn open(state_dir: &Path, limits: &LimitsConfig) -> Result<(SqliteStore, Opened), StoreError> {
        let path = state_dir.join("state.db");
        private_dir(state_dir)
            .and_then(|()| private_file(&path))
            .map_err(|source| StoreError::Directory {
                path: state_dir.display().to_string(),
                source,
            })?;
        let mut opened = Opened::default();
        if let Err(error) = prepare(&path) {
            if !is_damage(&error) {
                return Err(database(&path, error));
            }
            opened.set_aside = Some(set_aside(&path)?);
            private_file(&path).map_err(|source| StoreError::Directory {
                path: path.display().to_string(),
                source,
            })?;
            prepare(&path).map_err(|source| database(&path, source))?;
        }
        take_over(state_dir, &path);
        let journal = Journal::create(state_dir).map_err(|source| StoreError::Directory {
            path: state_dir.display().to_string(),
            source,
        })?;
        let journal = Arc::new(Mutex::new(journal));
        let store = SqliteStore {
            writer: Writer::start(path.clone(), Arc::clone(&journal), limits),
            path,
            readers: Mutex::default(),
            recorder: Mutex::default(),
            journal,
        };
        Ok((store, opened))
    }

    fn error(&self, source: rusqlite::Error) -> StoreError {
        database(&self.path, source)
    }

    /// Runs `read` on a connection of the pool, which gets it back unless it broke.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let pooled = lock(&self.readers).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => connect(&self.path, "NORMAL").map_err(|source| self.error(source))?,
        };
        let result = read(&connection).map_err(|source| self.error(source))?;
        lock(&self.readers).push(connection);
        Ok(result)
    }
}

/// A connection with our settings. `synchronous` is `FULL` where a commit must survive a power cut.
pub(super) fn connect(path: &Path, synchronous: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Without the planner's stability guarantee SQLite prepares a statement anew for every key that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

fn prepare(path: &Path) -> rusqlite::Result<()> {
    let connection = connect(path, "NORMAL")?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version < SCHEMA_VERSION {
        connection.execute_batch(&format!("BEGIN IMMEDIATE;{SCHEMA}COMMIT;"))?;
    }
    connection.query_row("SELECT count(*) FROM (SELECT 1 FROM ledger LIMIT 1)", [], |_| Ok(()))
}

/// Writes down what processes that are gone had only noted. What cannot be written now stays for the next start.
fn take_over(state_dir: &Path, path: &Path) {
    for orphan in orphans(state_dir) {
        let written = connect(path, "FULL").and_then(|mut connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (key, entry) in &orphan.rows {
                insert(&transaction, *key, entry)?;
            }
            transaction.commit()
        });
        match written {
            Ok(()) => orphan.remove(),
            Err(error) => tracing::warn!(%error, "turns that went without could not be taken over"),
        }
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
    )
}

fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let aside = path.with_extension(format!("damaged-{}", jiff::Timestamp::now().as_millisecond()));
    let failed = |source| StoreError::Directory {
        path: path.display().to_string(),
        source,
    };
    std::fs::rename(path, &aside).map_err(failed)?;
    for suffix in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
    }
    Ok(aside)
}

fn database(path: &Path, source: rusqlite::Error) -> StoreError {
    StoreError::Database {
        path: path.display().to_string(),
        source,
    }
}

/// A lock that a panic elsewhere does not take away.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Store for SqliteStore {
    fn entries(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        // Looked at before the rows, since what is written meanwhile is then found in either place.
        let noted = lock(&self.journal).under(keys);
        // One read transaction for all keys: a lock on the file costs more than a look-up.
        let mut found = self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            keys.iter()
                .map(|key| rows(&transaction, *key))
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        for (key, entry) in noted {
            for (rows, _) in found.iter_mut().zip(keys).filter(|(_, asked)| **asked == key) {
                if !rows.iter().any(|row| row.session == entry.session) {
                    rows.push(entry_of(i64::MAX, &entry));
                }
            }
        }
        Ok(found)
    }

    fn record(&self, key: TurnKey, entry: &NewEntry) -> Result<Entry, StoreError> {
        let mut recorder = lock(&self.recorder);
        let mut connection = match recorder.take() {
            Some(connection) => connection,
            None => connect(&self.path, "FULL").map_err(|source| self.error(source))?,
        };
        let recorded = record(&mut connection, key, entry).map_err(|source| self.error(source))?;
        *recorder = Some(connection);
        Ok(recorded)
    }

    fn note_went_without(&self, key: TurnKey, entry: NewEntry) {
        lock(&self.journal).note(key, entry.clone());
        self.writer.went_without(key, entry);
    }

    fn note_uses(&self, uses: Vec<Use>) {
        if !uses.is_empty() {
            self.writer.uses(uses);
        }
    }

    fn note_receipt(&self, receipt: Receipt) {
        self.writer.receipt(receipt);
    }

    fn note_usage(&self, key: &str, day: jiff::civil::Date, usage: UsageSum) {
        self.writer.usage(key.to_owned(), day, usage);
    }

    fn usage(&self, today: jiff::civil::Date) -> Result<Vec<KeyUsage>, StoreError> {
        self.read(|connection| super::usage::read(connection, today))
    }

    fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError> {
        let beginning = id.to_ascii_uppercase();
        let body = self.read(|connection| {
            connection
                .query_row(
                    "SELECT body FROM receipts WHERE id >= ?1 AND id < ?1 || 'z' ORDER BY id DESC LIMIT 1",
                    [&beginning],
                    |row| row.get::<_, String>(0),
                )
                .optional()
        })?;
        body.map(|body| parse_receipt(id, &body)).transpose()
    }

    fn receipts(&self, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        let bodies = self.read(|connection| {
            let mut select = connection.prepare_cached("SELECT id, body FROM receipts ORDER BY id DESC LIMIT ?1")?;
            select
                .query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        bodies.iter().map(|(id, body)| parse_receipt(id, body)).collect()
    }

    fn counts(&self) -> Result<StoreCounts, StoreError> {
        self.read(|connection| {
            connection.query_row(
                "SELECT (SELECT count(*) FROM ledger), (SELECT count(block) FROM ledger), (SELECT count(*) FROM receipts)",
                [],
                |row| {
                    Ok(StoreCounts {
                        turns: row.get(0)?,
                        blocks: row.get(1)?,
                        receipts: row.get(2)?,
                    })
                },
            )
        })
    }

    fn flush(&self) {
        self.writer.flush();
    }
}

fn parse_receipt(id: &str, body: &str) -> Result<Receipt, StoreError> {
    serde_json::from_str(body).map_err(|source| StoreError::Receipt {
        id: id.to_owned(),
        source,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::{Overrides, load};

    pub(in crate::store) fn limits() -> LimitsConfig {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.toml");
        std::fs::write(&file, "").unwrap();
        let overrides = Overrides {
            config: Some(file),
            listen: None,
        };
        load(&overrides).unwrap().limits
    }

    fn store() -> (tempfile::TempDir, SqliteStore) {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = SqliteStore::open(folder.path(), &limits()).unwrap();
        (folder, store)
    }

    /// `later_ms` after the start of the test run: rows must not be so old that the writer's cleaning takes them.
    fn new(session: Option<&str>, block: &str, later_ms: i64) -> NewEntry {
        static START: std::sync::LazyLock<i64> = std::sync::LazyLock::new(|| jiff::Timestamp::now().as_millisecond());
        let now_ms = *START + later_ms;
        NewEntry {
            session: session.map(str::to_owned),
            block: Some(block.to_owned()),
            tokens: 1,
            now_ms,
            ..NewEntry::default()
        }
    }

    #[test]
    fn the_first_row_holds_and_sessions_have_their_own() {
        let (_folder, store) = store();
        let key = TurnKey::for_test(1);
        assert_eq!(
            store.record(key, &new(Some("a"), "one", 1)).unwrap().block.as_deref(),
            Some("one")
        );
        assert_eq!(
            store.record(key, &new(Some("a"), "two", 2)).unwrap().block.as_deref(),
            Some("one")
        );
        assert_eq!(
            store.record(key, &new(Some("b"), "three", 3)).unwrap().block.as_deref(),
            Some("three")
        );
        assert_eq!(
            store.record(key, &new(None, "four", 4)).unwrap().block.as_deref(),
            Some("four")
        );
        assert_eq!(
            store.record(key, &new(None, "five", 600_004)).unwrap().block.as_deref(),
            Some("four")
        );
        assert_eq!(
            store.record(key, &new(None, "six", 600_005)).unwrap().block.as_deref(),
            Some("six")
        );
        assert_eq!(store.entries(&[key]).unwrap()[0].len(), 4);
    }

    #[test]
    fn a_locked_database_refuses_a_record_but_not_a_read() {
        let (folder, store) = store();
        let key = TurnKey::for_test(2);
        store.record(key, &new(Some("a"), "one", 1)).unwrap();
        let other = Connection::open(folder.path().join("state.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(store.record(TurnKey::for_test(3), &new(Some("a"), "two", 2)).is_err());
        assert_eq!(store.entries(&[key]).unwrap()[0].len(), 1);
        store.note_went_without(
            TurnKey::for_test(3),
            NewEntry {
                block: None,
                ..new(Some("a"), "", 3)
            },
        );
        assert_eq!(store.entries(&[TurnKey::for_test(3)]).unwrap()[0][0].block, None);
        other.execute_batch("COMMIT").unwrap();
        store.flush();
        assert_eq!(store.entries(&[TurnKey::for_test(3)]).unwrap()[0][0].block, None);
    }

    #[test]
    fn a_damaged_database_is_put_aside_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("state.db"),
            "this is not a database, and it is long enough to tell".repeat(99),
        )
        .unwrap();
        let (store, opened) = SqliteStore::open(folder.path(), &limits()).unwrap();
        let aside = opened.set_aside.unwrap();
        assert!(std::fs::read_to_string(aside).unwrap().starts_with("this is not"));
        assert!(store.record(TurnKey::for_test(1), &new(None, "x", 1)).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn all_files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, store) = store();
        store.record(TurnKey::for_test(1), &new(None, "x", 1)).unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            assert_eq!(
                file.metadata().unwrap().permissions().mode() & 0o777,
                0o600,
                "{:?}",
                file.file_name()
            );
        }
    }

    #[test]
    fn uses_are_noted_and_tell_conversations_apart() {
        let (_folder, store) = store();
        let key = TurnKey::for_test(4);
        let entry = store.record(key, &new(None, "x", 1)).unwrap();
        store.note_uses(vec![Use {
            entry: entry.id,
            continuation: Some(TurnKey::for_test(9)),
            adopted_by: None,
        }]);
        store.flush();
        assert_eq!(
            store.entries(&[key]).unwrap()[0][0].continuations,
            vec![TurnKey::for_test(9)]
        );
    }
}
