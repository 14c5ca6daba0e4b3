use std::path::Path;
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use super::StoreError;
use super::file_id::{BUSY, FileId};

/// Opens a connection with the ledger's settings.
pub(super) fn connect(path: &Path, synchronous: &str) -> rusqlite::Result<Open> {
    let missing = || failure(ffi::SQLITE_CANTOPEN, "there is no such file");
    let file = FileId::of(path).ok_or_else(missing)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = muninn_base::database::open(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The writer's thread checkpoints instead, so that no request waits for a checkpoint.
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES_AT_MOST)?;
    // Without the query planner's stability guarantee, SQLite prepares a statement again for every key bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    if FileId::of(path) == Some(file) {
        Ok(Open { connection, file })
    } else {
        Err(failure(ffi::SQLITE_CANTOPEN, "the file was replaced while it was opened"))
    }
}

/// A connection with the identity of its file.
pub struct Open {
    pub(super) connection: Connection,
    pub(super) file: FileId,
}

/// Number of pages in the log at which a commit checkpoints itself, because the writer's thread is too slow.
pub const WAL_PAGES_AT_MOST: i32 = 16_000;

/// An error with one of SQLite's codes.
pub fn failure(code: i32, message: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message.to_owned()))
}

pub fn database_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Unusable { path: path.display().to_string(), reason: error.to_string() }
}

/// The error of a writer that waited too long for its turn.
pub(super) fn busy() -> rusqlite::Error {
    failure(ffi::SQLITE_BUSY, "database is locked")
}

pub(super) fn directory_error(directory: &Path, source: std::io::Error) -> StoreError {
    StoreError::Directory { path: directory.display().to_string(), source: Arc::new(source) }
}
