//! Reading, on a thread of its own: no request holds up the others of its worker while SQLite reads a page.
//!
//! What is asked meanwhile is answered in one read transaction, since a lock on the file costs more than a lookup. It
//! begins after all of it was asked, and anew where rows went from the journal to the database since, so every answer is
//! as new as its question. Reads never wait for writers.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use muninn_repo_tools::Supervisor;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::database::{Database, Open, database_error, lock};
use super::direct::Direct;
use super::journal::Journal;
use super::ledger;
use super::worker::Worker;
use super::{Entry, StoreError, TurnKey};

/// So many questions are answered in one transaction: a long one keeps the log from being shortened.
const BATCH: usize = 64;

type Job = Box<dyn FnOnce(&mut Reading) + Send>;

/// The handle of the thread.
pub(super) struct Reader {
    worker: Worker<Job>,
    pub(super) direct: Arc<Direct>,
    database: Arc<Database>,
}

impl Reader {
    pub(super) fn start(
        supervisor: &Supervisor,
        database: Arc<Database>,
        journal: Arc<Mutex<Journal>>,
    ) -> std::io::Result<Reader> {
        let direct = Arc::new(Direct::new(Arc::clone(&database), Arc::clone(&journal)));
        let mut reading = Reading {
            database: Arc::clone(&database),
            journal,
            direct: Arc::clone(&direct),
            connection: None,
            generation: 0,
        };
        let worker = Worker::start(supervisor, "ledger-reader", move |jobs| reading.run(jobs))?;
        Ok(Reader {
            worker,
            direct,
            database,
        })
    }

    /// The rows under each key.
    pub(super) async fn look_up(&self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError> {
        let waiting = self.direct.enter();
        if let Some(found) = waiting.look_up(keys) {
            return Ok(found);
        }
        let keys = keys.to_vec();
        self.run(move |reading| reading.look_up(&keys)).await
    }

    /// Runs `job` on the thread, whether or not anybody waits for it once this was polled.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Reading) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.worker.send(Box::new(move |reading| {
            reply.send(job(reading)).ok();
        }));
        answer.await.unwrap_or_else(|_| Err(self.database.unanswered()))
    }

    /// Reads from the database.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(|reading| reading.read(read)).await
    }
}

/// The state of the thread.
pub(super) struct Reading {
    pub(super) database: Arc<Database>,
    journal: Arc<Mutex<Journal>>,
    direct: Arc<Direct>,
    connection: Option<Open>,
    /// The journal's when the transaction began.
    generation: u64,
}

impl Reading {
    fn run(&mut self, jobs: &Receiver<Job>) {
        self.end_transaction();
        while let Ok(first) = jobs.recv() {
            let batch: Vec<_> = std::iter::once(first).chain(jobs.try_iter().take(BATCH - 1)).collect();
            batch.into_iter().for_each(|job| job(self));
            self.end_transaction();
        }
    }

    /// The rows under each key.
    pub(super) fn look_up(&mut self, keys: &[TurnKey]) -> Result<Vec<Vec<Entry>>, StoreError> {
        let (noted, generation) = {
            let journal = lock(&self.journal);
            (journal.under(keys), journal.generation())
        };
        if std::mem::replace(&mut self.generation, generation) != generation {
            self.end_transaction();
        }
        let found = self.read(|connection| ledger::look_up(connection, &noted, keys))?;
        self.direct.prepare();
        Ok(found)
    }

    /// Reads from the database, in the transaction of all that is read now.
    pub(super) fn read<T>(&mut self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let database = Arc::clone(&self.database);
        let open = self.open()?;
        let begun = match open.connection.is_autocommit() {
            true => open.connection.execute_batch("BEGIN"),
            false => Ok(()),
        };
        let result = begun.and_then(|()| read(&open.connection));
        match &result {
            Ok(_) => database.succeeded(false),
            Err(error) => database.failed(Some(open.file), false, error),
        }
        result.map_err(|error| database_error(&database.path, &error))
    }

    fn end_transaction(&mut self) {
        let ended = match &self.connection {
            Some(open) if !open.connection.is_autocommit() => open.connection.execute_batch("ROLLBACK"),
            _ => Ok(()),
        };
        if ended.is_err() {
            self.connection = None;
        }
    }

    /// A connection to the file in use. To one that was removed no other can be had than the one that is open.
    fn open(&mut self) -> Result<&Open, StoreError> {
        let in_place = self.database.look();
        let file = self.database.file();
        self.connection.take_if(|open| open.file != file);
        match &mut self.connection {
            Some(open) => Ok(open),
            none => {
                in_place?;
                let opened = self.database.connect("NORMAL").map_err(|error| {
                    self.database.failed(None, false, &error);
                    database_error(&self.database.path, &error)
                })?;
                Ok(none.insert(opened))
            }
        }
    }
}
