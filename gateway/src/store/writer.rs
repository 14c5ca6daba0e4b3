//! Writes that no request waits for, gathered into few transactions by a thread of their own.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior, params};

use super::journal::Journal;
use super::ledger::{insert, note_use};
use super::sqlite::{connect, lock};
use super::usage::Gathered;
use super::{NewEntry, Receipt, UsageSum, Use};
use crate::config::LimitsConfig;
use crate::inject::TurnKey;

/// How long writes are gathered before they are carried out together.
const GATHER: Duration = Duration::from_millis(20);
/// How many may wait. Beyond that the newest are dropped and counted: a slow disk must not eat the memory.
const QUEUE: usize = 16_384;
const BATCH: usize = 4_096;
const RECEIPTS_KEPT: u32 = 20_000;
const CLEAN_EVERY: Duration = Duration::from_secs(3_600);
const DAY_MS: i64 = 86_400_000;

enum Job {
    Receipt(Box<Receipt>),
    Uses(Vec<Use>),
    WentWithout(TurnKey, NewEntry),
    Usage(String, jiff::civil::Date, UsageSum),
    Flush(SyncSender<()>),
}

/// The queue's end that requests hold. The thread ends when it is dropped, after writing what was queued.
pub(super) struct Writer {
    queue: Option<SyncSender<Job>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(path: PathBuf, journal: Arc<Mutex<Journal>>, limits: &LimitsConfig) -> Writer {
        let (queue, jobs) = sync_channel(QUEUE);
        let state = Thread {
            path,
            connection: None,
            unwritten: Vec::new(),
            journal,
            ledger_days: limits.ledger_days,
            ledger_megabytes: limits.ledger_megabytes,
        };
        let thread = std::thread::Builder::new()
            .name("muninn-writer".into())
            .spawn(move || state.run(&jobs));
        if let Err(error) = &thread {
            tracing::warn!(%error, "no thread for receipts: none will be kept");
        }
        Writer {
            queue: Some(queue),
            thread: thread.ok(),
        }
    }

    fn send(&self, job: Job) {
        if let Some(queue) = &self.queue
            && queue.try_send(job).is_err()
        {
            tracing::warn!("the disk is too slow: a receipt was dropped");
        }
    }

    pub(super) fn receipt(&self, receipt: Receipt) {
        self.send(Job::Receipt(Box::new(receipt)));
    }

    pub(super) fn uses(&self, uses: Vec<Use>) {
        self.send(Job::Uses(uses));
    }

    pub(super) fn went_without(&self, key: TurnKey, entry: NewEntry) {
        self.send(Job::WentWithout(key, entry));
    }

    pub(super) fn usage(&self, key: String, day: jiff::civil::Date, usage: UsageSum) {
        self.send(Job::Usage(key, day, usage));
    }

