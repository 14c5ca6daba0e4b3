//! The derived cache: values computed from blobs, in one SQLite file.
//!
//! Blob ids are the keys, so that branches and linked worktrees share entries. The cache is disposable: a damaged or
//! outdated file is emptied and rebuilt, and callers continue without a cache after an error. SQLite detects damage to
//! its own structure only, so each value has a checksum, and a value with a wrong checksum counts as absent.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muninn_base::database::{self, BUSY_TIMEOUT, is_busy, is_damage, write_ahead};
use muninn_base::private_file;
use muninn_repo_tools::{BlobId, ObjectId};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Increased whenever a table or the meaning of a value changes; older files are discarded.
const SCHEMA_VERSION: i64 = 4;
const FILE: &str = "index.db";
/// Maximum number of blobs that no worktree uses. They are kept because their branch can be checked out again.
const MAX_ORPHANS: i64 = 20_000;
/// Maximum number of commit values. Above it all are deleted, because most belong to abandoned branches.
const MAX_COMMITS: i64 = 50_000;
/// Length of a checksum in bytes. It detects accidents, not manipulation.
const CHECKSUM: usize = 8;

const SCHEMA: &str = "
    CREATE TABLE blobs (id BLOB NOT NULL, form TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (id, form)) WITHOUT ROWID;
    CREATE TABLE uses (root TEXT NOT NULL, blob BLOB NOT NULL, PRIMARY KEY (root, blob)) WITHOUT ROWID;
    CREATE TABLE commits (id BLOB NOT NULL, form TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (id, form)) WITHOUT ROWID;
    CREATE INDEX uses_of_blob ON uses (blob);
";

/// An open cache. It waits for other processes that write, and never for those that read.
pub struct Cache {
    path: PathBuf,
    connection: Connection,
    rebuilt: bool,
}

