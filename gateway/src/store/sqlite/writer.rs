//! Writes that no request waits for, batched into few transactions by a thread of their own.
//!
//! What was noted is kept until it is written: a write that fails is tried again, at growing intervals and at the latest
//! at the end. While the ledger cannot be written the queue fills up, and only beyond its bound are new notes dropped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use muninn_repo_tools::Supervisor;
use rusqlite::{Connection, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::database::{Database, Open, busy, is_busy, is_damage, lock};
use super::journal::Journal;
use super::ledger::{insert, note_use};
use super::retention::{self, Bounds};
use super::usage::PendingUsage;
use super::worker::Worker;
use super::write_queue::WriteQueue;
use super::{NewEntry, Receipt, TurnKey, UsageSum, Use};

/// How long writes are gathered before they are carried out together.
const GATHER: Duration = Duration::from_millis(20);
/// How many may wait. Beyond that the newest are dropped and counted: a slow disk must not eat the memory.
const QUEUE: usize = 16_384;
/// So many are written in one transaction: a request that wants to write waits for no more.
const BATCH: usize = 512;
/// While so many could not be written, no more are taken from the queue.
const UNWRITTEN: usize = 4_096;
/// How long one write waits for its turn.
const TURN: Duration = Duration::from_secs(2);
/// The first and the longest pause before a failed write is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// How long a flush goes on trying while somebody else writes, or a damaged file is put aside.
const FLUSH: Duration = Duration::from_secs(8);
const CLEAN_EVERY: Duration = Duration::from_secs(3_600);
/// With so many pages the log is copied to the database.
const WAL_PAGES: i64 = 1_000;

enum Job {
    Receipt(Box<Receipt>),
    Uses(Vec<Use>),
    WentWithout(TurnKey, NewEntry),
    Usage(String, jiff::civil::Date, UsageSum),
    Flush(oneshot::Sender<()>),
}

/// The handle of the thread.
pub(super) struct Writer {
    worker: Worker<Job>,
    /// Jobs in the queue.
    queued: Arc<AtomicUsize>,
}

impl Writer {
    pub(super) fn start(
        supervisor: &Supervisor,
        database: Arc<Database>,
        journal: Arc<Mutex<Journal>>,
        bounds: Bounds,
    ) -> std::io::Result<Writer> {
        let queued = Arc::new(AtomicUsize::new(0));
        let mut state = Thread {
            turns: WriteQueue::open(&database.directory),
            database,
            connection: None,
            unwritten: Batch::default(),
            journal,
            bounds,
            queued: Arc::clone(&queued),
        };
        let worker = Worker::start(supervisor, "ledger-writer", move |jobs| state.run(jobs))?;
        Ok(Writer { worker, queued })
    }

    fn note(&self, job: Job) {
        if self.queued.load(Ordering::Relaxed) >= QUEUE {
            tracing::warn!("the ledger cannot be written, or not fast enough: a receipt was dropped");
            return;
        }
        self.send(job);
    }

    fn send(&self, job: Job) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        self.worker.send(job);
    }

    pub(super) fn receipt(&self, receipt: Receipt) {
        self.note(Job::Receipt(Box::new(receipt)));
    }

    pub(super) fn uses(&self, uses: Vec<Use>) {
        self.note(Job::Uses(uses));
    }

    pub(super) fn went_without(&self, key: TurnKey, entry: NewEntry) {
        self.note(Job::WentWithout(key, entry));
    }

    pub(super) fn usage(&self, key: String, day: jiff::civil::Date, usage: UsageSum) {
        self.note(Job::Usage(key, day, usage));
    }

    pub(super) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        self.send(Job::Flush(done));
        // The thread is gone if this fails, and then there is nothing left to wait for.
        let _ended = wait.await;
    }
}

/// The noted rows and receipts that are not written yet.
#[derive(Default)]
struct Batch {
    receipts: Vec<Receipt>,
    uses: Vec<Use>,
    went_without: Vec<(TurnKey, NewEntry)>,
    usage: PendingUsage,
    jobs: usize,
}

impl Batch {
    fn take(&mut self, job: Job, waiting: &mut Vec<oneshot::Sender<()>>) {
        self.jobs += 1;
        match job {
            Job::Receipt(receipt) => self.receipts.push(*receipt),
            Job::Uses(more) => self.uses.extend(more),
            Job::WentWithout(key, entry) => self.went_without.push((key, entry)),
            Job::Usage(key, day, sum) => self.usage.add(key, day, &sum),
            Job::Flush(done) => {
                self.jobs -= 1;
                waiting.push(done);
            }
        }
    }

