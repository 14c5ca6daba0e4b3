//! Writes that no request waits for, batched into few transactions on a thread of their own.
//!
//! A failed write is retried at growing intervals, and once more at the end. While the ledger cannot be written, the
//! queue grows to its bound; then new notes are dropped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use muninn_base::Supervisor;
use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::connection::{Open, busy};
use super::database::{Database, is_busy, is_damage};
use super::journal::Journal;
use super::ledger::{insert, note_use};
use super::retention::{self, Bounds};
use super::usage::PendingUsage;
use super::worker::Worker;
use super::write_queue::WriteQueue;
use super::{NewEntry, Receipt, TurnKey, UsageSum, Use};

/// How long writes are collected for one batch.
const GATHER: Duration = Duration::from_millis(20);
/// Maximum number of queued jobs. Newer ones are dropped, so that a slow disk does not exhaust the memory.
const QUEUE: usize = 16_384;
/// Maximum number of jobs in one transaction, so that a request waits for a short write only.
const BATCH: usize = 512;
/// Number of unwritten jobs at which no more are taken from the queue.
const UNWRITTEN: usize = 4_096;
/// How long one write waits for its turn.
const TURN: Duration = Duration::from_secs(2);
/// The first and the longest pause before a retry.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// How long a flush retries while another writer holds the database, or a damaged file is repaired.
const FLUSH: Duration = Duration::from_secs(8);
const CLEAN_EVERY: Duration = Duration::from_secs(3_600);
/// Number of pages in the log above which it is copied to the database.
const WAL_PAGES: i64 = 1_000;

enum Job {
    Receipt(Arc<Receipt>),
    Uses(Vec<Use>),
    WithoutBlock(TurnKey, NewEntry),
    Usage(String, jiff::civil::Date, UsageSum),
    Flush(oneshot::Sender<()>),
}

/// The handle of the thread.
pub(super) struct Writer {
    worker: Worker<Job>,
    /// Jobs in the queue.
    queued: Arc<AtomicUsize>,
    noted: Mutex<NotedReceipts>,
}

/// The receipts in the queue by conversation and first words. Each is owned by its job until it is written.
#[derive(Default)]
struct NotedReceipts {
    of: HashMap<String, HashMap<String, Vec<Weak<Receipt>>>>,
    /// Their number, with those that were written since the last removal.
    count: usize,
    /// The number at which written ones are removed.
    most: usize,
}

impl NotedReceipts {
    fn add(&mut self, receipt: &Arc<Receipt>) {
        let Some(conversation) = receipt.conversation() else { return };
        if self.count >= self.most {
            self.remove_written();
        }
        let of_conversation = self.of.entry(conversation.to_owned()).or_default();
        of_conversation.entry(receipt.first_words.clone()).or_default().push(Arc::downgrade(receipt));
        self.count += 1;
    }

    fn remove_written(&mut self) {
        self.count = 0;
        self.of.retain(|_, by_words| {
            by_words.retain(|_, receipts| {
                receipts.retain(|receipt| receipt.strong_count() > 0);
                self.count += receipts.len();
                !receipts.is_empty()
            });
            !by_words.is_empty()
        });
        // At least twice the number that is left, so that a removal costs each addition a constant time.
        self.most = (2 * self.count).max(BATCH);
    }

    /// Those of a conversation, or of it those `about` words or without any. Of those with one id, the newest comes first.
    fn of(&self, conversation: &str, about: Option<&str>) -> Vec<Receipt> {
        let Some(by_words) = self.of.get(conversation) else { return Vec::new() };
        let found: Vec<_> = match about {
            None => by_words.values().collect(),
            Some("") => by_words.get("").into_iter().collect(),
            Some(about) => ["", about].iter().filter_map(|words| by_words.get(*words)).collect(),
        };
        let receipts = found.into_iter().flat_map(|receipts| receipts.iter().rev());
        receipts.filter_map(Weak::upgrade).map(Arc::unwrap_or_clone).collect()
    }
}

