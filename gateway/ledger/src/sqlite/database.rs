//! The database file: opening it, detecting its removal or replacement, and its health.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_base::database::{BUSY_TIMEOUT, write_ahead};
use muninn_base::{Supervisor, Task, private_file};
use parking_lot::Mutex;

use super::connection::{connect, directory_error};
use super::file_id::FileId;
use super::{DamagedLedger, LedgerHealth, StoreError, damage, schema};

pub use super::connection::{Open, database_error};
pub(super) use muninn_base::database::{is_busy, is_damage};

/// Time between two attempts to repair a database, so that not every request tries.
const REPAIR_INTERVAL: Duration = Duration::from_secs(60);

/// The database file and its state. All threads of the store share it.
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
    /// The error of the last read or write, until the next one succeeds.
    read_failure: Option<String>,
    write_failure: Option<String>,
    in_repair: bool,
    repair: Option<Task>,
    repair_failure: Option<String>,
    next_repair: Option<Instant>,
}

impl DatabaseState {
    /// Switches to another file, and clears the errors of the previous one.
    fn switch_to(&mut self, file: FileId, aside: Option<DamagedLedger>) {
        self.file = file;
        self.aside = aside;
        self.repair_failure = None;
        self.read_failure = None;
        self.write_failure = None;
    }
}

impl Database {
    /// Opens the database of a state directory, and creates both if they are missing. A damaged database is renamed and
    /// replaced.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be created or read, or if a newer program wrote it.
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
                Err(PrepareError::Sqlite(error)) => error,
            };
            match FileId::of(&path) {
                Some(file) if is_damage(&error) && !tried => {
                    tried = true;
                    aside = damage::replace(directory, &path, file)?;
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
            next_repair: None,
        };
        let database = Database {
            directory: directory.to_owned(),
            path,
            supervisor: supervisor.clone(),
            state: Mutex::new(state),
        };
        Ok(Arc::new(database))
    }

    /// Opens a new connection to the file in use. `synchronous` is `FULL` if a commit must survive a power failure.
    pub(super) fn connect(&self, synchronous: &str) -> rusqlite::Result<Open> {
        connect(&self.path, synchronous)
    }

    /// The file in use. Connections to other files must be closed.
    pub(super) fn file(&self) -> FileId {
        self.state.lock().file
    }

    /// Checks that the file in use still has its path. If another process repaired the database, switches to the new
    /// file.
    ///
    /// # Errors
    /// [`StoreError::Removed`] if the file was removed or replaced, because a restart would not find later writes.
    pub(super) fn check_path(&self) -> Result<(), StoreError> {
        let found = FileId::of(&self.path);
        let mut state = self.state.lock();
        if !state.removed && found != Some(state.file) {
            match (damage::find_renamed(&self.directory, state.file), found) {
                (Some(aside), Some(found)) => {
                    state.switch_to(found, Some(aside));
                }
                // Another process is about to create the new file.
                (Some(_), None) => {}
                (None, _) => {
                    state.removed = true;
                    tracing::error!(
                        "{} was removed while in use: earlier context is replayed, nothing new is added until a restart",
                        self.path.display()
                    );
                }
            }
        }
        if state.removed { Err(StoreError::Removed { path: self.path.display().to_string() }) } else { Ok(()) }
    }

    /// The error of a thread that ended or panicked without an answer.
    pub(super) fn unanswered(&self) -> StoreError {
        StoreError::Unanswered { path: self.path.display().to_string() }
    }

    /// Clears the error of the last read, or of the last write.
    pub(super) fn note_success(&self, write: bool) {
        let mut state = self.state.lock();
        if write { state.write_failure = None } else { state.read_failure = None }
    }

    /// Stores the error of a read or a write for [`Self::health`], and repairs the file in use if it is damaged. `file`
    /// is the connection's file, if a connection was open.
    pub(super) fn note_failure(self: &Arc<Self>, file: Option<FileId>, write: bool, error: &rusqlite::Error) {
        if is_damage(error) {
            self.start_repair(file);
        }
        let mut state = self.state.lock();
        let in_repair = is_damage(error) && state.in_repair;
        if in_repair || file.is_some_and(|file| file != state.file) {
            return;
        }
        let failure = if write { &mut state.write_failure } else { &mut state.read_failure };
        if failure.is_none() {
            tracing::warn!(%error, "cannot {} the ledger", if write { "write" } else { "read" });
        }
        *failure = Some(error.to_string());
    }

    /// Starts the repair of a damaged file on a thread of its own, once. `None` stands for the file in use.
    pub(super) fn start_repair(self: &Arc<Self>, file: Option<FileId>) {
        let mut state = self.state.lock();
        let file = file.unwrap_or(state.file);
        let too_soon = state.next_repair.is_some_and(|time| Instant::now() < time);
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
            Err(error) => tracing::error!(%error, "cannot start the repair of the damaged ledger"),
        }
    }

    fn repair(&self, damaged: FileId) {
        let done = damage::replace(&self.directory, &self.path, damaged);
        let mut state = self.state.lock();
        state.in_repair = false;
        let in_place = FileId::of(&self.path).filter(|found| *found != damaged);
        match (done, in_place) {
            (Ok(aside), Some(file)) => {
                let aside = aside.or_else(|| damage::find_renamed(&self.directory, damaged));
                state.switch_to(file, aside);
            }
            (Ok(_), None) => {}
            (Err(error), _) => {
                tracing::error!(%error, "cannot repair the damaged ledger");
                state.repair_failure = Some(error.to_string());
                state.next_repair = Some(Instant::now() + REPAIR_INTERVAL);
            }
        }
    }

    /// Waits for the end of a running repair.
    pub(super) fn wait_for_repair(&self) {
        let repair = self.state.lock().repair.take();
        if let Some(task) = repair {
            task.wait();
        }
    }

    /// The current health.
    pub(super) fn health(&self) -> LedgerHealth {
        if self.check_path().is_err() {
            return LedgerHealth::Removed(self.path.clone());
        }
        let state = self.state.lock();
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

/// Creates the directory and an empty file. An existing file is not opened, see [`FileId::of`].
pub(super) fn make(directory: &Path, path: &Path) -> Result<(), StoreError> {
    let make = || -> std::io::Result<()> {
        private_file::dir(directory)?;
        private_file::make(path)
    };
    make().map_err(|source| directory_error(directory, source))
}

enum PrepareError {
    Newer(i32),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for PrepareError {
    fn from(error: rusqlite::Error) -> PrepareError {
        PrepareError::Sqlite(error)
    }
}

fn prepare(path: &Path) -> Result<FileId, PrepareError> {
    let mut open = connect(path, "NORMAL")?;
    // Longer than later, because another process may be upgrading the schema.
    open.connection.busy_timeout(BUSY_TIMEOUT)?;
    match schema::version(&open.connection)? {
        version @ ..=schema::VERSION => {
            if version < schema::VERSION {
                write_ahead(&open.connection)?;
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
