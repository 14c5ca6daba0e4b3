//! The second phase of indexing: computes the vectors of the chunks that the first phase found.
//!
//! This phase reads each file again, usually from the system's file cache, so that the first phase need not hold all
//! texts in memory. With a large model it can take long, so its results are stored every half second.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use muninn_base::with_causes;
use muninn_repo_tools::{Worktree, read_text};
use muninn_text::redact;

use super::filled::Filled;
use super::held::Key;
use super::lane::Vectors;
use super::store::{BlockKey, Rows, VectorStore};
use super::text;
use crate::cache::{Cache, CacheError};
use crate::{Digest, FileRole, Snapshot};

/// Maximum number of chunks with vectors. They take half a gigabyte on disk and 64 MB in memory.
const MAX_CHUNKS: usize = 2_000_000;
/// Target time of a batch. A batch is embedded, stored and added to memory at once. Its size is adapted to this time,
/// because one embedder is ten thousand times faster than another.
const BATCH_TIME: Duration = Duration::from_millis(500);
const BATCHES: Range<usize> = 16..8_192;
/// Minimum number of blobs for which all rows are read in one scan.
const MANY: usize = 64;

pub(super) struct Filling<'a> {
    vectors: &'a Vectors,
    worktree: &'a Worktree,
    snapshot: &'a Snapshot,
    max_file_bytes: u64,
    store: Option<VectorStore>,
    /// Whether the store was damaged and has been emptied.
    emptied: bool,
    filled: Filled,
}

impl Vectors {
    /// Loads or computes the missing vectors of a snapshot's chunks, and removes those of other chunks. Stops between
    /// two files when `go_on` returns `false`. The vectors computed so far are kept, and the next call continues. If
    /// another thread is filling, this call waits for it.
    pub fn fill(
        &self,
        worktree: &Worktree,
        snapshot: &Snapshot,
        max_file_bytes: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Filled {
        let _one = self.filling.lock();
        Filling::new(self, worktree, snapshot, max_file_bytes).run(go_on)
    }
}

impl<'a> Filling<'a> {
    pub(super) fn new(
        vectors: &'a Vectors,
        worktree: &'a Worktree,
        snapshot: &'a Snapshot,
        max_file_bytes: u64,
    ) -> Self {
        Self { vectors, worktree, snapshot, max_file_bytes, store: None, emptied: false, filled: Filled::default() }
    }

    pub(super) fn run(mut self, go_on: &dyn Fn() -> bool) -> Filled {
        let mut missing = self.wanted();
        let keys: HashSet<Key> = missing.iter().map(|(key, _)| *key).collect();
        self.held(|held| {
            held.forget(|key| keys.contains(key));
            missing.retain(|(key, _)| !held.has(key));
        });
        if missing.is_empty() {
            return self.filled;
        }
        self.open();
        self.load(&mut missing);
        self.embed(&missing, go_on);
        self.sweep(&keys);
        self.filled
    }

    /// Returns a file for each blob that needs vectors, source files first.
    fn wanted(&self) -> Vec<(Key, usize)> {
        let mut seen = HashSet::new();
        let mut wanted: Vec<(Key, usize)> = Vec::new();
        for (number, file) in self.snapshot.files() {
            let key = (file.facts.blob, Digest::form(&file.facts.path));
            if file.role != FileRole::Generated && seen.insert(key) {
                wanted.push((key, number));
            }
        }
        wanted.sort_by_key(|(_, number)| self.snapshot.file(*number).role != FileRole::Source);
        let mut chunks = 0;
        wanted.retain(|(_, number)| {
            chunks += self.snapshot.spans_of(*number).len();
            chunks <= MAX_CHUNKS
        });
        wanted
    }

    fn open(&mut self) {
        let unkept = self.vectors.unkept.load(Ordering::Relaxed);
        let Some(dir) = self.vectors.dir.as_ref().filter(|_| !unkept) else {
            return;
        };
        let embedder = &self.vectors.embedder;
        match VectorStore::open(dir, embedder.id(), embedder.dimensions(), &self.vectors.clock) {
            Ok(store) => {
                if store.was_rebuilt() {
                    self.note(
                        "the stored vectors were damaged or of another version, and are computed again".to_owned(),
                    );
                }
                self.store = Some(store);
            }
            Err(error) => self.give_up(&error),
        }
    }

