//! The vectors of a worktree's chunks: made after the index, kept by blob, searched by a question's.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use muninn_repo_tools::{BlobId, Worktree};

use super::fill::{Filled, Filling};
use super::held::Held;
use super::index::{MOST_BYTES_HELD, VectorIndex};
use super::store::VectorStore;
use crate::Clock;
use crate::embed::{EmbedError, Embedder};
use crate::index::Snapshot;
use crate::index::indexer::lock;

/// So many vectors that are nearest by their signs are compared by their bytes.
const WIDE: usize = 1_000;

/// Vectors of one embedder. Share it; a question waits for a filling no longer than a batch takes to be copied.
pub struct Vectors {
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) dir: Option<PathBuf>,
    pub(super) clock: Clock,
    /// Whether the directory turned out not to be for writing.
    pub(super) unkept: AtomicBool,
    pub(super) held: RwLock<Held>,
    /// One filling at a time.
    filling: Mutex<()>,
    /// For what memory does not hold.
    reader: Mutex<Option<VectorStore>>,
}

/// A chunk that is like a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// The blob that it is part of.
    pub blob: BlobId,
    /// How the blob was cut; see [`crate::index::Digest::form`].
    pub form: &'static str,
    /// Which chunk, in the order of their lines.
    pub chunk: u32,
    /// The cosine, up to 1.
    pub score: f32,
}

impl Vectors {
    /// Opens nothing yet. Without a directory nothing is kept between processes.
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

    /// Reads, or makes, the vectors of a snapshot's chunks that are not held yet, and forgets those that it has not.
    /// Stops between two files when `go_on` says so: what was made until then counts, and the next call goes on.
    /// While another thread is at it, this waits for it.
    pub fn fill(
        &self,
        worktree: &Worktree,
        snapshot: &Snapshot,
        max_file_bytes: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Filled {
        let _one = lock(&self.filling);
        Filling::new(self, worktree, snapshot, max_file_bytes).run(go_on)
    }

    /// The embedder that made them.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// How many chunks have vectors.
    pub fn len(&self) -> usize {
        self.read().index.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chunks most like a question, at most `keep`, best first.
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
        let mut reader = (!held.index.holds_bytes()).then(|| lock(&self.reader));
        let fetch = |number: u32, bytes: &mut Vec<i8>| {
            let row = held.owner(number).and_then(|(_, _, row)| row);
            let store = reader.as_mut().and_then(|reader| self.opened(reader));
            matches!(row.zip(store).map(|(row, store)| store.row(row, bytes)), Some(Ok(true)))
        };
        let found = held.index.search(&query, WIDE, keep, fetch);
        let near = found.into_iter().filter_map(|(number, score)| {
            let ((blob, form), chunk, _) = held.owner(number)?;
            Some(Near {
                blob,
                form,
                chunk,
                score,
            })
        });
        Ok(near.collect())
    }

    /// The store that is read from while another connection writes.
    fn opened<'a>(&self, reader: &'a mut Option<VectorStore>) -> Option<&'a VectorStore> {
        if reader.is_none() {
            let dir = self.dir.as_ref()?;
            *reader = VectorStore::open(dir, self.embedder.id(), self.embedder.dimensions(), &self.clock).ok();
        }
        reader.as_ref()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
