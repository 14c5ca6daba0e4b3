//! The derived cache: what was computed from a blob, kept so that it need not be computed again.
//!
//! SQLite in one file, keyed by the blob's id, so that branches and linked worktrees share what they have in common. It
//! is disposable in the strict sense: a cache that is damaged, or of another version, is removed and begun anew, and a
//! caller who gets an error goes on without one.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muninn_repo_tools::{BlobId, RelPath};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Raised whenever a table or the meaning of a value changes; an older file is thrown away.
const SCHEMA_VERSION: i64 = 1;
const FILE: &str = "index.db";
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Blobs that no worktree has any more are kept for a return to their branch, up to so many.
const MAX_ORPHANS: i64 = 20_000;

const SCHEMA: &str = "
    CREATE TABLE blobs (id BLOB NOT NULL, form TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (id, form)) WITHOUT ROWID;
    CREATE TABLE files (root TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL,
                        blob BLOB NOT NULL, PRIMARY KEY (root, path)) WITHOUT ROWID;
";

/// An open cache. One connection: writers of other processes are waited for, readers never.
pub struct Cache {
    connection: Connection,
    rebuilt: bool,
}

/// A file of a worktree as it was last read: if size and time are the same, so is the blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its size in bytes.
    pub size: u64,
    /// When it was modified, in nanoseconds since 1970.
    pub modified: i64,
    /// What it held.
    pub blob: BlobId,
}

/// Why there is no cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Its directory cannot be made.
    #[error("cannot make the cache directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the file system said.
        source: std::io::Error,
    },
    /// The file cannot be opened, not even after removing it; or it cannot be read or written.
    #[error("cannot use the cache {}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
}

impl Cache {
    /// Opens or makes `index.db` in a directory of its own.
    ///
    /// # Errors
    /// If the directory cannot be made or written, or another process holds the file for longer than five seconds.
    pub fn open(dir: &Path) -> Result<Self, CacheError> {
        let Disposable { connection, rebuilt } = Disposable::open(&dir.join(FILE), SCHEMA, SCHEMA_VERSION)?;
        Ok(Self { connection, rebuilt })
    }

    /// Whether opening found a damaged cache, or one of another version, and began a new one.
    pub fn was_rebuilt(&self) -> bool {
        self.rebuilt
    }

    /// What was stored for a blob in this form; `None` if nothing was, or if it cannot be read back.
    ///
    /// `form` names the type and its version, so that a change of either finds nothing instead of nonsense.
    pub fn get<T: DeserializeOwned>(&self, form: &str, blob: &BlobId) -> Option<T> {
        let mut query = self
            .connection
            .prepare_cached("SELECT value FROM blobs WHERE id = ?1 AND form = ?2")
            .ok()?;
        let bytes: Vec<u8> = query
            .query_row(params![blob.as_bytes(), form], |row| row.get(0))
            .optional()
            .ok()
            .flatten()?;
        postcard::from_bytes(&bytes).ok()
    }

    /// The blobs that any worktree had when it was last stored. Empty on any trouble.
    pub fn blobs(&self) -> HashSet<BlobId> {
        let read = || -> rusqlite::Result<HashSet<BlobId>> {
            let mut query = self.connection.prepare("SELECT DISTINCT blob FROM files")?;
            let blobs = query.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
            blobs
                .filter_map(|blob| blob.map(|blob| BlobId::from_bytes(&blob)).transpose())
                .collect()
        };
        read().unwrap_or_default()
    }

    /// The files of a worktree as they were when last stored. Empty on any trouble.
    pub fn files(&self, root: &Path) -> HashMap<RelPath, Known> {
        self.read_files(root).unwrap_or_default()
    }

