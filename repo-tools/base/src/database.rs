//! SQLite's write-ahead log, waiting times and errors, for every database file of Muninn.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

/// How long a process waits for another one that uses the same file.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two attempts to enable the write-ahead log.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// Opens a database file. A symbolic link in its place is refused, and so is one in the place of its log.
///
/// # Errors
/// SQLite's error.
pub fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(whole_path(path), flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)
}

/// The path of a database with the links of its directories resolved: `SQLITE_OPEN_NOFOLLOW` refuses a link anywhere in
/// a path, and on some systems the home directory is below one.
pub fn whole_path(path: &Path) -> PathBuf {
    let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
    match (directory, path.file_name()) {
        (Some(directory), Some(name)) if cfg!(unix) => directory.join(name),
        _ => path.to_owned(),
    }
}

/// Enables the write-ahead log and sets [`BUSY_TIMEOUT`]. When several connections create the file at once, SQLite fails
/// at this step without waiting, so it is tried again until the timeout.
///
/// # Errors
/// SQLite's error; after the timeout, that the file is in use.
pub fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && Instant::now() < deadline => std::thread::sleep(BUSY_PAUSE),
            done => return done,
        }
    }
}

/// Whether an error says that another connection holds a lock.
pub fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Whether an error says that the file is damaged or no database.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn many_may_create_a_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..30 {
            let path = folder.path().join(round.to_string());
            let together = Barrier::new(8);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let connection = Connection::open(&path).unwrap();
                        together.wait();
                        write_ahead(&connection).unwrap();
                        let mode: String =
                            connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
                        assert_eq!(mode, "wal");
                        connection.execute_batch("CREATE TABLE IF NOT EXISTS t (x)").unwrap();
                    });
                }
            });
        }
    }
}
