//! The database file: how it is opened, whether it is still the one in its place, and how it is doing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use muninn_repo_tools::{Supervisor, Task};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi};

use super::{DamagedLedger, LedgerHealth, StoreError, damage, schema};
pub(super) use muninn_memory::cache::{is_busy, is_damage};
use muninn_memory::private_file;

/// How long a connection waits for another one, unless it is told otherwise.
pub(super) const BUSY: Duration = Duration::from_millis(250);
/// A start waits longer: another process may just bring the schema up to date.
const PREPARE_BUSY: Duration = Duration::from_secs(5);
/// A database that could not be put aside is not tried again at every request.
const REPAIR_AGAIN: Duration = Duration::from_secs(60);

/// A file's identity, whatever its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

impl FileId {
    /// The file at a path. It is not opened: closing it would take the locks away that SQLite holds on it.
    pub(super) fn of(path: &Path) -> Option<FileId> {
        let found = path.metadata().ok()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Some(FileId(found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        {
            let _exists = found;
            Some(FileId(0, 0))
        }
    }
}

/// A connection, and the file that it is open on.
pub(super) struct Open {
    pub(super) connection: Connection,
    pub(super) file: FileId,
}

/// See the module's documentation. Shared by everything that opens the file.
pub(super) struct Database {
    pub(super) directory: PathBuf,
    pub(super) path: PathBuf,
    pub(super) supervisor: Supervisor,
    state: Mutex<DatabaseState>,
}

struct DatabaseState {
    /// The file in use.
    file: FileId,
    removed: bool,
    aside: Option<DamagedLedger>,
    /// Why the last read or write failed, while none has succeeded since.
    read_failure: Option<String>,
    write_failure: Option<String>,
    in_repair: bool,
    repair: Option<Task>,
    repair_failure: Option<String>,
    not_before: Option<Instant>,
}

impl DatabaseState {
    /// Another file is in use from now on; what was the matter with the one before is over.
    fn put_in_place(&mut self, file: FileId, aside: Option<DamagedLedger>) {
        self.file = file;
        self.aside = aside;
        self.repair_failure = None;
        self.read_failure = None;
        self.write_failure = None;
    }
}

impl Database {
    /// Opens the database of a state directory, making both where they are missing. A damaged one is put aside.
    ///
    /// # Errors
    /// [`StoreError`] where it cannot be made, read or understood.
    pub(super) fn open(directory: &Path, supervisor: &Supervisor) -> Result<Arc<Database>, StoreError> {
        let path = directory.join("state.db");
        let (mut aside, mut tried) = (None, false);
        let file = loop {
            make(directory, &path)?;
            let error = match prepare(&path) {
                Ok(file) => break file,
                Err(PrepareError::Newer(version)) => {
                    return Err(StoreError::Newer {
                        path: path.display().to_string(),
                        version,
                        known: schema::VERSION,
                    });
                }
                Err(PrepareError::By(error)) => error,
            };
            match FileId::of(&path) {
                Some(file) if is_damage(&error) && !tried => {
                    tried = true;
                    aside = damage::put_aside(directory, &path, file)?;
                }
                _ => return Err(database_error(&path, &error)),
            }
        };
        let state = DatabaseState {
            file,
            removed: false,
            aside,
            read_failure: None,
            write_failure: None,
            in_repair: false,
            repair: None,
            repair_failure: None,
            not_before: None,
        };
        let database = Database {
            directory: directory.to_owned(),
            path,
            supervisor: supervisor.clone(),
            state: Mutex::new(state),
        };
        Ok(Arc::new(database))
    }

    /// A new connection to the file in use. `synchronous` is `FULL` where a commit must survive a power cut.
    pub(super) fn connect(&self, synchronous: &str) -> rusqlite::Result<Open> {
        connect(&self.path, synchronous)
    }

    /// The file in use. A connection to another one is to be closed.
    pub(super) fn file(&self) -> FileId {
        lock(&self.state).file
    }

    /// Looks whether the file in use is still in its place. Another process may have put it aside; then its successor is
    /// the one in use from now on.
    ///
    /// # Errors
    /// [`StoreError::Removed`] where it is gone, or something else has taken its place: nothing that is written to it
    /// would be found after a restart.
    pub(super) fn look(&self) -> Result<(), StoreError> {
        let found = FileId::of(&self.path);
        let mut state = lock(&self.state);
        if !state.removed && found != Some(state.file) {
            match (damage::kept(&self.directory, state.file), found) {
                (Some(aside), Some(found)) => {
                    state.put_in_place(found, Some(aside));
                }
                // Another process is about to put its successor there.
                (Some(_), None) => {}
                (None, _) => {
                    state.removed = true;
                    tracing::error!(
                        "{} was removed while in use: earlier context is put back, and no more is added until a restart",
                        self.path.display()
                    );
                }
            }
        }
        match state.removed {
            true => Err(StoreError::Removed {
                path: self.path.display().to_string(),
            }),
            false => Ok(()),
        }
    }

    /// Says that a thread which should have answered did not.
    pub(super) fn unanswered(&self) -> StoreError {
        StoreError::Unanswered {
            path: self.path.display().to_string(),
        }
    }

    /// Notes that a read, or a write, succeeded.
    pub(super) fn succeeded(&self, write: bool) {
        let mut state = lock(&self.state);
        match write {
            true => state.write_failure = None,
            false => state.read_failure = None,
        }
    }

    /// Notes that a read, or a write, failed, on which file if one was open. Damage of the file in use is seen to.
    pub(super) fn failed(self: &Arc<Self>, file: Option<FileId>, write: bool, error: &rusqlite::Error) {
        if is_damage(error) {
            self.is_damaged(file);
        }
        let mut state = lock(&self.state);
        let is_seen_to = is_damage(error) && state.in_repair;
        if is_seen_to || file.is_some_and(|file| file != state.file) {
            return;
        }
        let failure = match write {
            true => &mut state.write_failure,
            false => &mut state.read_failure,
        };
        if failure.is_none() {
            tracing::warn!(%error, "the ledger cannot be {}", if write { "written" } else { "read" });
        }
        *failure = Some(error.to_string());
    }

    /// Has a damaged file put aside by a thread of its own, once. `None` stands for the file in use.
    pub(super) fn is_damaged(self: &Arc<Self>, file: Option<FileId>) {
        let mut state = lock(&self.state);
        let file = file.unwrap_or(state.file);
        let too_soon = state.not_before.is_some_and(|time| Instant::now() < time);
        if file != state.file || state.removed || state.in_repair || too_soon {
            return;
        }
        tracing::error!("{} is damaged and will be put aside", self.path.display());
        let database = Arc::clone(self);
        match self.supervisor.run("ledger-repair", move || database.repair(file)) {
            Ok(task) => {
                state.in_repair = true;
                state.repair = Some(task);
            }
            Err(error) => tracing::error!(%error, "the damaged ledger cannot be put aside"),
        }
    }

    fn repair(&self, damaged: FileId) {
        let done = damage::put_aside(&self.directory, &self.path, damaged);
        let mut state = lock(&self.state);
        state.in_repair = false;
        let in_place = FileId::of(&self.path).filter(|found| *found != damaged);
        match (done, in_place) {
            (Ok(aside), Some(file)) => {
                let aside = aside.or_else(|| damage::kept(&self.directory, damaged));
                state.put_in_place(file, aside);
            }
            (Ok(_), None) => {}
            (Err(error), _) => {
                tracing::error!(%error, "the damaged ledger could not be put aside");
                state.repair_failure = Some(error.to_string());
                state.not_before = Some(Instant::now() + REPAIR_AGAIN);
            }
        }
    }

    /// Waits for a repair that is in work.
    pub(super) fn wait_for_repair(&self) {
        let repair = lock(&self.state).repair.take();
        if let Some(task) = repair {
            task.wait();
        }
    }

    /// How it is doing now.
    pub(super) fn health(&self) -> LedgerHealth {
        if self.look().is_err() {
            return LedgerHealth::Removed(self.path.clone());
        }
        let state = lock(&self.state);
        if state.in_repair {
            return LedgerHealth::Repairing;
        }
        let failure = [&state.repair_failure, &state.write_failure, &state.read_failure];
        match (failure.into_iter().flatten().next(), &state.aside) {
            (Some(failure), _) => LedgerHealth::Unusable(failure.clone()),
            (None, Some(aside)) => LedgerHealth::DamagedLedger(aside.clone()),
            (None, None) => LedgerHealth::Ok,
        }
    }
}

/// Makes the directory and an empty file. One that exists is not opened, see [`FileId::of`].
pub(super) fn make(directory: &Path, path: &Path) -> Result<(), StoreError> {
    let make = || -> std::io::Result<()> {
        private_file::dir(directory)?;
        match path.try_exists()? {
            true => keep_private(path),
            false => private_file::append(path).map(drop),
        }
    };
    make().map_err(|source| directory_error(directory, source))
}

fn keep_private(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut permissions = path.metadata()?.permissions();
        if permissions.mode() & 0o777 != 0o600 {
            permissions.set_mode(0o600);
            std::fs::set_permissions(path, permissions)?;
        }
    }
    #[cfg(not(unix))]
    let _no_modes = path;
    Ok(())
}

/// A connection with our settings.
pub(super) fn connect(path: &Path, synchronous: &str) -> rusqlite::Result<Open> {
    let missing = || failure(ffi::SQLITE_CANTOPEN, "there is no such file");
    let file = FileId::of(path).ok_or_else(missing)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // The writer's thread does it instead: no request waits for a checkpoint, nor for one that holds its turn.
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES_AT_MOST)?;
    // Without the planner's stability guarantee SQLite prepares a statement anew for every key that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    match FileId::of(path) == Some(file) {
        true => Ok(Open { connection, file }),
        false => Err(failure(ffi::SQLITE_CANTOPEN, "it was replaced while it was opened")),
    }
}

