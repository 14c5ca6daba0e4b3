//! Durable writes of ledger rows, on a thread of their own, with a full sync: a block that reached a backend and is
//! forgotten would break that conversation's cache and its signatures. Rows that wait together are committed together.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use muninn_repo_tools::Supervisor;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::database::{Database, Open, busy, database_error, is_busy};
use super::ledger::insert;
use super::worker::Worker;
use super::write_queue::WriteQueue;
use super::{Entry, NewEntry, StoreError, TurnKey};

/// How long a request may wait until its row is written.
const RECORD: Duration = Duration::from_secs(2);
/// So many rows are committed together.
const BATCH: usize = 64;

struct Job {
    key: TurnKey,
    entry: NewEntry,
    until: Instant,
    reply: oneshot::Sender<Result<Entry, StoreError>>,
}

/// The handle of the thread.
pub(super) struct Recorder {
    worker: Worker<Job>,
    database: Arc<Database>,
}

impl Recorder {
    pub(super) fn start(supervisor: &Supervisor, mut recording: Recording) -> std::io::Result<Recorder> {
        let database = Arc::clone(&recording.database);
        let worker = Worker::start(supervisor, "ledger-recorder", move |jobs| recording.run(jobs))?;
        Ok(Recorder { worker, database })
    }

    /// Writes a row unless the conversation has one already, whether or not anybody waits for it once this was polled.
    pub(super) async fn record(&self, key: TurnKey, entry: NewEntry) -> Result<Entry, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.worker.send(Job {
            key,
            entry,
            // Counted from now: the last of many waits no longer than the first.
            until: Instant::now() + RECORD,
            reply,
        });
        answer.await.unwrap_or_else(|_| Err(self.database.unanswered()))
    }
}

/// The state of the thread.
pub(super) struct Recording {
    database: Arc<Database>,
    turns: WriteQueue,
    connection: Option<Open>,
}

impl Recording {
    pub(super) fn new(database: Arc<Database>) -> Recording {
        Recording {
            turns: WriteQueue::open(&database.directory),
            database,
            connection: None,
        }
    }

    fn run(&mut self, jobs: &Receiver<Job>) {
        let mut waiting: Vec<Job> = Vec::new();
        loop {
            if waiting.is_empty() {
                match jobs.recv() {
                    Ok(job) => waiting.push(job),
                    Err(_) => return,
                }
            }
            let room = BATCH.saturating_sub(waiting.len());
            waiting.extend(jobs.try_iter().take(room));
            waiting = self.write(waiting);
        }
    }

    /// Writes rows in one transaction, and answers. Returns those that may still wait for others to let them write.
    fn write(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        let until = jobs.iter().map(|job| job.until).min().unwrap_or_else(Instant::now);
        let rows = || jobs.iter().map(|job| (job.key, &job.entry));
        let error = match self.insert(until, rows) {
            Ok(Ok(entries)) => {
                for (job, entry) in jobs.into_iter().zip(entries) {
                    job.reply.send(Ok(entry)).ok();
                }
                return Vec::new();
            }
            Ok(Err(error)) if is_busy(&error) => {
                let error = database_error(&self.database.path, &error);
                let now = Instant::now();
                let (over, waiting): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.until <= now);
                refuse(over, &error);
                return waiting;
            }
            Ok(Err(error)) => database_error(&self.database.path, &error),
            Err(error) => error,
        };
        refuse(jobs, &error);
        Vec::new()
    }

    /// Writes rows when it is this writer's turn, and again while others are in the way, in a transaction of their own.
    ///
    /// # Errors
    /// [`StoreError`] where the file is gone; inside it SQLite's.
    pub(super) fn insert<'r, R: Iterator<Item = (TurnKey, &'r NewEntry)>>(
        &mut self,
        until: Instant,
        rows: impl Fn() -> R,
    ) -> Result<rusqlite::Result<Vec<Entry>>, StoreError> {
        let Recording {
            database,
            turns,
            connection,
        } = self;
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
                match commit(&mut open.connection, rows()) {
                    Err(error) if is_busy(&error) && Instant::now() < until => {}
                    result => return result,
                }
            }
        });
        match &result {
            Ok(_) => database.succeeded(true),
            Err(error) => database.failed(connection.as_ref().map(|open| open.file), true, error),
        }
        Ok(result)
    }
}

fn commit<'r>(
    connection: &mut Connection,
    rows: impl Iterator<Item = (TurnKey, &'r NewEntry)>,
) -> rusqlite::Result<Vec<Entry>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let entries = rows
        .map(|(key, entry)| insert(&transaction, key, entry))
        .collect::<rusqlite::Result<_>>()?;
    transaction.commit()?;
    Ok(entries)
}

fn refuse(jobs: Vec<Job>, error: &StoreError) {
    for job in jobs {
        job.reply.send(Err(error.clone())).ok();
    }
}
