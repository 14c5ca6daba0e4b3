//! Lookups on the request's own worker.
//!
//! A lookup takes 10 us, and waking the reader's thread takes another 80 us: with one request at a time that halved the
//! requests per second. So a lookup runs on the worker if no other lookup is pending, on a connection of its own
//! without a busy timeout. Concurrent lookups go to the thread, which runs them in one transaction. After a slow
//! lookup, for example one that read the disk, the thread runs all lookups for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// The connection for lookups on the request's own worker.
pub(super) struct DirectReader {
    database: Arc<Database>,
    journal: Arc<Mutex<Journal>>,
    /// Pending lookups, here and on the thread.
    pending: AtomicUsize,
    state: Mutex<DirectState>,
}

#[derive(Default)]
struct DirectState {
    /// Opened by the thread, because opening is slow.
    open: Option<Open>,
    /// The time until which the thread runs all lookups.
    paused_until: Option<Instant>,
}

/// A pending lookup. Dropping it ends the lookup.
pub(super) struct PendingLookup<'a> {
    direct: &'a DirectReader,
    is_only: bool,
}

impl DirectReader {
    pub(super) fn new(database: Arc<Database>, journal: Arc<Mutex<Journal>>) -> DirectReader {
        DirectReader { database, journal, pending: AtomicUsize::new(0), state: Mutex::default() }
    }

    /// Counts a new lookup as pending.
    pub(super) fn enter(&self) -> PendingLookup<'_> {
        PendingLookup { is_only: self.pending.fetch_add(1, Ordering::Relaxed) == 0, direct: self }
    }

    /// Opens the connection, unless it is open on the file in use. The thread calls this after a successful lookup.
    pub(super) fn prepare(&self) {
        let file = self.database.file();
        let mut state = self.state.lock();
        state.open.take_if(|open| open.file != file);
        if state.open.is_none() {
            let opened = self.database.connect("NORMAL").and_then(|open| {
                open.connection.busy_timeout(Duration::ZERO)?;
                Ok(open)
            });
            state.open = opened.ok().filter(|open| open.file == file);
        }
    }

    fn look_up(&self, keys: &[TurnKey]) -> Option<Vec<Vec<Entry>>> {
        let mut state = self.state.try_lock()?;
        let started = Instant::now();
        if state.paused_until.is_some_and(|until| started < until) {
            return None;
        }
        self.database.check_path().ok()?;
        let file = self.database.file();
        let connection = &state.open.as_ref().filter(|open| open.file == file)?.connection;
        let noted = self.journal.lock().find(keys);
        let found = in_transaction(connection, || ledger::look_up(connection, &noted, keys));
        if started.elapsed() > SLOW {
            state.paused_until = Some(Instant::now() + PAUSE);
        }
        match found {
            Ok(found) => Some(found),
            // The thread repeats the lookup and handles its error.
            Err(_) => {
                state.open = None;
                None
            }
        }
    }
}

impl PendingLookup<'_> {
    /// The rows of each key; `None` if the thread has to look them up.
    pub(super) fn look_up(&self, keys: &[TurnKey]) -> Option<Vec<Vec<Entry>>> {
        self.is_only.then(|| self.direct.look_up(keys)).flatten()
    }
}

impl Drop for PendingLookup<'_> {
    fn drop(&mut self) {
        self.direct.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs `read` in a read transaction, so that its statements see one state of the database.
fn in_transaction<T>(connection: &Connection, read: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.execute_batch("BEGIN")?;
    let found = read();
    connection.execute_batch("ROLLBACK")?;
    found
}
