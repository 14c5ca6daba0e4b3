//! The vectors of a worktree's chunks: computed after the index, stored by blob, and searched with a question's vector.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use muninn_base::Clock;
use muninn_repo_tools::BlobId;
use muninn_text::embed::{EmbedError, Embedder};
use muninn_text::vectors::{MOST_BYTES_HELD, VectorIndex};
use parking_lot::{Mutex, RwLock};

use super::held::Held;
use super::store::VectorStore;

/// Number of vectors with the nearest signs that are compared by their bytes.
const WIDE: usize = 1_000;

/// The vectors of one embedder. Share one value between threads. A filling blocks a question only while a batch is
/// copied.
pub struct Vectors {
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) dir: Option<PathBuf>,
    pub(super) clock: Clock,
    /// Whether the directory turned out not to be writable.
    pub(super) unkept: AtomicBool,
    pub(super) held: RwLock<Held>,
    /// Held during a filling, so that only one runs at a time.
    pub(super) filling: Mutex<()>,
    /// Reads the bytes that are not in memory.
    reader: Mutex<Option<VectorStore>>,
}

/// A chunk that is similar to a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// The chunk's blob.
    pub blob: BlobId,
    /// How the blob was split; see [`crate::Digest::form`].
    pub form: &'static str,
    /// The number of the chunk in the blob, in line order.
    pub chunk: u32,
    /// The cosine, up to 1.
    pub score: f32,
}

impl Vectors {
    /// Creates an empty lane and opens nothing. Without a directory, no vectors are stored.
    pub fn new(embedder: Arc<dyn Embedder>, dir: Option<PathBuf>, clock: Clock) -> Self {
        let most = if dir.is_some() { MOST_BYTES_HELD } else { usize::MAX };
        let index = VectorIndex::new(embedder.dimensions(), most);
        Self {
            embedder,
            dir,
            clock,
            unkept: AtomicBool::new(false),
            held: RwLock::new(Held::new(index)),
            filling: Mutex::default(),
            reader: Mutex::default(),
        }
    }

    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// Returns the number of chunks with vectors.
    pub fn len(&self) -> usize {
        self.read().index.len()
    }

    /// Returns whether no chunk has a vector.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns at most `keep` chunks that are most similar to a question, best first.
    ///
    /// # Errors
    /// If the embedder fails.
    pub fn search(&self, question: &str, keep: usize) -> Result<Vec<Near>, EmbedError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let query = self.embedder.embed_question(question)?;
        if query.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let held = self.read();
        let mut reader = (!held.index.holds_bytes()).then(|| self.reader.lock());
        let fetch = |number: u32, bytes: &mut Vec<i8>| {
            let row = held.owner(number).and_then(|(_, _, row)| row);
            let store = reader.as_mut().and_then(|reader| self.opened(reader));
            matches!(row.zip(store).map(|(row, store)| store.row(row, bytes)), Some(Ok(true)))
        };
        let found = held.index.search(&query, WIDE, keep, fetch);
        let near = found.into_iter().filter_map(|(number, score)| {
            let ((blob, form), chunk, _) = held.owner(number)?;
            Some(Near { blob, form, chunk, score })
        });
        Ok(near.collect())
    }

    /// Returns the store for reading. Another connection can write at the same time.
    fn opened<'a>(&self, reader: &'a mut Option<VectorStore>) -> Option<&'a VectorStore> {
        if reader.is_none() {
            let dir = self.dir.as_ref()?;
            *reader = VectorStore::open(dir, self.embedder.id(), self.embedder.dimensions(), &self.clock).ok();
        }
        reader.as_ref()
    }

    fn read(&self) -> parking_lot::RwLockReadGuard<'_, Held> {
        self.held.read()
    }
}

#[cfg(test)]
mod tests;
