//! Lookups on the worker of the request that asks.
//!
//! A lookup takes 10 us, and to have a sleeping thread do it another 80: with one request at a time that halved the
//! requests per second. So a lookup beside which no other waits is done at once, on a connection of its own that waits
//! for nobody. Lookups that come together are the thread's, which answers them in one transaction. Where a lookup was
//! slow, as on a disk that has to be read, the thread does them all for a while.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::database::{Database, Open, lock};
use super::journal::Journal;
use super::ledger;
use super::{Entry, TurnKey};

/// A lookup that takes longer waited for the disk. A busy processor takes less than this for another thread's turn.
const SLOW: Duration = Duration::from_millis(5);
/// How long the thread does all lookups after a slow one.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Direct {
    database: Arc<Database>,
    journal: Arc<Mutex<Journal>>,
    /// Lookups that are under way, here or by the thread.
    waiting: AtomicUsize,
    lane: Mutex<Lane>,
}

#[derive(Default)]
struct Lane {
    /// Opened by the thread, since that takes long.
    open: Option<Open>,
    /// Until when the thread does all lookups.
    paused: Option<Instant>,
}

/// A lookup that is under way, until this is dropped.
pub(super) struct Waiting<'a> {
    direct: &'a Direct,
    is_alone: bool,
}

impl Direct {
    pub(super) fn new(database: Arc<Database>, journal: Arc<Mutex<Journal>>) -> Direct {
        Direct {
            database,
            journal,
            waiting: AtomicUsize::new(0),
            lane: Mutex::default(),
        }
    }

    /// Counts a lookup.
    pub(super) fn enter(&self) -> Waiting<'_> {
        Waiting {
            is_alone: self.waiting.fetch_add(1, Ordering::Relaxed) == 0,
            direct: self,
        }
    }

    /// Opens the connection, unless it is open on the file in use. For the thread, after a lookup that succeeded.
    pub(super) fn prepare(&self) {
        let file = self.database.file();
        let mut lane = lock(&self.lane);
        lane.open.take_if(|open| open.file != file);
        if lane.open.is_none() {
            let opened = self.database.connect("NORMAL").and_then(|open| {
                open.connection.busy_timeout(Duration::ZERO)?;
                Ok(open)
            });
            lane.open = opened.ok().filter(|open| open.file == file);
        }
    }

    fn look_up(&self, keys: &[TurnKey]) -> Option<Vec<Vec<Entry>>> {
        let mut lane = self.lane.try_lock().ok()?;
        let started = Instant::now();
        if lane.paused.is_some_and(|until| started < until) {
            return None;
        }
        self.database.look().ok()?;
        let file = self.database.file();
        let connection = &lane.open.as_ref().filter(|open| open.file == file)?.connection;
        let noted = lock(&self.journal).under(keys);
        let found = in_transaction(connection, || ledger::look_up(connection, &noted, keys));
        if started.elapsed() > SLOW {
            lane.paused = Some(Instant::now() + PAUSE);
        }
        match found {
            Ok(found) => Some(found),
            // The thread comes across it as well, and sees to it.
            Err(_) => {
                lane.open = None;
                None
            }
        }
    }
}

impl Waiting<'_> {
    /// The rows under each key; `None` where the thread has to look them up.
    pub(super) fn look_up(&self, keys: &[TurnKey]) -> Option<Vec<Vec<Entry>>> {
        self.is_alone.then(|| self.direct.look_up(keys)).flatten()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.direct.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All that is read sees the database at one moment.
fn in_transaction<T>(connection: &Connection, read: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    connection.execute_batch("BEGIN")?;
    let found = read();
    connection.execute_batch("ROLLBACK")?;
    found
}