    /// Writes all of it.
    fn write(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (key, entry) in &self.went_without {
            insert(&transaction, *key, entry)?;
        }
        for receipt in &self.receipts {
            let body = serde_json::to_string(receipt).unwrap_or_default();
            transaction
                .prepare_cached(
                    "INSERT INTO receipts (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                )?
                .execute(params![receipt.id, body])?;
        }
        for used in &self.uses {
            // An hour's precision is enough for retention, and spares a write for each request of a conversation.
            transaction
                .prepare_cached("UPDATE ledger SET used_ms = ?2 WHERE id = ?1 AND used_ms < ?2 - 3600000")?
                .execute(params![used.entry.0, now_ms])?;
            note_use(&transaction, used, now_ms)?;
        }
        self.usage.write(&transaction)?;
        transaction.commit()
    }
}

struct Thread {
    database: Arc<Database>,
    turns: WriteQueue,
    connection: Option<Open>,
    unwritten: Batch,
    journal: Arc<Mutex<Journal>>,
    bounds: Bounds,
    queued: Arc<AtomicUsize>,
}

impl Thread {
    fn run(&mut self, jobs: &Receiver<Job>) {
        let mut next_cleaning = Instant::now();
        let mut next_write = Instant::now();
        let mut pause = RETRY.0;
        loop {
            let mut waiting = Vec::new();
            let first = match self.unwritten.jobs {
                0 => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                _ => jobs.recv_timeout(next_write.saturating_duration_since(Instant::now())),
            };
            match first {
                Ok(job) => {
                    self.queued.fetch_sub(1, Ordering::Relaxed);
                    self.unwritten.take(job, &mut waiting);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Sleeping, not waiting for each of them: a wake-up per request would cost more than the write.
            if waiting.is_empty() {
                std::thread::sleep(GATHER);
            }
            let room = UNWRITTEN.saturating_sub(self.unwritten.jobs).min(BATCH);
            for job in jobs.try_iter().take(room) {
                self.queued.fetch_sub(1, Ordering::Relaxed);
                self.unwritten.take(job, &mut waiting);
            }
            if !waiting.is_empty() {
                self.insist();
            } else if Instant::now() >= next_write && self.write().is_err() {
                next_write = Instant::now() + pause;
                pause = (pause * 2).min(RETRY.1);
            }
            if self.unwritten.jobs == 0 {
                pause = RETRY.0;
            }
            if Instant::now() >= next_cleaning && self.unwritten.jobs == 0 {
                self.clean();
                next_cleaning = Instant::now() + CLEAN_EVERY;
            }
            for done in waiting {
                done.send(()).ok();
            }
        }
        self.insist();
        if self.unwritten.jobs > 0 {
            tracing::warn!("{} receipts and other notes could not be written", self.unwritten.jobs);
        }
    }

    /// Tries to write for as long as only others keep it from being written.
    fn insist(&mut self) {
        let until = Instant::now() + FLUSH;
        while self.unwritten.jobs > 0 && Instant::now() < until {
            match self.write() {
                Ok(()) => {}
                Err(error) if is_busy(&error) => std::thread::sleep(RETRY.0),
                Err(error) if is_damage(&error) => {
                    self.database.wait_for_repair();
                    std::thread::sleep(RETRY.0);
                }
                Err(_) => return,
            }
        }
    }

    /// Writes what is unwritten, or keeps it for the next time.
    fn write(&mut self) -> rusqlite::Result<()> {
        let mut batch = std::mem::take(&mut self.unwritten);
        if batch.jobs == 0 || (self.database.look().is_err() && self.connection.is_none()) {
            // In the latter case there is no file that it could be written to, and will be none before a restart.
            return Ok(());
        }
        let written = self.with_turn(|connection| batch.write(connection));
        match &written {
            Ok(()) => lock(&self.journal).written(std::mem::take(&mut batch.went_without)),
            Err(_) => self.unwritten = batch,
        }
        written
    }

    /// Runs a short write when it is this writer's turn.
    fn with_turn<T>(&mut self, write: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let result = {
            let turn = self.turns.wait(Instant::now() + TURN);
            // Looked at in the turn, in which nobody puts the file aside. One that was removed is written all the same:
            // what is noted about running conversations is found there as long as this process lives.
            let _removed = self.database.look();
            let file = self.database.file();
            self.connection.take_if(|open| open.file != file);
            turn.ok_or_else(busy).and_then(|_turn| {
                let open = match &mut self.connection {
                    Some(open) => open,
                    none => none.insert(self.database.connect("NORMAL")?),
                };
                write(&mut open.connection)
            })
        };
        match &result {
            Ok(_) => self.database.succeeded(true),
            Err(error) => {
                let file = self.connection.as_ref().map(|open| open.file);
                self.database.failed(file, true, error);
            }
        }
        if let (Ok(_), Some(open)) = (&result, &self.connection) {
            checkpoint(&open.connection);
        }
        result
    }

    /// Forgets what is too old or too much. What cannot be done now is done the next time.
    fn clean(&mut self) {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let bounds = self.bounds;
        let _tried_again: rusqlite::Result<()> = (|| {
            let clock = self.with_turn(|connection| retention::set_clock(connection, now_ms))?;
            let Some(open) = &self.connection else {
                return Ok(());
            };
            for mut step in retention::steps(&open.connection, bounds, clock)? {
                while self.with_turn(|connection| step(connection))?.is_continue() {}
            }
            Ok(())
        })();
    }
}

/// Copies a long log to the database. Nobody waits for it: it is nobody's turn.
fn checkpoint(connection: &Connection) {
    let pages = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?)));
    if pages.is_ok_and(|(pages, copied): (i64, i64)| pages > WAL_PAGES && copied < pages) {
        let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = copied {
            tracing::debug!(%error, "the ledger's log could not be shortened");
        }
    }
}
