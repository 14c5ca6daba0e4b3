//! The store as one SQLite file in the state directory: WAL, mode 0600, short waits.
//!
//! Reads use a small pool of connections and never wait for writers. Ledger rows are written with a full sync, because a
//! block that reached a backend and is forgotten would break that conversation's cache and its signatures; everything
//! else goes through the writer's thread with a relaxed one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, InterruptHandle, OptionalExtension, TransactionBehavior};

use super::database::{BUSY, Database, Open, busy, database_error, is_busy, lock};
use super::health::LedgerHealth;
use super::journal::{Journal, orphans};
use super::ledger::{entry_of, insert, record, rows};
use super::retention::Bounds;
use super::turn_key::TurnKey;
use super::write_queue::WriteQueue;
use super::writer::Writer;
use super::{Entry, KeyUsage, NewEntry, Receipt, Store, StoreCounts, StoreError, UsageSum, Use, damage};
use crate::config::LimitsConfig;

/// How long a request may wait until its row is written.
const RECORD: Duration = Duration::from_secs(2);
/// How long a start waits to write down what other processes had only noted.
const TAKE_OVER: Duration = Duration::from_secs(2);

/// See the module's documentation.
pub struct SqliteStore {
    database: Arc<Database>,
    readers: Mutex<Vec<Open>>,
    reader_is_back: Condvar,
    recorder: Mutex<Recorder>,
    journal: Arc<Mutex<Journal>>,
    writer: Writer,
    check: Mutex<Option<(InterruptHandle, JoinHandle<()>)>>,
}

struct Recorder {
    turns: WriteQueue,
    connection: Option<Open>,
}

/// What opening found.
#[derive(Debug, Default)]
pub struct Opened {
    /// Where a damaged database was put aside, if it had to be.
    pub set_aside: Option<PathBuf>,
}

impl SqliteStore {
    /// Opens the store of a state directory, making both where they are missing. A damaged database is put aside under
    /// another name, never deleted, and what can be read of it is kept.
    ///
    /// # Errors
    /// [`StoreError`] where there can be no store: the directory or the file cannot be made, read or understood.
    pub fn open(state_dir: &Path, limits: &LimitsConfig) -> Result<(SqliteStore, Opened), StoreError> {
        let database = Database::open(state_dir)?;
        let set_aside = match database.health() {
            LedgerHealth::PutAside(aside) => Some(aside.path),
            _ => None,
        };
        let mut recorder = Recorder {
            turns: WriteQueue::open(state_dir),
            connection: None,
        };
        take_over(&database, &mut recorder);
        let journal = Journal::create(state_dir).map_err(|source| StoreError::Directory {
            path: state_dir.display().to_string(),
            source,
        })?;
        let journal = Arc::new(Mutex::new(journal));
        let bounds = Bounds {
            days: limits.ledger_days,
            megabytes: limits.ledger_megabytes,
        };
        let store = SqliteStore {
            writer: Writer::start(Arc::clone(&database), Arc::clone(&journal), bounds),
            database,
            readers: Mutex::default(),
            reader_is_back: Condvar::new(),
            recorder: Mutex::new(recorder),
            journal,
            check: Mutex::default(),
        };
        Ok((store, Opened { set_aside }))
    }

    /// Looks through the whole database for damage, on a thread of its own. Damage is seen to as if a request had come
    /// across it.
    pub fn check_in_background(&self) {
        let database = Arc::clone(&self.database);
        let open = match database.connect("NORMAL") {
            Ok(open) => open,
            Err(error) => return tracing::warn!(%error, "the ledger is not checked for damage"),
        };
        let handle = open.connection.get_interrupt_handle();
        let check = move || match damage::check(&open.connection) {
            Ok(None) => {}
            Ok(Some(found)) => {
                tracing::error!("the ledger is damaged: {found}");
                database.is_damaged(Some(open.file));
            }
            Err(error) => {
                tracing::warn!(%error, "the ledger could not be checked for damage");
                if super::database::is_damage(&error) {
                    database.is_damaged(Some(open.file));
                }
            }
        };
        match std::thread::Builder::new().name("muninn-check".into()).spawn(check) {
            Ok(thread) => *lock(&self.check) = Some((handle, thread)),
            Err(error) => tracing::warn!(%error, "the ledger is not checked for damage"),
        }
    }

