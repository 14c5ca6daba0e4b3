//! Stored vectors, in a table of sqlite-vec, so that no text is embedded twice.
//!
//! The vectors have a separate file beside the cache, `vectors.db`. Writing vectors takes long and must not block
//! another process that stores digests, and damage to one file does not affect the other. Each embedder has its own
//! table, so the vectors of different embedders are never mixed. A blob's vectors are consecutive rows, found by (blob,
//! form). `form` is how the blob was split and which text of a chunk was embedded.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use muninn_base::Clock;
use muninn_base::database::is_damage;
use muninn_repo_tools::BlobId;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::extension;
use crate::cache::{CacheError, Disposable};

const FILE: &str = "vectors.db";
/// Increased whenever a table or the meaning of a value changes; older files are discarded.
const SCHEMA_VERSION: i64 = 1;
const SCHEMA: &str = "
    CREATE TABLE embedders (number INTEGER PRIMARY KEY, id TEXT NOT NULL, dimensions INTEGER NOT NULL,
                            next INTEGER NOT NULL, UNIQUE (id, dimensions));
    CREATE TABLE blocks (embedder INTEGER NOT NULL, blob BLOB NOT NULL, form TEXT NOT NULL, first INTEGER NOT NULL,
                         count INTEGER NOT NULL, PRIMARY KEY (embedder, blob, form)) WITHOUT ROWID;
";
/// Maximum number of blobs that no worktree uses. They are kept because their branch can be checked out again.
const MAX_ORPHANS: usize = 20_000;

/// The stored vectors of one embedder.
pub struct VectorStore {
    connection: Connection,
    path: PathBuf,
    embedder: i64,
    dimensions: usize,
    rebuilt: bool,
}

/// A blob, and how it was split and embedded.
pub type BlockKey = (BlobId, String);

/// The rows of a blob's vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows(Range<i64>);

impl Rows {
    /// Returns the number of vectors.
    pub fn count(&self) -> usize {
        usize::try_from(self.0.end - self.0.start).unwrap_or(0)
    }

    /// Returns the position of a row in the block.
    pub fn position(&self, row: i64) -> Option<usize> {
        self.0.contains(&row).then(|| usize::try_from(row - self.0.start).ok())?
    }

    /// Returns the row at a position in the block.
    pub fn row(&self, at: u32) -> i64 {
        self.0.start + i64::from(at)
    }
}

impl VectorStore {
    /// Opens or creates `vectors.db` in a directory, for the vectors of one embedder.
    ///
    /// # Errors
    /// If the directory cannot be created or written, or another process holds the file for more than five seconds.
    pub fn open(dir: &Path, embedder: &str, dimensions: usize, clock: &Clock) -> Result<Self, CacheError> {
        let path = dir.join(FILE);
        let failed = |source| CacheError::Database { path: path.clone(), source };
        extension::register().map_err(failed)?;
        let opened = Disposable::open(&path, SCHEMA, SCHEMA_VERSION)?;
        let mut store = Self {
            connection: opened.connection,
            path: path.clone(),
            embedder: 0,
            dimensions,
            rebuilt: opened.rebuilt,
        };
        store.embedder = match store.enroll(embedder, clock) {
            Err(error) if is_damage(&error) => {
                store.connection = Connection::open_in_memory().map_err(failed)?;
                store.connection = Disposable::reset(&path, SCHEMA, SCHEMA_VERSION)?.connection;
                store.rebuilt = true;
                store.enroll(embedder, clock)
            }
            enrolled => enrolled,
        }
        .map_err(failed)?;
        Ok(store)
    }

    /// Returns whether a damaged or outdated file was replaced by an empty one.
    pub fn was_rebuilt(&self) -> bool {
        self.rebuilt
    }