/// Why the cache is not available.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The directory cannot be created.
    #[error("cannot create the cache directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file cannot be opened, even after it was removed, or cannot be read or written.
    #[error("cannot use the cache {}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl Cache {
    /// Opens or creates `index.db` in a private directory.
    ///
    /// # Errors
    /// If the directory cannot be created or written, or another process holds the file for more than five seconds.
    pub fn open(dir: &Path) -> Result<Self, CacheError> {
        let path = dir.join(FILE);
        let Disposable { connection, rebuilt } = Disposable::open(&path, SCHEMA, SCHEMA_VERSION)?;
        Ok(Self { path, connection, rebuilt })
    }

    /// Returns whether a damaged or outdated cache was rebuilt.
    pub fn was_rebuilt(&self) -> bool {
        self.rebuilt
    }

    /// The value of a blob in a form; `None` if there is none, or if it cannot be decoded.
    ///
    /// `form` names the type and its version, so that values of another type or version are not decoded.
    pub fn get<T: DeserializeOwned>(&self, form: &str, blob: &BlobId) -> Option<T> {
        let mut query = self.connection.prepare_cached("SELECT value FROM blobs WHERE id = ?1 AND form = ?2").ok()?;
        let bytes: Vec<u8> =
            query.query_row(params![blob.as_bytes(), form], |row| row.get(0)).optional().ok().flatten()?;
        decoded(&bytes)
    }

    /// The blobs that any worktree uses; empty on an error.
    pub fn blobs(&self) -> HashSet<BlobId> {
        let read = || -> rusqlite::Result<HashSet<BlobId>> {
            let mut query = self.connection.prepare("SELECT DISTINCT blob FROM uses")?;
            let blobs = query.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
            blobs.filter_map(|blob| blob.map(|blob| BlobId::from_bytes(&blob)).transpose()).collect()
        };
        read().unwrap_or_default()
    }

    /// Stores [`encoded`] values, each with its form, in one transaction.
    ///
    /// # Errors
    /// If the file cannot be written; then the cache is unchanged.
    pub fn store(&mut self, blobs: &[(&str, BlobId, Vec<u8>)]) -> Result<(), CacheError> {
        self.within_transaction(|transaction| {
            let mut insert =
                transaction.prepare_cached("INSERT OR REPLACE INTO blobs (id, form, value) VALUES (?1, ?2, ?3)")?;
            for (form, blob, bytes) in blobs {
                insert.execute(params![blob.as_bytes(), form, bytes])?;
            }
            Ok(())
        })
    }

    /// Replaces the set of blobs that a worktree uses, and deletes old unused blobs. Returns the roots of worktrees
    /// that no longer exist; their sets are removed.
    ///
    /// # Errors
    /// If the file cannot be written; then the cache is unchanged.
    pub fn in_use(&mut self, root: &Path, blobs: &[BlobId]) -> Result<Vec<PathBuf>, CacheError> {
        self.within_transaction(|transaction| {
            let roots: Vec<String> = transaction
                .prepare("SELECT DISTINCT root FROM uses")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let root = root.to_string_lossy();
            let gone: Vec<PathBuf> = roots.into_iter().map(PathBuf::from).filter(|root| !root.exists()).collect();
            for outdated in gone.iter().map(|gone| gone.to_string_lossy()).chain([root.clone()]) {
                transaction.execute("DELETE FROM uses WHERE root = ?1", [outdated])?;
            }
            let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO uses (root, blob) VALUES (?1, ?2)")?;
            for blob in blobs {
                insert.execute(params![root, blob.as_bytes()])?;
            }
            let orphaned = "FROM blobs WHERE id NOT IN (SELECT blob FROM uses)";
            let orphans: i64 = transaction.query_row(&format!("SELECT count(*) {orphaned}"), [], |row| row.get(0))?;
            if orphans > MAX_ORPHANS {
                transaction.execute(&format!("DELETE {orphaned}"), [])?;
            }
            Ok(gone)
        })
    }

    /// Runs a transaction. If it finds the file damaged, the cache is rebuilt and the transaction is repeated.
    fn within_transaction<T>(
        &mut self,
        work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, CacheError> {
        let failed = |source| CacheError::Database { path: self.path.clone(), source };
        match transact(&mut self.connection, &work) {
            Err(error) if is_damage(&error) => {
                // The old connection is closed first, so that closing it does not affect the new file.
                self.connection = Connection::open_in_memory().map_err(failed)?;
                self.connection = Disposable::reset(&self.path, SCHEMA, SCHEMA_VERSION)?.connection;
                self.rebuilt = true;
                transact(&mut self.connection, &work).map_err(failed)
            }
            done => done.map_err(failed),
        }
    }

    /// The values of commits in a form, in order; `None` as in [`Self::get`].
    pub fn of_commits<T: DeserializeOwned>(&self, form: &str, ids: &[ObjectId]) -> Vec<Option<T>> {
        let query = "SELECT value FROM commits WHERE id = ?1 AND form = ?2";
        let Ok(mut query) = self.connection.prepare_cached(query) else {
            return ids.iter().map(|_| None).collect();
        };
        let mut get = |id: &ObjectId| -> Option<T> {
            let found = query.query_row(params![id.as_bytes(), form], |row| {
                Ok(decoded(row.get_ref(0)?.as_blob().unwrap_or_default()))
            });
            found.optional().ok().flatten().flatten()
        };
        ids.iter().map(&mut get).collect()
    }

    /// Stores values of commits in one transaction.
    ///
    /// # Errors
    /// If the file cannot be written; then the cache is unchanged.
    pub fn store_commits<'a, T: Serialize + 'a>(
        &mut self,
        form: &str,
        commits: impl Iterator<Item = (ObjectId, &'a T)>,
    ) -> Result<(), CacheError> {
        let commits: Vec<_> = commits.map(|(id, value)| (id, encoded(value))).collect();
        self.within_transaction(|transaction| {
            let kept: i64 = transaction.query_row("SELECT count(*) FROM commits", [], |row| row.get(0))?;
            if kept > MAX_COMMITS {
                transaction.execute("DELETE FROM commits", [])?;
            }
            let insert = "INSERT OR REPLACE INTO commits (id, form, value) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare_cached(insert)?;
            for (id, value) in &commits {
                insert.execute(params![id.as_bytes(), form, value])?;
            }
            Ok(())
        })
    }
}

impl CacheError {
    /// Returns whether another process held the database too long, so that a retry can succeed.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Database { source, .. } if is_busy(source))
    }
}

fn transact<T>(
    connection: &mut Connection,
    work: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let result = work(&transaction)?;
    transaction.commit()?;
    Ok(result)
}

