//! Repair of a damaged database: it is renamed, never deleted, and its readable rows are copied to a new one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use muninn_base::private_file;
use rusqlite::{Connection, OpenFlags, ffi};

use super::connection::{connect, database_error, directory_error, failure};
use super::file_id::{BUSY, FileId};
use super::salvage::{Salvaged, salvage};
use super::write_queue::WriteQueue;
use super::{DamagedLedger, StoreError, schema};

/// How long a repair waits for its turn to write.
const WAIT: Duration = Duration::from_secs(10);
/// Time limit of copying. The newest rows are copied first.
const COPYING: Duration = Duration::from_secs(10);
const PREFIX: &str = "damaged-";

/// Renames a damaged file, and replaces it by a new one with the readable rows. Returns `None` if another process has
/// already done so.
///
/// # Errors
/// [`StoreError`] if the new file cannot be created, or a file cannot be renamed.
pub(super) fn replace(directory: &Path, path: &Path, damaged: FileId) -> Result<Option<DamagedLedger>, StoreError> {
    let io = |source| directory_error(directory, source);
    let sql = |error| database_error(path, &error);
    let queue = WriteQueue::open(directory);
    let _turn = queue.wait(Instant::now() + WAIT).ok_or_else(|| sql(super::connection::busy()))?;
    if FileId::of(path) != Some(damaged) {
        return Ok(None);
    }
    let new = directory.join("state.db.new");
    for name in [new.clone(), beside(&new, "-wal"), beside(&new, "-shm")] {
        remove_if_there(&name).map_err(io)?;
    }
    private_file::append(&new).map_err(io)?;
    let salvaged = build(path, &new).map_err(sql)?;
    let (aside, at) = free_name(directory);
    std::fs::rename(path, &aside).map_err(io)?;
    // The log holds the last commits, and SQLite finds it by the name of its database.
    for suffix in ["-wal", "-shm"] {
        match std::fs::rename(beside(path, suffix), beside(&aside, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    std::fs::rename(&new, path).map_err(io)?;
    let aside = DamagedLedger { path: aside, at, saved: salvaged.to_string() };
    tracing::error!("the ledger was damaged and is kept as {}; {}", aside.path.display(), aside.saved);
    Ok(Some(aside))
}

/// The damaged ledger that is this file under its new name, if there is one.
pub(super) fn find_renamed(directory: &Path, file: FileId) -> Option<DamagedLedger> {
    list_renamed(directory).into_iter().find(|aside| FileId::of(&aside.path) == Some(file))
}

/// The renamed damaged ledgers of a state directory, oldest first.
pub(super) fn list_renamed(directory: &Path) -> Vec<DamagedLedger> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut renamed: Vec<_> = files
        .filter_map(|file| {
            let millis: i64 = file.file_name().to_str()?.strip_prefix("state.")?.strip_prefix(PREFIX)?.parse().ok()?;
            Some((millis, DamagedLedger { path: file.path(), at: rfc3339(millis), saved: String::new() }))
        })
        .collect();
    renamed.sort_by_key(|(millis, _)| *millis);
    renamed.into_iter().map(|(_, aside)| aside).collect()
}

/// Reads the whole database, and returns SQLite's description of the damage; `None` for an undamaged one.
///
/// # Errors
/// SQLite's error if the database cannot be read; damage may be such an error.
pub(super) fn check(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    // The first line names the database, the others describe one damage each.
    Ok((found != "ok").then(|| found.lines().last().unwrap_or_default().to_owned()))
}

/// Creates a new database with the readable rows of another.
fn build(path: &Path, new: &Path) -> rusqlite::Result<Salvaged> {
    let mut into = connect(new, "NORMAL")?.connection;
    into.pragma_update(None, "journal_mode", "WAL")?;
    schema::upgrade(&mut into)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let salvaged = match muninn_base::database::open(path, flags) {
        Ok(from) => {
            from.busy_timeout(BUSY)?;
            salvage(&from, &mut into, Instant::now() + COPYING)?
        }
        Err(_) => Salvaged::default(),
    };
    let emptied: i64 = into.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    match emptied {
        0 => into.close().map(|()| salvaged).map_err(|(_, error)| error),
        _ => Err(failure(ffi::SQLITE_BUSY, "the new ledger is in use")),
    }
}

fn free_name(directory: &Path) -> (PathBuf, String) {
    let mut millis = jiff::Timestamp::now().as_millisecond();
    loop {
        let path = directory.join(format!("state.{PREFIX}{millis}"));
        if !path.exists() {
            return (path, rfc3339(millis));
        }
        millis += 1;
    }
}

fn rfc3339(millis: i64) -> String {
    jiff::Timestamp::from_second(millis / 1_000).map_or_else(|_| String::new(), |at| at.to_string())
}

/// The path of one of SQLite's files beside a database, such as `-wal`.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