    /// Returns the number of an embedder, and creates its table if it is missing.
    fn enroll(&mut self, id: &str, clock: &Clock) -> rusqlite::Result<i64> {
        let dimensions = i64::try_from(self.dimensions).unwrap_or(i64::MAX);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = "SELECT number FROM embedders WHERE id = ?1 AND dimensions = ?2";
        let known: Option<i64> = transaction.query_row(known, params![id, dimensions], |row| row.get(0)).optional()?;
        let number = match known {
            Some(number) => number,
            None => {
                // The first row is not 1: a process that still has row numbers of a discarded file must not find other
                // vectors under them.
                let insert = "INSERT INTO embedders (id, dimensions, next) VALUES (?1, ?2, ?3)";
                transaction.execute(insert, params![id, dimensions, clock.now().as_microsecond()])?;
                let number = transaction.last_insert_rowid();
                transaction.execute_batch(&format!(
                    "CREATE VIRTUAL TABLE {} USING vec0(vector int8[{dimensions}] distance_metric=cosine)",
                    table(number)
                ))?;
                number
            }
        };
        transaction.commit()?;
        Ok(number)
    }

    /// Returns the blobs that have vectors, with their rows.
    pub fn blocks(&self) -> Result<HashMap<BlockKey, Rows>, CacheError> {
        self.told(self.read_blocks())
    }

    fn read_blocks(&self) -> rusqlite::Result<HashMap<BlockKey, Rows>> {
        let mut query =
            self.connection.prepare_cached("SELECT blob, form, first, count FROM blocks WHERE embedder = ?1")?;
        let mut rows = query.query([self.embedder])?;
        let mut blocks = HashMap::new();
        while let Some(row) = rows.next()? {
            let (blob, first, count): (Vec<u8>, i64, i64) = (row.get(0)?, row.get(2)?, row.get(3)?);
            if let Some(blob) = BlobId::from_bytes(&blob) {
                blocks.insert((blob, row.get(1)?), Rows(first..first.saturating_add(count)));
            }
        }
        Ok(blocks)
    }