/// Encodes a value for [`Cache::store`]. Returns no bytes, which do not decode, if encoding fails.
pub fn encoded<T: Serialize>(value: &T) -> Vec<u8> {
    let Ok(mut bytes) = postcard::to_extend(value, vec![0; CHECKSUM]) else {
        return Vec::new();
    };
    let sum = checksum(&bytes[CHECKSUM..]);
    bytes[..CHECKSUM].copy_from_slice(&sum);
    bytes
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (sum, value) = bytes.split_at_checked(CHECKSUM)?;
    (sum == checksum(value)).then(|| postcard::from_bytes(value).ok())?
}

fn checksum(value: &[u8]) -> [u8; CHECKSUM] {
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&blake3::hash(value).as_bytes()[..CHECKSUM]);
    sum
}

/// Nanoseconds since 1970, the cache's format of times.
pub fn nanos(time: SystemTime) -> i64 {
    let since = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    }
}

/// A disposable database: a damaged or outdated file is emptied and rebuilt.
pub(crate) struct Disposable {
    pub(crate) connection: Connection,
    /// Whether an existing database was discarded.
    pub(crate) rebuilt: bool,
}

impl Disposable {
    /// Opens or creates a file and its directory. Another schema version is discarded.
    pub(crate) fn open(path: &Path, schema: &str, version: i64) -> Result<Self, CacheError> {
        let dir = path.parent().unwrap_or(path);
        private_file::own_dir(dir).map_err(|source| CacheError::Directory { path: dir.to_owned(), source })?;
        match connect(path, schema, version) {
            Err(error) if is_damage(&error) => Self::reset(path, schema, version),
            opened => opened.map_err(|source| CacheError::Database { path: path.to_owned(), source }),
        }
    }

    /// Empties a damaged file in place, under SQLite's locks, so that another process that has it open continues with
    /// the empty file. After a removal that process would delete the new file's log on closing. A file that SQLite does
    /// not recognise as a database is removed.
    pub(crate) fn reset(path: &Path, schema: &str, version: i64) -> Result<Self, CacheError> {
        let failed = |source| CacheError::Database { path: path.to_owned(), source };
        match empty(path) {
            Err(error) if is_damage(&error) => {
                for suffix in ["", "-wal", "-shm", "-journal"] {
                    let mut name = path.as_os_str().to_owned();
                    name.push(suffix);
                    std::fs::remove_file(PathBuf::from(name)).ok();
                }
            }
            emptied => emptied.map_err(failed)?,
        }
        let opened = connect(path, schema, version).map_err(failed)?;
        Ok(Self { rebuilt: true, ..opened })
    }
}

/// Empties a database with `SQLITE_DBCONFIG_RESET_DATABASE`, see
/// <https://sqlite.org/c3ref/c_dbconfig_defensive.html>.
fn empty(path: &Path) -> rusqlite::Result<()> {
    let connection = database::open(path, OpenFlags::default())?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    connection.execute_batch("VACUUM")
}

/// Opens the file, and creates the tables if it is new or of another version.
fn connect(path: &Path, schema: &str, schema_version: i64) -> rusqlite::Result<Disposable> {
    // An error here is ignored, because opening the file reports it.
    private_file::make(path).ok();
    let mut connection = database::open(path, OpenFlags::default())?;
    write_ahead(&connection)?;
    // A power failure can cost the last seconds of a cache, which is acceptable. A disk flush per write is not.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let rebuilt = version != schema_version && (version, tables) != (0, 0);
    if rebuilt {
        // Within the transaction, so that only one of two processes drops the tables.
        drop_tables(&transaction)?;
    }
    if version != schema_version {
        transaction.execute_batch(schema)?;
        transaction.pragma_update(None, "user_version", schema_version)?;
    }
    transaction.commit()?;
    Ok(Disposable { connection, rebuilt })
}

/// Drops all tables. Virtual tables come first, because their shadow tables are dropped with them.
fn drop_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
                 ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC";
    let names: Vec<String> =
        transaction.prepare(names)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    names.iter().try_for_each(|name| {
        transaction.execute_batch(&format!("DROP TABLE IF EXISTS \"{}\"", name.replace('"', "\"\"")))
    })
}

#[cfg(test)]
mod tests;