    fn read_files(&self, root: &Path) -> rusqlite::Result<HashMap<RelPath, Known>> {
        let mut query = self
            .connection
            .prepare("SELECT path, size, modified, blob FROM files WHERE root = ?1")?;
        let mut rows = query.query([root.to_string_lossy()])?;
        let mut files = HashMap::new();
        while let Some(row) = rows.next()? {
            let (path, blob): (String, Vec<u8>) = (row.get(0)?, row.get(3)?);
            if let (Ok(path), Some(blob)) = (RelPath::new(&path), BlobId::from_bytes(&blob)) {
                let size = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
                files.insert(
                    path,
                    Known {
                        size,
                        modified: row.get(2)?,
                        blob,
                    },
                );
            }
        }
        Ok(files)
    }

    /// Stores what was computed, each under its form, and the worktree's files in place of those stored before, in one transaction.
    ///
    /// # Errors
    /// If the file cannot be written; the cache is then as it was.
    pub fn store<'a, T: Serialize + 'a>(
        &mut self,
        blobs: impl Iterator<Item = (&'a str, BlobId, &'a T)>,
        root: &Path,
        files: &HashMap<RelPath, Known>,
    ) -> Result<(), CacheError> {
        let path = self.connection.path().map(PathBuf::from).unwrap_or_default();
        self.write(blobs, root, files)
            .map_err(|source| CacheError::Database { path, source })
    }

    fn write<'a, T: Serialize + 'a>(
        &mut self,
        blobs: impl Iterator<Item = (&'a str, BlobId, &'a T)>,
        root: &Path,
        files: &HashMap<RelPath, Known>,
    ) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert =
                transaction.prepare("INSERT OR REPLACE INTO blobs (id, form, value) VALUES (?1, ?2, ?3)")?;
            for (form, blob, value) in blobs {
                if let Ok(bytes) = postcard::to_allocvec(value) {
                    insert.execute(params![blob.as_bytes(), form, bytes])?;
                }
            }
            let root = root.to_string_lossy();
            transaction.execute("DELETE FROM files WHERE root = ?1", [&root])?;
            let mut insert = transaction.prepare("INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for (path, known) in files {
                let size = i64::try_from(known.size).unwrap_or(i64::MAX);
                insert.execute(params![
                    root,
                    path.as_str(),
                    size,
                    known.modified,
                    known.blob.as_bytes()
                ])?;
            }
        }
        let orphaned = "FROM blobs WHERE id NOT IN (SELECT blob FROM files)";
        let orphans: i64 = transaction.query_row(&format!("SELECT count(*) {orphaned}"), [], |row| row.get(0))?;
        if orphans > MAX_ORPHANS {
            transaction.execute(&format!("DELETE {orphaned}"), [])?;
        }
        transaction.commit()
    }
}

/// Nanoseconds since 1970, as the cache keeps times.
pub fn nanos(time: SystemTime) -> i64 {
    let since = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    }
}

/// A database that may be thrown away: one that is damaged, or of another version, is removed and begun anew.
pub(crate) struct Disposable {
    pub(crate) connection: Connection,
    /// Whether there was one that had to go.
    pub(crate) rebuilt: bool,
}

impl Disposable {
    /// Opens or makes a file, and its directory. An older or newer version than the schema's is thrown away.
    pub(crate) fn open(path: &Path, schema: &str, version: i64) -> Result<Self, CacheError> {
        let dir = path.parent().unwrap_or(path);
        std::fs::create_dir_all(dir).map_err(|source| CacheError::Directory {
            path: dir.to_owned(),
            source,
        })?;
        match connect(path, schema, version) {
            Ok(Some(connection)) => Ok(Self {
                connection,
                rebuilt: false,
            }),
            Ok(None) => Self::rebuild(path, schema, version),
            Err(error) if is_damage(&error) => Self::rebuild(path, schema, version),
            Err(source) => Err(CacheError::Database {
                path: path.to_owned(),
                source,
            }),
        }
    }

