//! The index of recorded sessions: the id of each, the number of its next segment, and its marks.
//!
//! One SQLite file with keyed lookups, so the cost of a lookup does not depend on the number of sessions. Writers hold
//! the spool's lock; readers need none.

use std::path::{Path, PathBuf};
use std::{fs, io};

use muninn_base::database::{self, BUSY_TIMEOUT, is_damage, write_ahead};
use muninn_base::{Clock, private_file};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::{Durability, SpoolError, at};

const FILE: &str = "sessions.db";

/// `PRAGMA synchronous = FULL`.
const SYNC_FULL: i64 = 2;

/// A client has several sessions only if two versions of the program wrote at once. The oldest id is its id.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, client TEXT NOT NULL, next INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS session_of_client ON session (client, id);
    CREATE TABLE IF NOT EXISTS mark (
        number INTEGER PRIMARY KEY,
        client TEXT NOT NULL,
        mark TEXT NOT NULL,
        UNIQUE (client, mark)
    );
    PRAGMA user_version = 1;
";

/// A recorded session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) id: String,
    /// Number of the next segment.
    pub(super) next: u64,
}

impl Session {
    pub(super) fn new(clock: &Clock) -> Self {
        Self { id: clock.id().to_string(), next: 0 }
    }
}

/// The open index of a spool.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
    connection: Connection,
    /// Identity of the opened file.
    file: Option<FileId>,
}

/// Device and inode of a file. Unknown on some systems.
type FileId = (u64, u64);

impl Index {
    /// Opens or creates the index of a spool. The caller holds the spool's lock. A damaged file is renamed and kept.
    pub(super) fn open(dir: &Path, durability: Durability, clock: &Clock) -> Result<Self, SpoolError> {
        let path = dir.join(FILE);
        match Self::create(&path, durability) {
            Err(error) if error.is_damage() => {
                set_aside(&path, clock).map_err(at(&path))?;
                Self::create(&path, durability)
            }
            opened => opened,
        }
    }

    fn create(path: &Path, durability: Durability) -> Result<Self, SpoolError> {
        private_file::make(path).map_err(at(path))?;
        let open = || {
            let connection = database::open(path, OpenFlags::default())?;
            write_ahead(&connection)?;
            let synchronous = match durability {
                Durability::Segment => "NORMAL",
                Durability::Append => "FULL",
            };
            connection.pragma_update(None, "synchronous", synchronous)?;
            let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if version == 0 {
                connection.execute_batch(SCHEMA)?;
            }
            Ok(connection)
        };
        Ok(Self { connection: open().map_err(database(path))?, file: file_id(path), path: path.to_owned() })
    }

    /// Opens an index read-only; `None` if there is no readable index.
    pub(super) fn read_only(dir: &Path) -> Option<Self> {
        let path = dir.join(FILE);
        let file = file_id(&path);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = database::open(&path, flags).ok()?;
        connection.busy_timeout(BUSY_TIMEOUT).ok()?;
        Some(Self { path, connection, file })
    }

    /// Returns whether the path still refers to the opened file, which can have been deleted or replaced.
    pub(super) fn is_current(&self) -> bool {
        self.path.exists() && self.file == file_id(&self.path)
    }

    /// A number that changes after each write by another connection.
    pub(super) fn version(&self) -> Option<i64> {
        self.connection.pragma_query_value(None, "data_version", |row| row.get(0)).ok()
    }

    pub(super) fn session(&self, client: &str) -> Result<Option<Session>, SpoolError> {
        let query = "SELECT id, next FROM session WHERE client = ?1 ORDER BY id LIMIT 1";
        let read = || {
            self.connection
                .prepare_cached(query)?
                .query_row([client], |row| {
                    Ok(Session { id: row.get(0)?, next: row.get::<_, i64>(1)?.try_into().unwrap_or(0) })
                })
                .optional()
        };
        read().map_err(database(&self.path))
    }

    /// Adds a session of a client, unless it exists.
    pub(super) fn add_session(&self, client: &str, session: &Session) -> Result<(), SpoolError> {
        self.execute(
            "INSERT OR IGNORE INTO session (id, client, next) VALUES (?1, ?2, ?3)",
            params![session.id, client, sql_number(session.next)],
        )
    }

