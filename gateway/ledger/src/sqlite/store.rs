use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use muninn_base::{Supervisor, Task};
use muninn_config::LimitsConfig;
use parking_lot::Mutex;
use rusqlite::{InterruptHandle, OptionalExtension};

use super::super::counters::{Counters, LocalCounters};
use super::super::entry::{Entry, NewEntry, Use};
use super::super::error::StoreError;
use super::super::health::LedgerHealth;
use super::super::receipt::Receipt;
use super::super::turn_key::TurnKey;
use super::super::usage::{KeyUsage, UsageSum};
use super::super::{ReceiptsOf, Store, StoreCounts};
use super::connection::directory_error;
use super::database::{self, Database, is_damage};
use super::journal::{Journal, orphans};
use super::parsing::parse_receipt;
use super::reader::Reader;
use super::recorder::{Recorder, RecorderThread};
use super::retention::Bounds;
use super::writer::Writer;
use super::{damage, usage};

/// How long a start waits to write the journals of ended processes to the database.
const TAKE_OVER: Duration = Duration::from_secs(2);

/// The store in one SQLite file.
pub struct SqliteStore {
    database: Arc<Database>,
    counters: Arc<LocalCounters>,
    journal: Arc<Mutex<Journal>>,
    reader: Reader,
    recorder: Recorder,
    writer: Writer,
    check: Mutex<Option<(InterruptHandle, Task)>>,
}

impl SqliteStore {
    /// Opens the store of a state directory, and creates both if they are missing. A damaged database is renamed, never
    /// deleted, and its readable rows are copied to a new one.
    ///
    /// # Errors
    /// [`StoreError`] if the directory or the file cannot be created or read, or if a newer program wrote the file.
    pub fn open(state_dir: &Path, limits: &LimitsConfig) -> Result<SqliteStore, StoreError> {
        SqliteStore::supervised(state_dir, limits, &Supervisor::default())
    }

    /// [`SqliteStore::open`] with threads that `supervisor` owns.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn supervised(
        state_dir: &Path,
        limits: &LimitsConfig,
        supervisor: &Supervisor,
    ) -> Result<SqliteStore, StoreError> {
        let database = Database::open(state_dir, supervisor)?;
        let mut recorder = RecorderThread::new(Arc::clone(&database));
        take_over(&database, &mut recorder);
        let system = |source| directory_error(state_dir, source);
        let journal = Arc::new(Mutex::new(Journal::create(state_dir).map_err(system)?));
        let bounds = Bounds { days: limits.ledger_days, megabytes: limits.ledger_megabytes };
        let writer = Writer::start(supervisor, Arc::clone(&database), Arc::clone(&journal), bounds).map_err(system)?;
        Ok(SqliteStore {
            counters: Arc::default(),
            reader: Reader::start(supervisor, Arc::clone(&database), Arc::clone(&journal)).map_err(system)?,
            recorder: Recorder::start(supervisor, recorder).map_err(system)?,
            journal,
            writer,
            database,
            check: Mutex::default(),
        })
    }

    /// Checks the whole database for damage, on a thread of its own. A damaged database is repaired as if a request had
    /// found the damage.
    pub fn check_in_background(&self) {
        let database = Arc::clone(&self.database);
        let open = match database.connect("NORMAL") {
            Ok(open) => open,
            Err(error) => return tracing::warn!(%error, "cannot check the ledger for damage"),
        };
        let handle = open.connection.get_interrupt_handle();
        let check = move || match damage::check(&open.connection) {
            Ok(None) => {}
            Ok(Some(found)) => {
                tracing::error!("the ledger is damaged: {found}");
                database.start_repair(Some(open.file));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot check the ledger for damage");
                if is_damage(&error) {
                    database.start_repair(Some(open.file));
                }
            }
        };
        match self.database.supervisor.run("ledger-check", check) {
            Ok(task) => *self.check.lock() = Some((handle, task)),
            Err(error) => tracing::warn!(%error, "cannot start the check of the ledger for damage"),
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some((handle, task)) = self.check.lock().take() {
            handle.interrupt();
            task.wait();
        }
        self.database.wait_for_repair();
    }
}