    /// Passes all rows with their vectors to `take`. For many blobs this is far faster than reading them one by one.
    ///
    /// # Errors
    /// If the file cannot be read. The rows passed until then are valid.
    pub fn scan(&self, mut take: impl FnMut(i64, &[u8])) -> Result<(), CacheError> {
        let mut read = || {
            let mut query =
                self.connection.prepare_cached(&format!("SELECT rowid, vector FROM {}", table(self.embedder)))?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                if let Ok(bytes) = row.get_ref(1)?.as_blob() {
                    take(row.get(0)?, bytes);
                }
            }
            Ok(())
        };
        self.told(read())
    }

    /// Appends the bytes of one row to `vector`. Returns `false` if the row does not exist.
    pub fn row(&self, row: i64, vector: &mut Vec<i8>) -> Result<bool, CacheError> {
        let mut read = || {
            let mut query = self
                .connection
                .prepare_cached(&format!("SELECT vector FROM {} WHERE rowid = ?1", table(self.embedder)))?;
            let mut rows = query.query([row])?;
            let Some(found) = rows.next()? else { return Ok(false) };
            let bytes = found.get_ref(0)?.as_blob().unwrap_or_default();
            vector.extend(bytes.iter().map(|byte| byte.cast_signed()));
            Ok(bytes.len() == self.dimensions)
        };
        self.told(read())
    }

    /// Returns a blob's vectors, one per chunk, concatenated; `None` if they are not stored.
    pub fn get(&self, key: &BlockKey) -> Result<Option<Vec<i8>>, CacheError> {
        let Some(rows) = self.told(find(&self.connection, self.embedder, key))? else {
            return Ok(None);
        };
        let mut vectors = Vec::with_capacity(rows.count() * self.dimensions);
        for row in rows.0 {
            if !self.row(row, &mut vectors)? {
                return Ok(None);
            }
        }
        Ok(Some(vectors))
    }

    /// Stores the vectors of some blobs in one transaction, and returns their rows. If another process has already
    /// stored a blob, its vectors are unchanged.
    ///
    /// # Errors
    /// If the file cannot be written; then the store is unchanged.
    pub fn put(&mut self, blocks: &[(BlockKey, Vec<i8>)]) -> Result<Vec<Rows>, CacheError> {
        let written = self.write(blocks);
        self.told(written)
    }

    fn write(&mut self, blocks: &[(BlockKey, Vec<i8>)]) -> rusqlite::Result<Vec<Rows>> {
        let (embedder, dimensions) = (self.embedder, self.dimensions);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Row numbers are never reused, because another process can still hold an old number.
        let next = "SELECT next FROM embedders WHERE number = ?1";
        let mut next: i64 = transaction.query_row(next, [embedder], |row| row.get(0))?;
        let mut all = Vec::with_capacity(blocks.len());
        {
            let insert = format!("INSERT INTO {} (rowid, vector) VALUES (?1, vec_int8(?2))", table(embedder));
            let mut insert = transaction.prepare(&insert)?;
            let mut note = transaction.prepare("INSERT INTO blocks VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for (key, vectors) in blocks {
                if let Some(rows) = find(&transaction, embedder, key)? {
                    all.push(rows);
                    continue;
                }
                let first = next;
                for vector in vectors.chunks_exact(dimensions.max(1)) {
                    let bytes: Vec<u8> = vector.iter().map(|byte| byte.cast_unsigned()).collect();
                    insert.execute(params![next, bytes])?;
                    next += 1;
                }
                note.execute(params![embedder, key.0.as_bytes(), key.1, first, next - first])?;
                all.push(Rows(first..next));
            }
        }
        transaction.execute("UPDATE embedders SET next = ?2 WHERE number = ?1", params![embedder, next])?;
        transaction.commit()?;
        Ok(all)
    }

    /// Removes the blobs that no worktree uses, if there are many. `live` is called only in that case. Returns the
    /// number of removed blobs.
    ///
    /// # Errors
    /// If the file cannot be written; then the store is unchanged.
    pub fn sweep(&mut self, live: impl FnOnce() -> HashSet<BlobId>, current: usize) -> Result<usize, CacheError> {
        self.sweep_beyond(MAX_ORPHANS, live, current)
    }

    fn sweep_beyond(
        &mut self,
        most: usize,
        live: impl FnOnce() -> HashSet<BlobId>,
        current: usize,
    ) -> Result<usize, CacheError> {
        let count = "SELECT count(*) FROM blocks WHERE embedder = ?1";
        let count = self.connection.query_row(count, [self.embedder], |row| row.get::<_, i64>(0));
        let count = usize::try_from(self.told(count)?).unwrap_or(0);
        if count <= most + current {
            return Ok(0);
        }
        let live = live();
        let mut gone = self.blocks()?;
        gone.retain(|(blob, _), _| !live.contains(blob));
        if gone.len() <= most {
            return Ok(0);
        }
        let removed = self.remove(&gone);
        self.told(removed)
    }

    fn remove(&mut self, gone: &HashMap<BlockKey, Rows>) -> rusqlite::Result<usize> {
        let embedder = self.embedder;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut forget =
                transaction.prepare("DELETE FROM blocks WHERE embedder = ?1 AND blob = ?2 AND form = ?3")?;
            let mut delete = transaction.prepare(&format!("DELETE FROM {} WHERE rowid = ?1", table(embedder)))?;
            for ((blob, form), rows) in gone {
                forget.execute(params![embedder, blob.as_bytes(), form])?;
                for row in rows.0.clone() {
                    delete.execute([row])?;
                }
            }
        }
        transaction.commit()?;
        Ok(gone.len())
    }

    /// Empties the file if the error means that it is damaged, so that the next process starts with an empty store.
    /// Returns whether it did.
    pub fn empty_if_damaged(self, error: &CacheError) -> bool {
        let damaged = matches!(error, CacheError::Database { source, .. } if is_damage(source));
        drop(self.connection);
        damaged && Disposable::reset(&self.path, SCHEMA, SCHEMA_VERSION).is_ok()
    }

    fn told<T>(&self, result: rusqlite::Result<T>) -> Result<T, CacheError> {
        result.map_err(|source| CacheError::Database { path: self.path.clone(), source })
    }
}

fn table(embedder: i64) -> String {
    format!("vectors_{embedder}")
}

fn find(connection: &Connection, embedder: i64, key: &BlockKey) -> rusqlite::Result<Option<Rows>> {
    let mut query =
        connection.prepare_cached("SELECT first, count FROM blocks WHERE embedder = ?1 AND blob = ?2 AND form = ?3")?;
    let found = query.query_row(params![embedder, key.0.as_bytes(), key.1], |row| {
        let (first, count): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok(Rows(first..first.saturating_add(count)))
    });
    found.optional()
}

#[cfg(test)]
mod tests;
