//! A read-only check of the ledger for `muninn doctor`.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use muninn_base::database;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use thiserror::Error;

use super::database::is_damage;
use super::file_id::BUSY;
use super::retention::{Clock, DAY_MS};
use super::{DamagedLedger, damage, schema};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inspected {
    /// There is no ledger yet.
    Missing,
    /// No damage.
    Sound {
        /// Turns in the ledger.
        turns: i64,
        /// The days by which the clock has moved since the last cleaning, if the step is implausible.
        moved_days: Option<i64>,
    },
    /// No damage in the part that was read before the timeout.
    Large,
    /// Damage, with SQLite's message.
    Damaged(String),
    /// A newer program wrote the ledger.
    Newer {
        /// The schema version of the file.
        version: i32,
        /// The newest schema version that this program reads.
        known: i32,
    },
}

/// The ledger cannot be read; contains SQLite's message.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Unreadable(String);

/// The renamed damaged ledgers of a state directory, oldest first.
pub fn damaged_ledgers(state_dir: &Path) -> Vec<DamagedLedger> {
    damage::list_renamed(state_dir)
}

/// Checks the ledger of a state directory for at most `timeout`.
///
/// # Errors
/// `Unreadable` if SQLite cannot read it.
pub fn inspect(state_dir: &Path, timeout: Duration) -> Result<Inspected, Unreadable> {
    let path = state_dir.join("state.db");
    if path.metadata().is_ok_and(|found| found.len() == 0) || !path.exists() {
        return Ok(Inspected::Missing);
    }
    match check(&path, timeout) {
        Err(error) if is_damage(&error) => Ok(Inspected::Damaged(error.to_string())),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => Ok(Inspected::Large),
        found => found.map_err(|error| Unreadable(error.to_string())),
    }
}

fn check(path: &Path, timeout: Duration) -> rusqlite::Result<Inspected> {
    let connection = open(path)?;
    connection.busy_timeout(BUSY)?;
    let version = schema::version(&connection)?;
    if version > schema::VERSION {
        let known = schema::VERSION;
        return Ok(Inspected::Newer { version, known });
    }
    let (done, waiting) = channel::<()>();
    let handle = connection.get_interrupt_handle();
    let timer = std::thread::spawn(move || {
        if waiting.recv_timeout(timeout).is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout) {
            handle.interrupt();
        }
    });
    let checked = damage::check(&connection);
    drop(done);
    timer.join().ok();
    if let Some(found) = checked? {
        return Ok(Inspected::Damaged(found));
    }
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let clock = Clock::read(&connection, now_ms).ok();
    Ok(Inspected::Sound {
        turns: connection.query_row("SELECT count(*) FROM ledger", [], |row| row.get(0))?,
        moved_days: clock
            .filter(|clock| !clock.is_plausible(now_ms))
            .map(|clock| now_ms.saturating_sub(clock.seen_ms) / DAY_MS),
    })
}

/// Opens the database read-only. Without a write-ahead log it is opened as immutable, because SQLite would otherwise
/// create files beside it.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if damage::beside(path, "-wal").exists() {
        return database::open(path, flags);
    }
    let escaped =
        database::whole_path(path).to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Connection::open_with_flags(
        format!("file:{escaped}?immutable=1"),
        flags | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NOFOLLOW,
    )
}