impl Writer {
    pub(super) fn start(
        supervisor: &Supervisor,
        database: Arc<Database>,
        journal: Arc<Mutex<Journal>>,
        bounds: Bounds,
    ) -> std::io::Result<Writer> {
        let queued = Arc::new(AtomicUsize::new(0));
        let mut thread = WriterThread {
            turns: WriteQueue::open(&database.directory),
            database,
            connection: None,
            unwritten: Batch::default(),
            journal,
            bounds,
            queued: Arc::clone(&queued),
        };
        let worker = Worker::start(supervisor, "ledger-writer", move |jobs| thread.run(jobs))?;
        Ok(Writer { worker, queued, noted: Mutex::default() })
    }

    fn note(&self, job: Job) {
        if self.queued.load(Ordering::Relaxed) >= QUEUE {
            tracing::warn!("the ledger cannot be written, or not fast enough: dropped a receipt or another note");
            return;
        }
        self.send(job);
    }

    fn send(&self, job: Job) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        self.worker.send(job);
    }

    pub(super) fn receipt(&self, receipt: Receipt) {
        let receipt = Arc::new(receipt);
        self.noted.lock().add(&receipt);
        self.note(Job::Receipt(receipt));
    }

    /// The receipts of a conversation that are not written yet; see [`NotedReceipts::of`].
    pub(super) fn unwritten_receipts_of(&self, conversation: &str, about: Option<&str>) -> Vec<Receipt> {
        self.noted.lock().of(conversation, about)
    }

    pub(super) fn uses(&self, uses: Vec<Use>) {
        self.note(Job::Uses(uses));
    }

    pub(super) fn without_block(&self, key: TurnKey, entry: NewEntry) {
        self.note(Job::WithoutBlock(key, entry));
    }

    pub(super) fn usage(&self, key: String, day: jiff::civil::Date, usage: UsageSum) {
        self.note(Job::Usage(key, day, usage));
    }

    pub(super) async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        self.send(Job::Flush(done));
        // An error means that the thread has ended, so that nothing is left to wait for.
        wait.await.ok();
    }
}

/// The noted rows, receipts and usage that are not written yet.
#[derive(Default)]
struct Batch {
    receipts: Vec<Arc<Receipt>>,
    uses: Vec<Use>,
    without_block: Vec<(TurnKey, NewEntry)>,
    usage: PendingUsage,
    jobs: usize,
}

impl Batch {
    fn take(&mut self, job: Job, waiting: &mut Vec<oneshot::Sender<()>>) {
        self.jobs += 1;
        match job {
            Job::Receipt(receipt) => self.receipts.push(receipt),
            Job::Uses(more) => self.uses.extend(more),
            Job::WithoutBlock(key, entry) => self.without_block.push((key, entry)),
            Job::Usage(key, day, sum) => self.usage.add(key, day, &sum),
            Job::Flush(done) => {
                self.jobs -= 1;
                waiting.push(done);
            }
        }
    }

    /// Writes the batch in one transaction.
    fn write(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (key, entry) in &self.without_block {
            insert(&transaction, *key, entry)?;
        }
        for receipt in &self.receipts {
            let body = serde_json::to_string(&**receipt).expect("all keys are strings");
            transaction
                .prepare_cached(
                    "INSERT INTO receipts (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                )?
                .execute(params![receipt.id, body])?;
        }
        for used in &self.uses {
            // A precision of an hour is enough for retention, and saves a write for each request of a conversation.
            transaction
                .prepare_cached("UPDATE ledger SET used_ms = ?2 WHERE id = ?1 AND used_ms < ?2 - 3600000")?
                .execute(params![used.entry.0, now_ms])?;
            note_use(&transaction, used, now_ms)?;
        }
        self.usage.write(&transaction)?;
        transaction.commit()
    }
}

/// The state of the thread.
struct WriterThread {
    database: Arc<Database>,
    turns: WriteQueue,
    connection: Option<Open>,
    unwritten: Batch,
    journal: Arc<Mutex<Journal>>,
    bounds: Bounds,
    queued: Arc<AtomicUsize>,
}

impl WriterThread {
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
            // The thread sleeps instead of waiting for each job: a wake-up per request would cost more than the write.
            if waiting.is_empty() && self.queued.load(Ordering::Relaxed) < BATCH {
                std::thread::sleep(GATHER);
            }
            let room = UNWRITTEN.saturating_sub(self.unwritten.jobs).min(BATCH);
            for job in jobs.try_iter().take(room) {
                self.queued.fetch_sub(1, Ordering::Relaxed);
                self.unwritten.take(job, &mut waiting);
            }
            if !waiting.is_empty() {
                self.write_with_retries();
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
        self.write_with_retries();
        if self.unwritten.jobs > 0 {
            tracing::warn!("cannot write {} receipts and other notes to the ledger", self.unwritten.jobs);
        }
    }

