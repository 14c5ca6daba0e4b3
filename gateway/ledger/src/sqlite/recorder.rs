//! Durable writes of ledger rows, on a thread of their own.
//!
//! Each commit has a full sync: losing a block that a backend received would break the conversation's prompt cache and
//! its signatures. Waiting rows are committed together.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use muninn_base::Supervisor;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::connection::{Open, busy, database_error};
use super::database::{Database, is_busy};
use super::ledger::{insert, note_use};
use super::worker::Worker;
use super::write_queue::WriteQueue;
use super::{Entry, NewEntry, StoreError, TurnKey, Use};

/// How long a request may wait until its row is written.
const RECORD: Duration = Duration::from_secs(2);
/// Maximum number of rows in one commit.
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
    pub(super) fn start(supervisor: &Supervisor, mut thread: RecorderThread) -> std::io::Result<Recorder> {
        let database = Arc::clone(&thread.database);
        let worker = Worker::start(supervisor, "ledger-recorder", move |jobs| thread.run(jobs))?;
        Ok(Recorder { worker, database })
    }

    /// Writes a row unless the conversation has one. Dropping the future after its first poll does not cancel the
    /// write.
    pub(super) async fn record(&self, key: TurnKey, entry: NewEntry) -> Result<Entry, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.worker.send(Job {
            key,
            entry,
            // The deadline starts when the job is queued, so that a job in a long queue waits no longer than others.
            until: Instant::now() + RECORD,
            reply,
        });
        answer.await.unwrap_or_else(|_| Err(self.database.unanswered()))
    }
}

/// The state of the thread.
pub(super) struct RecorderThread {
    database: Arc<Database>,
    turns: WriteQueue,
    connection: Option<Open>,
}

impl RecorderThread {
    pub(super) fn new(database: Arc<Database>) -> RecorderThread {
        RecorderThread { turns: WriteQueue::open(&database.directory), database, connection: None }
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

    /// Writes rows in one transaction and sends the replies. If another writer holds the database, returns the jobs
    /// whose deadline has not passed.
    fn write(&mut self, jobs: Vec<Job>) -> Vec<Job> {
        let until = jobs.iter().map(|job| job.until).min().unwrap_or_else(Instant::now);
        let rows = || jobs.iter().map(|job| (job.key, &job.entry));
        let error = match self.insert(until, rows, &[]) {
            Ok(Ok(entries)) => {
                for (job, entry) in jobs.into_iter().zip(entries) {
                    job.reply.send(Ok(entry)).ok();
                }
                return Vec::new();
            }
            Ok(Err(error)) if is_busy(&error) => {
                let error = database_error(&self.database.path, &error);
                let now = Instant::now();
                let (expired, waiting): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.until <= now);
                refuse(expired, &error);
                return waiting;
            }
            Ok(Err(error)) => database_error(&self.database.path, &error),
            Err(error) => error,
        };
        refuse(jobs, &error);
        Vec::new()
    }

    /// Writes rows and uses in one transaction when it is this writer's turn. Retries until `until` while another connection
    /// holds the database.
    ///
    /// # Errors
    /// [`StoreError`] if the file was removed; the inner error is SQLite's.
    pub(super) fn insert<'r, R: Iterator<Item = (TurnKey, &'r NewEntry)>>(
        &mut self,
        until: Instant,
        rows: impl Fn() -> R,
        uses: &[Use],
    ) -> Result<rusqlite::Result<Vec<Entry>>, StoreError> {
        let RecorderThread { database, turns, connection } = self;
        let turn = turns.wait(until);
        // Checked during the turn, while no other process can replace the file.
        database.check_path()?;
        let file = database.file();
        connection.take_if(|open| open.file != file);
        let result = turn.ok_or_else(busy).and_then(|_turn| {
            let open = match &mut *connection {
                Some(open) => open,
                none => none.insert(database.connect("FULL")?),
            };
            loop {
                match commit(&mut open.connection, rows(), uses) {
                    Err(error) if is_busy(&error) && Instant::now() < until => {}
                    result => return result,
                }
            }
        });
        match &result {
            Ok(_) => database.note_success(true),
            Err(error) => database.note_failure(connection.as_ref().map(|open| open.file), true, error),
        }
        Ok(result)
    }
}

fn commit<'r>(
    connection: &mut Connection,
    rows: impl Iterator<Item = (TurnKey, &'r NewEntry)>,
    uses: &[Use],
) -> rusqlite::Result<Vec<Entry>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let entries = rows.map(|(key, entry)| insert(&transaction, key, entry)).collect::<rusqlite::Result<_>>()?;
    let now_ms = jiff::Timestamp::now().as_millisecond();
    uses.iter().try_for_each(|used| note_use(&transaction, used, now_ms))?;
    transaction.commit()?;
    Ok(entries)
}

fn refuse(jobs: Vec<Job>, error: &StoreError) {
    for job in jobs {
        job.reply.send(Err(error.clone())).ok();
    }
}