    pub(super) fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if let Some(queue) = &self.queue
            && queue.send(Job::Flush(done)).is_ok()
        {
            // The thread is gone if this fails, and then there is nothing left to wait for.
            let _ended = wait.recv();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

struct Thread {
    path: PathBuf,
    connection: Option<Connection>,
    /// Turns that went without and could not be written yet; tried again with every batch.
    unwritten: Vec<(TurnKey, NewEntry)>,
    journal: Arc<Mutex<Journal>>,
    ledger_days: u32,
    ledger_megabytes: u32,
}

impl Thread {
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut next_cleaning = Instant::now();
        while let Ok(first) = jobs.recv() {
            let mut waiting = Vec::new();
            let mut batch = Vec::new();
            take(first, &mut batch, &mut waiting);
            // Sleeping, not waiting for each of them: a wake-up per request would cost more than the write.
            if waiting.is_empty() {
                std::thread::sleep(GATHER);
            }
            for job in jobs.try_iter().take(BATCH) {
                take(job, &mut batch, &mut waiting);
            }
            self.write(batch);
            if Instant::now() >= next_cleaning {
                self.tolerate("cleaning", |thread| thread.clean());
                next_cleaning = Instant::now() + CLEAN_EVERY;
            }
            for done in waiting {
                let _nobody_waits = done.send(());
            }
        }
    }

    fn write(&mut self, batch: Vec<Job>) {
        let mut uses = Vec::new();
        let mut receipts = Vec::new();
        let mut usage = Gathered::default();
        for job in batch {
            match job {
                Job::Receipt(receipt) => receipts.push(receipt),
                Job::Uses(more) => uses.extend(more),
                Job::WentWithout(key, entry) => self.unwritten.push((key, entry)),
                Job::Usage(key, day, sum) => usage.add(key, day, &sum),
                Job::Flush(_) => {}
            }
        }
        self.tolerate("turns that went without", Thread::write_went_without);
        self.tolerate("receipts", |thread| thread.write_rest(&receipts, &uses, &usage));
    }

    /// Runs a write; a failure is logged and costs no more than what it was about.
    fn tolerate(&mut self, what: &str, write: impl FnOnce(&mut Thread) -> rusqlite::Result<()>) {
        if let Err(error) = write(self) {
            self.connection = None;
            tracing::warn!(%error, "{what} could not be written");
        }
    }

    fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.path, "NORMAL")?,
        };
        Ok(self.connection.insert(connection))
    }

    fn write_went_without(&mut self) -> rusqlite::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let unwritten = std::mem::take(&mut self.unwritten);
        let written = self.connection().and_then(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (key, entry) in &unwritten {
                insert(&transaction, *key, entry)?;
            }
            transaction.commit()
        });
        match written {
            Ok(()) => lock(&self.journal).written(unwritten),
            Err(_) => self.unwritten = unwritten,
        }
        written
    }

    fn write_rest(&mut self, receipts: &[Box<Receipt>], uses: &[Use], usage: &Gathered) -> rusqlite::Result<()> {
        if receipts.is_empty() && uses.is_empty() && usage.is_empty() {
            return Ok(());
        }
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let transaction = self
            .connection()?
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for receipt in receipts {
            let body = serde_json::to_string(receipt).unwrap_or_default();
            transaction
                .prepare_cached("INSERT OR REPLACE INTO receipts (id, body) VALUES (?1, ?2)")?
                .execute(params![receipt.id, body])?;
        }
        for used in uses {
            // A day's precision is enough for retention, and spares a write for each request of a conversation.
            transaction
                .prepare_cached("UPDATE ledger SET used_ms = ?2 WHERE id = ?1 AND used_ms < ?2 - 3600000")?
                .execute(params![used.entry, now_ms])?;
            note_use(&transaction, used, now_ms)?;
        }
        usage.write(&transaction)?;
        transaction.commit()
    }

    /// Forgets what has not been used for long, and the oldest beyond the size limit; never what was used today.
    fn clean(&mut self) -> rusqlite::Result<()> {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let limit = i64::from(self.ledger_megabytes) << 20;
        let oldest = now_ms - i64::from(self.ledger_days) * DAY_MS;
        let connection = self.connection()?;
        connection.execute("DELETE FROM ledger WHERE used_ms < ?1", [oldest.min(now_ms - DAY_MS)])?;
        connection.execute(
            "DELETE FROM receipts WHERE id < (SELECT id FROM receipts ORDER BY id DESC LIMIT 1 OFFSET ?1)",
            [RECEIPTS_KEPT],
        )?;
        let bytes: i64 = connection.query_row("SELECT coalesce(sum(length(block)), 0) FROM ledger", [], |row| {
            row.get(0)
        })?;
        if bytes > limit {
            let excess = bytes - limit;
            connection.execute(
                "DELETE FROM ledger WHERE used_ms < ?1 AND id IN (SELECT id FROM (
                    SELECT id, sum(coalesce(length(block), 0)) OVER (ORDER BY used_ms, id) - coalesce(length(block), 0) AS before
                    FROM ledger) WHERE before < ?2)",
                params![now_ms - DAY_MS, excess],
            )?;
        }
        Ok(())
    }
}

fn take(job: Job, batch: &mut Vec<Job>, waiting: &mut Vec<SyncSender<()>>) {
    match job {
        Job::Flush(done) => waiting.push(done),
        job => batch.push(job),
    }
}