    /// Removes the file and what SQLite keeps beside it. A process that still has the old one open keeps working on
    /// what it holds, and its writes are lost with it: they were only ever a saving of time.
    pub(crate) fn rebuild(path: &Path, schema: &str, version: i64) -> Result<Self, CacheError> {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            let _ = std::fs::remove_file(PathBuf::from(name));
        }
        let error = |source| CacheError::Database {
            path: path.to_owned(),
            source,
        };
        match connect(path, schema, version).map_err(error)? {
            Some(connection) => Ok(Self {
                connection,
                rebuilt: true,
            }),
            None => Err(error(rusqlite::Error::InvalidQuery)),
        }
    }
}

/// Opens the file and makes the tables if it is new; `None` if it is of another version.
fn connect(path: &Path, schema: &str, schema_version: i64) -> rusqlite::Result<Option<Connection>> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A cache may lose its last seconds in a power cut; it may not cost a disk flush a write.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match version {
        0 if tables == 0 => {
            transaction.execute_batch(schema)?;
            transaction.pragma_update(None, "user_version", schema_version)?;
            transaction.commit()?;
        }
        version if version == schema_version => transaction.commit()?,
        _ => return Ok(None),
    }
    Ok(Some(connection))
}

/// Whether an error says that the file is no good, rather than busy or out of reach.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "test.1";

    fn known(content: &str) -> (BlobId, HashMap<RelPath, Known>) {
        let blob = BlobId::of(content.as_bytes()).unwrap();
        let file = Known {
            size: content.len() as u64,
            modified: 7,
            blob,
        };
        (blob, HashMap::from([(RelPath::new("a.rs").unwrap(), file)]))
    }

    fn store(cache: &mut Cache, content: &str, value: &str) {
        let (blob, files) = known(content);
        cache
            .store([(FORM, blob, &value.to_owned())].into_iter(), Path::new("/w"), &files)
            .unwrap();
    }

    fn get(cache: &Cache, content: &str) -> Option<String> {
        cache.get(FORM, &known(content).0)
    }

    #[test]
    fn gives_back_what_was_stored() {
        let dir = tempfile::tempdir().unwrap();
        let mut cache = Cache::open(&dir.path().join("deep/er")).unwrap();
        store(&mut cache, "x", "value of x");
        drop(cache);
        let cache = Cache::open(&dir.path().join("deep/er")).unwrap();
        assert!(!cache.was_rebuilt());
        assert_eq!(get(&cache, "x").as_deref(), Some("value of x"));
        assert_eq!(get(&cache, "y"), None);
        assert_eq!(cache.get::<String>("test.2", &known("x").0), None, "another form");
        assert_eq!(cache.files(Path::new("/w")), known("x").1);
        assert!(cache.files(Path::new("/other")).is_empty());
    }

    #[test]
    fn damage_and_other_versions_are_rebuilt_and_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(
            &path,
            "this is no database, and long enough to be taken for one".repeat(50),
        )
        .unwrap();
        let mut cache = Cache::open(dir.path()).unwrap();
        assert!(cache.was_rebuilt());
        store(&mut cache, "x", "value");
        cache
            .connection
            .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
            .unwrap();
        drop(cache);
        let cache = Cache::open(dir.path()).unwrap();
        assert!(cache.was_rebuilt());
        assert_eq!(get(&cache, "x"), None);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(
            Cache::open(&dir.path().join("file/cache")),
            Err(CacheError::Directory { .. })
        ));
    }

    #[test]
    fn several_writers_at_once_do_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let dir = dir.path();
                scope.spawn(move || {
                    let mut cache = Cache::open(dir).unwrap();
                    (0..20).for_each(|n| store(&mut cache, &format!("{writer}-{n}"), "value"));
                });
            }
        });
        let cache = Cache::open(dir.path()).unwrap();
        assert!(!cache.was_rebuilt());
        assert!((0..4).all(|writer| (0..20).all(|n| get(&cache, &format!("{writer}-{n}")).is_some())));
    }
}