    /// Loads the stored vectors. The blobs without stored vectors remain in `missing`.
    fn load(&mut self, missing: &mut Vec<(Key, usize)>) {
        let Some(store) = &self.store else { return };
        match found(store, self.snapshot, missing, self.vectors.embedder.dimensions()) {
            Ok(found) => {
                let loaded: usize = found.iter().map(|(_, _, rows)| rows.count()).sum();
                self.held(|held| {
                    for (key, vectors, rows) in found {
                        held.push(key, &vectors, Some(rows));
                    }
                    missing.retain(|(key, _)| !held.has(key));
                });
                self.filled.loaded += loaded;
            }
            Err(error) => self.give_up(&error),
        }
    }

    /// Embeds the chunks of files, one batch at a time.
    fn embed(&mut self, missing: &[(Key, usize)], go_on: &dyn Fn() -> bool) {
        let mut batch = Batch::default();
        let mut size = BATCHES.start;
        for (done, (key, file)) in missing.iter().enumerate() {
            if !go_on() {
                self.filled.left += missing.len() - done;
                break;
            }
            let Some(texts) = self.texts(*file) else {
                self.filled.left += 1;
                continue;
            };
            batch.add(*key, texts);
            if batch.texts.len() < size {
                continue;
            }
            let begun = Instant::now();
            if !self.flush(std::mem::take(&mut batch)) {
                self.filled.left += missing.len() - done;
                return;
            }
            size = if begun.elapsed() < BATCH_TIME { size * 2 } else { size / 2 };
            size = size.clamp(BATCHES.start, BATCHES.end);
        }
        self.flush(batch);
    }

    /// Returns the text of each chunk of a file; `None` if the file differs from the snapshot.
    fn texts(&self, file: usize) -> Option<Vec<String>> {
        let facts = &self.snapshot.file(file).facts;
        let read = read_text(self.worktree, &facts.path, self.max_file_bytes).ok()?;
        if read.blob != facts.blob {
            return None;
        }
        let redacted = redact(&read.text);
        let lines: Vec<&str> = redacted.lines().collect();
        let spans = self.snapshot.spans_of(file).map(|doc| self.snapshot.span(muninn_text::lexical::DocId(doc)));
        Some(spans.map(|span| text::of_chunk(&lines, span.first..=span.last)).collect())
    }

    /// Embeds and stores a batch, and adds it to memory. Returns `false` if the embedder fails.
    fn flush(&mut self, batch: Batch) -> bool {
        let texts: Vec<&str> = batch.texts.iter().map(String::as_str).collect();
        let embedded = match self.vectors.embedder.embed(&texts) {
            Ok(embedded) => embedded,
            Err(error) => {
                self.note(error.to_string());
                return false;
            }
        };
        let dimensions = self.vectors.embedder.dimensions();
        if embedded.len() != texts.len() || embedded.iter().any(|vector| vector.len() != dimensions) {
            self.note(format!("the embedder {} gave too little", self.vectors.embedder.id()));
            return false;
        }
        self.filled.embedded += embedded.len();
        let mut embedded = embedded.into_iter();
        let blocks: Vec<(BlockKey, Vec<i8>)> = batch
            .blocks
            .iter()
            .map(|(key, count)| {
                let vectors = embedded.by_ref().take(*count);
                (
                    stored(key),
                    vectors.flat_map(|vector| muninn_text::vectors::bytes(&vector).collect::<Vec<_>>()).collect(),
                )
            })
            .collect();
        let rows = self.put(&blocks);
        self.held(|held| {
            for (at, ((key, _), (_, vectors))) in batch.blocks.iter().zip(&blocks).enumerate() {
                held.push(*key, vectors, rows.get(at).cloned());
            }
        });
        true
    }