    /// Writes the unwritten batch. Retries for [`FLUSH`] while another writer holds the database or a repair runs.
    fn write_with_retries(&mut self) {
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

    /// Writes the unwritten batch; keeps it after a failure.
    fn write(&mut self) -> rusqlite::Result<()> {
        let mut batch = std::mem::take(&mut self.unwritten);
        if batch.jobs == 0 || (self.database.check_path().is_err() && self.connection.is_none()) {
            // A removed file without an open connection cannot be written until a restart, so the batch is dropped.
            return Ok(());
        }
        let written = self.with_turn(|connection| batch.write(connection));
        match &written {
            Ok(()) => self.journal.lock().remove(std::mem::take(&mut batch.without_block), &batch.uses),
            Err(_) => self.unwritten = batch,
        }
        written
    }

    /// Runs a short write when it is this writer's turn.
    fn with_turn<T>(&mut self, write: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let result = {
            let turn = self.turns.wait(Instant::now() + TURN);
            // Checked during the turn, while no other process can replace the file. A removed file is written too:
            // this process finds the rows of running conversations there.
            self.database.check_path().ok();
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
            Ok(_) => self.database.note_success(true),
            Err(error) => {
                let file = self.connection.as_ref().map(|open| open.file);
                self.database.note_failure(file, true, error);
            }
        }
        if let (Ok(_), Some(open)) = (&result, &self.connection) {
            checkpoint(&open.connection);
        }
        result
    }

    /// Deletes rows beyond the limits of age and size. After an error the rest waits for the next cleaning.
    fn clean(&mut self) {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let bounds = self.bounds;
        let mut clean = || -> rusqlite::Result<()> {
            let clock = self.with_turn(|connection| retention::set_clock(connection, now_ms))?;
            let Some(open) = &self.connection else {
                return Ok(());
            };
            for mut step in retention::steps(&open.connection, bounds, clock)? {
                while self.with_turn(|connection| step(connection))?.is_continue() {}
            }
            Ok(())
        };
        clean().ok();
    }
}

/// Copies a long log to the database. Runs outside of any writer's turn, so no writer waits for it.
fn checkpoint(connection: &Connection) {
    let pages = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?)));
    if pages.is_ok_and(|(pages, copied): (i64, i64)| pages > WAL_PAGES && copied < pages) {
        let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = copied {
            tracing::debug!(%error, "cannot checkpoint the ledger's log");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn receipt(id: usize, session: &str, words: &str) -> Arc<Receipt> {
        let session = Some(session.to_owned());
        Arc::new(Receipt { session, ..Receipt::of(id.to_string(), Path::new("/w"), words) })
    }

    #[test]
    fn noted_receipts_are_found_until_they_are_written() {
        let mut noted = NotedReceipts::default();
        let kept = [receipt(0, "a", "one"), receipt(1, "a", "two"), receipt(2, "a", ""), receipt(3, "b", "one")];
        kept.iter().for_each(|receipt| noted.add(receipt));
        let found = |noted: &NotedReceipts, about| {
            let mut ids: Vec<_> = noted.of("a", about).into_iter().map(|receipt| receipt.id).collect();
            ids.sort();
            ids
        };
        assert_eq!(found(&noted, None), ["0", "1", "2"]);
        assert_eq!(found(&noted, Some("one")), ["0", "2"]);
        assert_eq!(found(&noted, Some("")), ["2"]);
        // Written ones are dropped by their jobs.
        for id in 4..100_000 {
            noted.add(&receipt(id, "c", "three"));
        }
        assert_eq!(noted.count, noted.of.values().flat_map(HashMap::values).map(Vec::len).sum::<usize>());
        assert!(noted.count <= 2 * BATCH, "{}", noted.count);
        assert_eq!(found(&noted, None), ["0", "1", "2"]);
        drop(kept);
        noted.remove_written();
        assert!(noted.of.is_empty());
    }
}
