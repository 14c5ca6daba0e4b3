//! Lookups on the request's own worker.
//!
//! A lookup takes 10 us, and waking the reader's thread takes another 80 us: with one request at a time that halved the
//! requests per second. So a lookup runs on the worker, on a connection without a busy timeout that no other worker uses at
//! the time. After a slow lookup, for example one that read the disk, the thread runs all lookups for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rusqlite::Connection;

use super::connection::Open;
use super::database::Database;
use super::journal::Journal;
use super::{Entry, TurnKey, ledger};

/// Duration above which a lookup is slow because of the disk. Waiting for another thread on a busy processor takes
/// less.
const SLOW: Duration = Duration::from_millis(5);
/// How long the thread runs all lookups after a slow one.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections for lookups on the request's own worker.
pub(super) struct DirectReader {
    database: Arc<Database>,
    journal: Arc<Mutex<Journal>>,
    /// One for each processor, as there is one worker for each. The thread opens them, because opening is slow.
    connections: Vec<Mutex<Option<Open>>>,
    /// The time until which the thread runs all lookups.
    paused_until: Mutex<Option<Instant>>,
}

impl DirectReader {
    pub(super) fn new(database: Arc<Database>, journal: Arc<Mutex<Journal>>) -> DirectReader {
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let connections = std::iter::repeat_with(Mutex::default).take(processors).collect();
        DirectReader { database, journal, connections, paused_until: Mutex::default() }
    }

    /// Opens the connections, unless they are open on the file in use. The thread calls this after a successful lookup.
    pub(super) fn prepare(&self) {
        let file = self.database.file();
        // One that is in use is open.
        for mut connection in self.connections.iter().filter_map(Mutex::try_lock) {
            connection.take_if(|open| open.file != file);
            if connection.is_none() {
                let opened = self.database.connect("NORMAL").and_then(|open| {
                    open.connection.busy_timeout(Duration::ZERO)?;
                    Ok(open)
                });
                *connection = opened.ok().filter(|open| open.file == file);
            }
        }
    }

    /// The rows of each key; `None` if the thread has to look them up.
    pub(super) fn look_up(&self, keys: &[TurnKey]) -> Option<Vec<Vec<Entry>>> {
        let started = Instant::now();
        if self.paused_until.lock().is_some_and(|until| started < until) {
            return None;
        }
        self.database.check_path().ok()?;
        let file = self.database.file();
        let mut free = self.connections.iter().filter_map(Mutex::try_lock);
        let mut held = free.find(|held| held.as_ref().is_some_and(|open| open.file == file))?;
        let noted = self.journal.lock().find(keys);
        let connection = &held.as_ref()?.connection;
        let found = in_transaction(connection, || ledger::look_up(connection, &noted, keys));
        if started.elapsed() > SLOW {
            *self.paused_until.lock() = Some(Instant::now() + PAUSE);
        }
        if found.is_err() {
            // The thread repeats the lookup and handles its error.
            *held = None;
        }
        found.ok()
    }

    /// Keeps all connections in use, as workers do that look something up.
    #[cfg(test)]
    pub(super) fn hold(&self) -> Vec<parking_lot::MutexGuard<'_, Option<Open>>> {
        self.connections.iter().map(Mutex::lock).collect()
    }
}

/// Runs `read` in a read transaction, so that its statements see one state of the database.
fn in_transaction<T>(connection: &Connection, read: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.execute_batch("BEGIN")?;
    let found = read();
    connection.execute_batch("ROLLBACK")?;
    found
}