    fn put(&mut self, blocks: &[(BlockKey, Vec<i8>)]) -> Vec<Rows> {
        match self.store.as_mut().map(|store| store.put(blocks)) {
            Some(Ok(rows)) => rows,
            Some(Err(error)) => {
                self.give_up(&error);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Removes the vectors of blobs that no worktree uses, once there are many.
    fn sweep(&mut self, current: &HashSet<Key>) {
        let Some(store) = &mut self.store else { return };
        let dir = self.vectors.dir.as_ref();
        let live = || {
            let mut live: HashSet<_> = current.iter().map(|(blob, _)| *blob).collect();
            live.extend(dir.and_then(|dir| Cache::open(dir).ok()).map(|cache| cache.blobs()).unwrap_or_default());
            live
        };
        if let Err(error) = store.sweep(live, current.len()) {
            self.give_up(&error);
        }
    }

    /// Handles a failed store. A damaged store is emptied, once. After any other error this process no longer uses the
    /// store, so that later fillings do not repeat the failure. The exception is a lock that another process held too
    /// long.
    fn give_up(&mut self, error: &CacheError) {
        let emptied = self.store.take().is_some_and(|store| store.empty_if_damaged(error));
        if emptied && !std::mem::replace(&mut self.emptied, true) {
            self.note(format!("the stored vectors were damaged and are computed again: {}", with_causes(error)));
            return self.open();
        }
        self.note(format!("vectors are not kept: {}", with_causes(error)));
        if !error.is_busy() {
            self.vectors.unkept.store(true, Ordering::Relaxed);
        }
    }

    fn held(&self, change: impl FnOnce(&mut super::held::Held)) {
        change(&mut self.vectors.held.write());
    }

    fn note(&mut self, note: String) {
        self.filled.notes.push(note);
    }
}

/// Returns the key of a stored block: the blob, how it was split, and which text of a chunk was embedded.
fn stored(key: &Key) -> BlockKey {
    (key.0, format!("{} {}", key.1, text::VERSION))
}

/// Returns the blobs of `missing` that have a stored vector for each of their chunks.
fn found(
    store: &VectorStore,
    snapshot: &Snapshot,
    missing: &[(Key, usize)],
    dimensions: usize,
) -> Result<Vec<(Key, Vec<i8>, Rows)>, CacheError> {
    let blocks = store.blocks()?;
    let there = missing.iter().filter_map(|(key, file)| {
        let rows = blocks.get(&stored(key))?;
        (rows.count() == snapshot.spans_of(*file).len()).then(|| (*key, rows.clone()))
    });
    let mut there: Vec<(Key, Rows)> = there.collect();
    let mut vectors: HashMap<Key, Vec<i8>> = HashMap::new();
    if there.len() < MANY {
        for (key, _) in &there {
            vectors.extend(store.get(&stored(key))?.map(|bytes| (*key, bytes)));
        }
    } else {
        // A block without rows sorts before a block with the same first row.
        there.sort_by_key(|(_, rows)| (rows.row(0), rows.count()));
        let mut read = HashMap::new();
        store.scan(|row, bytes| {
            let at = there.partition_point(|(_, rows)| rows.row(0) <= row).checked_sub(1);
            let Some(((key, rows), chunk)) = at.and_then(|at| Some((&there[at], there[at].1.position(row)?))) else {
                return;
            };
            let size = rows.count() * dimensions;
            let (block, seen) = read.entry(*key).or_insert_with(|| (vec![0; size], 0));
            let place = block.get_mut(chunk * dimensions..(chunk + 1) * dimensions);
            if let Some(place) = place.filter(|place| place.len() == bytes.len()) {
                place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from.cast_signed());
                *seen += 1;
            }
        })?;
        let whole = there.iter().filter_map(|(key, rows)| {
            let (block, seen) = read.remove(key)?;
            (seen == rows.count()).then_some((*key, block))
        });
        vectors.extend(whole);
    }
    let whole = |(key, rows): (Key, Rows)| {
        let vectors = vectors.remove(&key).unwrap_or_default();
        (vectors.len() == rows.count() * dimensions).then_some((key, vectors, rows))
    };
    Ok(there.into_iter().filter_map(whole).collect())
}

/// Texts that are embedded together, with their blobs.
#[derive(Default)]
struct Batch {
    blocks: Vec<(Key, usize)>,
    texts: Vec<String>,
}

impl Batch {
    fn add(&mut self, key: Key, texts: Vec<String>) {
        self.blocks.push((key, texts.len()));
        self.texts.extend(texts);
    }
}