    /// Sets the number of a session's next segment durably. If a number were used twice, a new segment could pass for a
    /// reconciled one.
    /// Takes the next segment number of the session with this id; `None` if it was not recorded here. A number is never
    /// given twice, on no branch: two files with one name would conflict in a merge.
    pub(super) fn reserve(&self, id: &str) -> Result<Option<u64>, SpoolError> {
        let read = || {
            self.connection
                .prepare_cached("SELECT next FROM session WHERE id = ?1")?
                .query_row([id], |row| row.get::<_, i64>(0))
                .optional()
        };
        let Some(next) = read().map_err(database(&self.path))? else {
            return Ok(None);
        };
        let session = Session { id: id.to_owned(), next: u64::try_from(next).unwrap_or(0) + 1 };
        self.set_next(&session)?;
        Ok(Some(session.next - 1))
    }

    pub(super) fn set_next(&self, session: &Session) -> Result<(), SpoolError> {
        let set = "UPDATE session SET next = ?2 WHERE id = ?1";
        self.synced(|| self.execute(set, params![session.id, sql_number(session.next)]))
    }

    /// Runs `work` with full sync: its commits are on disk when this returns.
    pub(super) fn synced(&self, work: impl FnOnce() -> Result<(), SpoolError>) -> Result<(), SpoolError> {
        let switch = |mode: i64| {
            let switched = self.connection.pragma_update(None, "synchronous", mode);
            switched.map_err(database(&self.path))
        };
        let before =
            self.connection.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(database(&self.path))?;
        switch(SYNC_FULL)?;
        let done = work();
        switch(before)?;
        done
    }

    /// Returns whether a session with this id was recorded.
    pub(super) fn has(&self, id: &str) -> Result<bool, SpoolError> {
        let read = || self.connection.prepare_cached("SELECT 1 FROM session WHERE id = ?1")?.exists([id]);
        read().map_err(database(&self.path))
    }

    /// The marks of a client, oldest first.
    pub(super) fn marks(&self, client: &str) -> Result<Vec<String>, SpoolError> {
        let read = || {
            self.connection
                .prepare_cached("SELECT mark FROM mark WHERE client = ?1 ORDER BY number")?
                .query_map([client], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<String>>>()
        };
        read().map_err(database(&self.path))
    }

    /// Returns whether a client has a mark.
    pub(super) fn has_mark(&self, client: &str, mark: &str) -> Result<bool, SpoolError> {
        let read = || {
            self.connection.prepare_cached("SELECT 1 FROM mark WHERE client = ?1 AND mark = ?2")?.exists([client, mark])
        };
        read().map_err(database(&self.path))
    }

    /// Adds a mark, unless it exists.
    pub(super) fn add_mark(&self, client: &str, mark: &str) -> Result<(), SpoolError> {
        self.execute("INSERT OR IGNORE INTO mark (client, mark) VALUES (?1, ?2)", params![client, mark])
    }

    /// Runs `work` in one transaction.
    pub(super) fn together(&self, work: impl FnOnce() -> Result<(), SpoolError>) -> Result<(), SpoolError> {
        let transaction = self.connection.unchecked_transaction().map_err(database(&self.path))?;
        work()?;
        transaction.commit().map_err(database(&self.path))
    }

    fn execute(&self, statement: &str, values: impl rusqlite::Params) -> Result<(), SpoolError> {
        let run = || self.connection.prepare_cached(statement)?.execute(values);
        run().map(|_| ()).map_err(database(&self.path))
    }
}

impl SpoolError {
    /// Returns whether the index is a damaged database.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Index { source, .. } if is_damage(source))
    }
}

/// Renames a damaged index together with SQLite's files beside it.
pub(super) fn set_aside(path: &Path, clock: &Clock) -> io::Result<()> {
    let aside = format!("{}.damaged-{}", path.display(), clock.id());
    for suffix in ["-wal", "-shm", ""] {
        match fs::rename(format!("{}{suffix}", path.display()), format!("{aside}{suffix}")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The path of a spool's index.
pub(super) fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// SQLite's integers are signed.
fn sql_number(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn file_id(path: &Path) -> Option<FileId> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

fn database(path: &Path) -> impl FnOnce(rusqlite::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Index { path, source }
}