/// At so many pages a commit checkpoints all the same: the writer's thread is not keeping up.
const WAL_PAGES_AT_MOST: i32 = 16_000;

enum PrepareError {
    Newer(i32),
    By(rusqlite::Error),
}

impl From<rusqlite::Error> for PrepareError {
    fn from(error: rusqlite::Error) -> PrepareError {
        PrepareError::By(error)
    }
}

fn prepare(path: &Path) -> Result<FileId, PrepareError> {
    let mut open = connect(path, "NORMAL")?;
    open.connection.busy_timeout(PREPARE_BUSY)?;
    match schema::version(&open.connection)? {
        version @ ..=schema::VERSION => {
            if version < schema::VERSION {
                open.connection.pragma_update(None, "journal_mode", "WAL")?;
            }
            schema::upgrade(&mut open.connection)?;
        }
        version => return Err(PrepareError::Newer(version)),
    }
    for table in ["ledger", "continuations", "receipts", "key_usage", "clock"] {
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1)");
        open.connection.query_row(&sql, [], |_| Ok(()))?;
    }
    Ok(open.file)
}

/// An error as SQLite would return it.
pub(super) fn failure(code: i32, message: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message.to_owned()))
}

/// The error of a writer whose turn did not come.
pub(super) fn busy() -> rusqlite::Error {
    failure(ffi::SQLITE_BUSY, "database is locked")
}

pub(super) fn database_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::Refused {
        path: path.display().to_string(),
        reason: error.to_string(),
    }
}

pub(super) fn directory_error(directory: &Path, source: std::io::Error) -> StoreError {
    StoreError::Directory {
        path: directory.display().to_string(),
        source: Arc::new(source),
    }
}

/// A lock that a panic elsewhere does not take away.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