    /// Runs `read` on a connection of the pool.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let open = self.reader()?;
        let result = read(&open.connection);
        match &result {
            Ok(_) => self.database.succeeded(false),
            Err(error) => self.database.failed(Some(open.file), false, error),
        }
        lock(&self.readers).push(open);
        self.reader_is_back.notify_one();
        result.map_err(|source| database_error(&self.database.path, source))
    }

    fn reader(&self) -> Result<Open, StoreError> {
        let in_place = self.database.look();
        let file = self.database.file();
        let mut pool = lock(&self.readers);
        pool.retain(|open| open.file == file);
        if let Err(removed) = in_place {
            // No other connection can be had to a file that has no name.
            let waited = self
                .reader_is_back
                .wait_timeout_while(pool, BUSY, |pool| pool.is_empty())
                .unwrap_or_else(PoisonError::into_inner);
            pool = waited.0;
            return pool.pop().ok_or(removed);
        }
        if let Some(open) = pool.pop() {
            return Ok(open);
        }
        drop(pool);
        self.database.connect("NORMAL").map_err(|error| {
            self.database.failed(None, false, &error);
            database_error(&self.database.path, error)
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some((handle, thread)) = lock(&self.check).take() {
            handle.interrupt();
            let _panicked = thread.join();
        }
        self.database.wait_for_repair();
    }
}

impl Recorder {
    /// Runs a durable write when it is this writer's turn, and again while others are in the way.
    fn write<T>(
        &mut self,
        database: &Arc<Database>,
        until: Instant,
        mut write: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let Recorder { turns, connection } = self;
        let turn = turns.wait(until);
        // Looked at in the turn, in which nobody puts the file aside.
        database.look()?;
        let file = database.file();
        connection.take_if(|open| open.file != file);
        let result = turn.ok_or_else(busy).and_then(|_turn| {
            let open = match &mut *connection {
                Some(open) => open,
                none => none.insert(database.connect("FULL")?),
            };
            loop {
                match write(&mut open.connection) {
                    Err(error) if is_busy(&error) && Instant::now() < until => {}
                    result => return result,
                }
            }
        });
        match &result {
            Ok(_) => database.succeeded(true),
            Err(error) => database.failed(connection.as_ref().map(|open| open.file), true, error),
        }
        result.map_err(|source| database_error(&database.path, source))
    }
}

/// Writes down what processes that are gone had only noted. What cannot be written now stays for the next start.
fn take_over(database: &Arc<Database>, recorder: &mut Recorder) {
    for orphan in orphans(&database.directory) {
        let written = recorder.write(database, Instant::now() + TAKE_OVER, |connection| {
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
        // Counted from before the lock: the last of many waits no longer than the first.
        let until = Instant::now() + RECORD;
        lock(&self.recorder).write(&self.database, until, |connection| record(connection, key, entry))
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

    fn receipt_ids(&self, part: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT id FROM receipts WHERE instr(id, ?1) > 0 ORDER BY id DESC LIMIT ?2")?
                .query_map(
                    (
                        part.trim().to_ascii_uppercase(),
                        i64::try_from(limit).unwrap_or(i64::MAX),
                    ),
                    |row| row.get(0),
                )?
                .collect()
        })
    }

    fn receipts(&self, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        let bodies = self.read(|connection| {
            let mut select = connection.prepare_cached("SELECT id, body FROM receipts ORDER BY seq DESC LIMIT ?1")?;
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

    fn health(&self) -> LedgerHealth {
        self.database.health()
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