/// Writes the journals of ended processes to the database. A journal that cannot be written stays for the next start.
fn take_over(database: &Database, recorder: &mut RecorderThread) {
    for orphan in orphans(&database.directory) {
        let rows = || orphan.rows.iter().map(|(key, entry)| (*key, entry));
        let written = recorder.insert(Instant::now() + TAKE_OVER, rows, &orphan.uses);
        match written.map(|written| written.map_err(|error| database::database_error(&database.path, &error))) {
            Ok(Ok(_)) => orphan.remove(),
            Ok(Err(error)) | Err(error) => {
                tracing::warn!(%error, "cannot write the journal of an ended process to the ledger");
            }
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn counters(&self) -> Arc<dyn Counters> {
        Arc::clone(&self.counters) as _
    }

    async fn entries(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        self.reader.look_up(keys).await
    }

    async fn record(&self, key: TurnKey, entry: NewEntry) -> Result<Entry, StoreError> {
        self.recorder.record(key, entry).await
    }

    async fn record_without_block(&self, key: TurnKey, entry: NewEntry) {
        let entry = self.journal.lock().note_row(key, entry);
        self.writer.without_block(key, entry);
    }

    fn note_uses(&self, uses: Vec<Use>) {
        if !uses.is_empty() {
            self.journal.lock().note_uses(&uses);
            self.writer.uses(uses);
        }
    }

    fn note_receipt(&self, receipt: Receipt) {
        self.writer.receipt(receipt);
    }

    fn note_usage(&self, key: &str, day: jiff::civil::Date, usage: UsageSum) {
        self.writer.usage(key.to_owned(), day, usage);
    }

    async fn usage(&self, today: jiff::civil::Date) -> Result<Vec<KeyUsage>, StoreError> {
        self.reader.read(move |connection| usage::read(connection, today)).await
    }

    async fn receipt(&self, id: &str) -> Result<Option<Receipt>, StoreError> {
        let whole = id.to_owned();
        let read = self.reader.read(move |connection| {
            connection
                .query_row("SELECT body FROM receipts WHERE id = ?1", [&whole], |row| row.get::<_, String>(0))
                .optional()
        });
        read.await?.map(|body| parse_receipt(id, &body)).transpose()
    }

    async fn receipt_ids(&self, part: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let asked = (part.trim().to_ascii_uppercase(), limit_of(limit));
        let read = self.reader.read(move |connection| {
            connection
                .prepare_cached("SELECT id FROM receipts WHERE instr(id, ?1) > 0 ORDER BY id DESC LIMIT ?2")?
                .query_map(asked, |row| row.get(0))?
                .collect()
        });
        read.await
    }

    async fn receipts(&self, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        self.reader.receipts("SELECT id, body FROM receipts ORDER BY seq DESC LIMIT ?1", (limit_of(limit),)).await
    }

    async fn receipts_of(&self, asked: ReceiptsOf<'_>) -> Result<Vec<Receipt>, StoreError> {
        // Read before the database, so that a receipt written in between is found twice rather than not at all.
        let mut receipts = self.writer.unwritten_receipts_of(asked.conversation, asked.about);
        receipts.extend(self.reader.receipts_of(asked).await?);
        // Stable, so that the newest with an id stays.
        receipts.sort_by(|one, other| other.id.cmp(&one.id));
        receipts.dedup_by(|other, one| other.id == one.id);
        Ok(receipts)
    }

    async fn measured(&self, worktree: &str, limit: usize) -> Result<Vec<Receipt>, StoreError> {
        // Most receipts have no effect. Finding its name is faster than parsing them.
        let select =
            "SELECT id, body FROM receipts WHERE instr(body, '\"effect\":{') > 0 AND body ->> '$.worktree' = ?1
             ORDER BY seq DESC LIMIT ?2";
        self.reader.receipts(select, (worktree.to_owned(), limit_of(limit))).await
    }

    async fn counts(&self) -> Result<StoreCounts, StoreError> {
        let read = self.reader.read(|connection| {
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
        });
        read.await
    }

    async fn health(&self) -> LedgerHealth {
        let health = self.reader.run(|thread| Ok(thread.database.health()));
        health.await.unwrap_or_else(|error| LedgerHealth::Unusable(error.to_string()))
    }

    async fn flush(&self) {
        self.writer.flush().await;
    }
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use muninn_text::model::block_on;
    use rusqlite::Connection;

    use super::*;
    use crate::conformance::{TestStores, row, suite};
    use muninn_config::{Overrides, load};

    pub(crate) fn limits() -> LimitsConfig {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.toml");
        std::fs::write(&file, "").unwrap();
        let overrides = Overrides { config: Some(file), listen: None };
        load(&overrides).unwrap().limits
    }

    struct StateDirectory(tempfile::TempDir);

    impl Default for StateDirectory {
        fn default() -> StateDirectory {
            StateDirectory(tempfile::tempdir().unwrap())
        }
    }

    impl StateDirectory {
        fn sqlite(&self) -> SqliteStore {
            SqliteStore::open(self.0.path(), &limits()).unwrap()
        }
    }

    impl TestStores for StateDirectory {
        fn open(&self) -> Arc<dyn Store> {
            Arc::new(self.sqlite())
        }
    }

    suite!(StateDirectory);

    #[test]
    fn locked_database_refuses_records_but_not_reads() {
        let state = StateDirectory::default();
        let store = state.sqlite();
        let (known, new) = (TurnKey::for_test(2), TurnKey::for_test(3));
        let rows = |key| block_on(store.entries(&[key])).unwrap().remove(0);
        block_on(store.record(known, row(Some("a"), Some("one"), 1))).unwrap();
        let other = Connection::open(state.0.path().join("state.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(block_on(store.record(new, row(Some("a"), Some("two"), 2))).is_err());
        assert_eq!(rows(known).len(), 1);
        block_on(store.record_without_block(new, row(Some("a"), None, 3)));
        assert_eq!(rows(new)[0].block, None);
        let continuation = TurnKey::for_test(4);
        let used = Use { key: Some(known), adopted_by: Some("fork".to_owned()), ..Use::of(rows(known)[0].id) };
        store.note_uses(vec![Use { continuation: Some(continuation), ..used }]);
        for written in [false, true] {
            if written {
                other.execute_batch("COMMIT").unwrap();
                block_on(store.flush());
            }
            assert_eq!(rows(new)[0].block, None);
            let found = rows(known);
            let of = |row: &Entry| (row.session.clone(), row.block.clone(), row.continuations.clone());
            let session = |name: &str| Some(name.to_owned());
            let expected =
                [(session("a"), session("one"), vec![continuation]), (session("fork"), session("one"), Vec::new())];
            assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected, "written: {written}");
        }
    }

    #[test]
    fn damaged_database_is_renamed_and_replaced() {
        let state = StateDirectory::default();
        let damaged = "this is not a database, and it is long enough to tell".repeat(99);
        std::fs::write(state.0.path().join("state.db"), damaged).unwrap();
        let store = state.sqlite();
        let LedgerHealth::DamagedLedger(aside) = store.database.health() else {
            panic!("the damage was not reported");
        };
        assert!(std::fs::read_to_string(aside.path).unwrap().starts_with("this is not"));
        assert!(block_on(store.record(TurnKey::for_test(1), row(None, Some("x"), 1))).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn all_files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let state = StateDirectory::default();
        let store = state.sqlite();
        block_on(store.record(TurnKey::for_test(1), row(None, Some("x"), 1))).unwrap();
        for file in std::fs::read_dir(state.0.path()).unwrap() {
            let file = file.unwrap();
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{:?}", file.file_name());
        }
    }

    #[test]
    fn lookup_needs_the_thread_only_while_all_connections_are_in_use() {
        let state = StateDirectory::default();
        let store = state.sqlite();
        let key = TurnKey::for_test(1);
        block_on(store.record(key, row(Some("a"), Some("one"), 1))).unwrap();
        block_on(store.entries(&[key])).unwrap();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let busy = store.reader.run(move |_| {
            held.recv().ok();
            Ok(())
        });
        let mut busy = pin!(busy);
        let mut context = Context::from_waker(Waker::noop());
        assert!(busy.as_mut().poll(&mut context).is_pending());
        let keys = [key];
        let single = pin!(store.entries(&keys)).poll(&mut context);
        assert!(matches!(single, Poll::Ready(Ok(rows)) if rows[0].len() == 1));

        let others = store.reader.direct.hold();
        let mut concurrent = pin!(store.entries(&keys));
        assert!(concurrent.as_mut().poll(&mut context).is_pending());
        drop((others, release));
        assert_eq!(block_on(concurrent).unwrap()[0].len(), 1);
    }

    #[test]
    fn row_that_leaves_the_journal_while_a_batch_is_read_is_found() {
        let state = StateDirectory::default();
        let (store, other) = (state.sqlite(), state.sqlite());
        let key = TurnKey::for_test(1);
        let journal = Arc::clone(&store.journal);
        let found = store.reader.run(move |thread| {
            assert!(thread.look_up(&[key])?[0].is_empty());
            // The writer's order: first the table, then the journal.
            journal.lock().note_row(key, row(Some("a"), None, 1));
            block_on(other.record(key, row(Some("a"), None, 1)))?;
            journal.lock().remove(vec![(key, row(Some("a"), None, 1))], &[]);
            thread.look_up(&[key])
        });
        assert_eq!(block_on(found).unwrap()[0].len(), 1);
    }

    #[test]
    fn lookup_sees_rows_of_another_process() {
        let state = StateDirectory::default();
        let (store, other) = (state.sqlite(), state.sqlite());
        let keys = [TurnKey::for_test(1), TurnKey::for_test(2)];
        let count = || block_on(store.entries(&keys)).unwrap().concat().len();
        assert_eq!((count(), count()), (0, 0));
        block_on(other.record(keys[0], row(Some("a"), Some("one"), 1))).unwrap();
        assert_eq!(count(), 1);
        block_on(store.record_without_block(keys[1], row(Some("a"), None, 2)));
        assert_eq!(count(), 2);
    }

    #[test]
    fn panicking_read_is_an_error_and_the_next_read_succeeds() {
        let state = StateDirectory::default();
        let store = state.sqlite();
        let asked = block_on(store.reader.read::<()>(|_| panic!("a test's panic")));
        assert!(matches!(asked, Err(StoreError::Unanswered { .. })), "{asked:?}");
        assert!(block_on(store.counts()).is_ok());
    }
}

#[cfg(test)]
mod contention;
