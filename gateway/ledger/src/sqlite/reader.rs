//! Reads on a thread of their own, so that no request blocks its worker while SQLite reads a page.
//!
//! Waiting reads share one read transaction, because locking the file costs more than a lookup. The transaction begins
//! after all of them were queued, and begins again if rows moved from the journal to the database. So every read sees
//! all earlier writes. Reads never wait for writers.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use muninn_base::Supervisor;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::connection::{Open, database_error};
use super::database::Database;
use super::direct::DirectReader;
use super::journal::Journal;
use super::recent::{ReadState, RecentReceipts};
use super::worker::Worker;
use super::{Entry, Receipt, ReceiptsOf, StoreError, TurnKey, ledger, parse_receipt};

/// Maximum number of reads in one transaction. A long transaction prevents checkpoints.
const BATCH: usize = 64;

type Job = Box<dyn FnOnce(&mut ReaderThread) + Send>;

/// The handle of the thread.
pub(super) struct Reader {
    worker: Worker<Job>,
    pub(super) direct: Arc<DirectReader>,
    database: Arc<Database>,
    journal: Arc<Mutex<Journal>>,
    recent: Arc<Mutex<RecentReceipts>>,
}

impl Reader {
    pub(super) fn start(
        supervisor: &Supervisor,
        database: Arc<Database>,
        journal: Arc<Mutex<Journal>>,
    ) -> std::io::Result<Reader> {
        let direct = Arc::new(DirectReader::new(Arc::clone(&database), Arc::clone(&journal)));
        let mut thread = ReaderThread {
            database: Arc::clone(&database),
            journal: Arc::clone(&journal),
            direct: Arc::clone(&direct),
            open: None,
            generation: 0,
            begun_at: Instant::now(),
        };
        let worker = Worker::start(supervisor, "ledger-reader", move |jobs| thread.run(jobs))?;
        Ok(Reader { worker, direct, database, journal, recent: Arc::default() })
    }

    /// The rows of each key.
    pub(super) async fn look_up(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError> {
        if let Some(found) = self.direct.look_up(keys) {
            return Ok(found);
        }
        let keys = keys.to_vec();
        self.run(move |thread| thread.look_up(&keys)).await
    }

    /// Runs `job` on the thread. Dropping the future after its first poll does not cancel the job.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut ReaderThread) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.worker.send(Box::new(move |thread| {
            reply.send(job(thread)).ok();
        }));
        answer.await.unwrap_or_else(|_| Err(self.database.unanswered()))
    }

    /// Reads from the database.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(|thread| thread.read(read)).await
    }

    /// See [`Store::receipts_of`](super::super::store::Store::receipts_of).
    pub(super) async fn receipts_of(&self, asked: ReceiptsOf<'_>) -> Result<Vec<Receipt>, StoreError> {
        let generation = self.journal.lock().generation();
        if self.recent.lock().lack((&asked, self.database.file(), generation)) {
            return Ok(Vec::new());
        }
        let ReceiptsOf { among, as_of, .. } = asked;
        let (conversation, about) = (asked.conversation.to_owned(), asked.about.map(str::to_owned));
        let recent = Arc::clone(&self.recent);
        let bodies = self.run(move |thread| {
            let asked = ReceiptsOf { conversation: &conversation, among, about: about.as_deref(), as_of };
            let generation = thread.journal.lock().generation();
            thread.begin_anew_at(generation);
            thread.read_in(|connection, state| recent.lock().of((connection, state), &asked))
        });
        bodies.await?.iter().map(|(id, body)| parse_receipt(id, body)).collect()
    }

    /// The receipts of a statement that selects ids and bodies.
    pub(super) async fn receipts(
        &self,
        select: &'static str,
        parameters: impl rusqlite::Params + Send + 'static,
    ) -> Result<Vec<Receipt>, StoreError> {
        let read = self.read(move |connection| {
            let mut select = connection.prepare_cached(select)?;
            select
                .query_map(parameters, |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        let bodies = read.await?;
        bodies.iter().map(|(id, body)| parse_receipt(id, body)).collect()
    }
}

/// The state of the thread.
pub(super) struct ReaderThread {
    pub(super) database: Arc<Database>,
    journal: Arc<Mutex<Journal>>,
    direct: Arc<DirectReader>,
    open: Option<Open>,
    /// The journal's generation when the transaction began.
    generation: u64,
    /// A time before the transaction began.
    begun_at: Instant,
}

impl ReaderThread {
    fn run(&mut self, jobs: &Receiver<Job>) {
        self.end_transaction();
        while let Ok(first) = jobs.recv() {
            let batch: Vec<_> = std::iter::once(first).chain(jobs.try_iter().take(BATCH - 1)).collect();
            batch.into_iter().for_each(|job| job(self));
            self.end_transaction();
        }
    }

    /// The rows of each key.
    pub(super) fn look_up(&mut self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError> {
        let (noted, generation) = {
            let journal = self.journal.lock();
            (journal.find(keys), journal.generation())
        };
        self.begin_anew_at(generation);
        let found = self.read(|connection| ledger::look_up(connection, &noted, keys))?;
        self.direct.prepare();
        Ok(found)
    }

    /// Ends a transaction that began before contents moved from the journal to the database. `generation`: the journal's.
    fn begin_anew_at(&mut self, generation: u64) {
        if std::mem::replace(&mut self.generation, generation) != generation {
            self.end_transaction();
        }
    }

    /// Reads from the database, in the transaction that waiting reads share.
    pub(super) fn read<T>(&mut self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.read_in(|connection, _| read(connection))
    }

    /// Reads with the state of the transaction.
    fn read_in<T>(
        &mut self,
        read: impl FnOnce(&Connection, ReadState) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let (database, generation, begun_at) = (Arc::clone(&self.database), self.generation, self.begun_at);
        let now = Instant::now();
        let Open { connection, file } = self.open()?;
        let (file, is_new) = (*file, connection.is_autocommit());
        let as_of = if is_new { now } else { begun_at };
        let begun = if is_new { connection.execute_batch("BEGIN") } else { Ok(()) };
        let result = begun.and_then(|()| read(connection, ReadState { file, generation, as_of }));
        match &result {
            Ok(_) => database.note_success(false),
            Err(error) => database.note_failure(Some(file), false, error),
        }
        self.begun_at = as_of;
        result.map_err(|error| database_error(&database.path, &error))
    }

    fn end_transaction(&mut self) {
        let connection = self.open.as_ref().map(|open| &open.connection);
        let ended = match connection {
            Some(connection) if !connection.is_autocommit() => connection.execute_batch("ROLLBACK"),
            _ => Ok(()),
        };
        if ended.is_err() {
            self.open = None;
        }
    }

    /// A connection to the file in use. If the file was removed, only a connection that is already open can be used.
    fn open(&mut self) -> Result<&Open, StoreError> {
        let in_place = self.database.check_path();
        let file = self.database.file();
        self.open.take_if(|open| open.file != file);
        match &mut self.open {
            Some(open) => Ok(open),
            none => {
                in_place?;
                let opened = self.database.connect("NORMAL").map_err(|error| {
                    self.database.note_failure(None, false, &error);
                    database_error(&self.database.path, &error)
                })?;
                Ok(none.insert(opened))
            }
        }
    }
}
