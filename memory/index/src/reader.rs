//! Reads changed files in blocks on several threads.
//!
//! Each block becomes a segment, and its digests are cached before the next block starts: a killed process loses at
//! most one block per thread, and memory is bounded.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use muninn_base::{Clock, RelPath, in_order};
use muninn_repo_tools::{BlobId, FileEntry, ReadError, SkipCounts, Worktree, read_text};
use muninn_text::lexical::Tokenizer;
use muninn_text::redact;
use parking_lot::Mutex;

use super::digest::{Digest, digest};
use super::segment::{FileFacts, RACY, Segment, SegmentBuilder};
use super::snapshot::Snapshot;
use crate::cache::{Cache, CacheError, encoded, nanos};

/// A file that was modified less than this long before it is read can be modified again within the same tick of the
/// file system's clock, and then looks unchanged. Git calls such entries racy.
const RACY_WINDOW: Duration = Duration::from_secs(2);
/// More threads would wait for the disk and the cache.
const MAX_THREADS: usize = 4;
/// Number of files in a block. It is large enough that the commit is cheap compared with the computation.
const BLOCK: usize = 256;

/// The input of reading.
pub(super) struct Reader<'a> {
    pub(super) worktree: &'a Worktree,
    pub(super) base: &'a Snapshot,
    pub(super) cache: Option<&'a Mutex<Cache>>,
    pub(super) max_file_bytes: u64,
    pub(super) clock: &'a Clock,
}

/// The result of reading a block of files.
#[derive(Default)]
pub(super) struct Block {
    /// Files with content that is new to the snapshot.
    pub(super) segment: Segment,
    /// Files with another time and the same content.
    pub(super) touched: Vec<FileFacts>,
    /// Files that are not indexed.
    pub(super) unreadable: Unreadable,
    /// Number of files that were not cached.
    pub(super) computed: usize,
    pub(super) trouble: Option<CacheError>,
}

#[derive(Default)]
pub(super) struct Unreadable {
    pub(super) paths: Vec<RelPath>,
    pub(super) counts: SkipCounts,
    /// Binary files, with size and time.
    pub(super) binaries: Vec<(RelPath, (u64, i64))>,
}

/// A digest to cache: its form, blob and bytes.
type Computed = (&'static str, BlobId, Vec<u8>);

impl Reader<'_> {
    /// Reads files; blocks are returned in file order.
    pub(super) fn read(&self, files: &[FileEntry], advance: &(dyn Fn(usize) + Sync)) -> Vec<Block> {
        let blocks: Vec<&[FileEntry]> = files.chunks(BLOCK.min(files.len().div_ceil(MAX_THREADS)).max(1)).collect();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let done = AtomicUsize::new(0);
        let count = || advance(done.fetch_add(1, Ordering::Relaxed) + 1);
        let mut read = Vec::with_capacity(blocks.len());
        in_order(
            &blocks,
            cores.min(MAX_THREADS),
            Tokenizer::new,
            |tokenizer, block| self.block(block, tokenizer, &count),
            |_, block| {
                read.push(block);
                ControlFlow::Continue(())
            },
        );
        read
    }

    fn block(&self, files: &[FileEntry], tokenizer: &mut Tokenizer, advance: &dyn Fn()) -> Block {
        let mut block = Block::default();
        let mut builder = SegmentBuilder::default();
        let mut computed: Vec<Computed> = Vec::new();
        for entry in files {
            match self.file(entry, tokenizer) {
                Ok(Content::Same(facts)) => block.touched.push(facts),
                Ok(Content::Cached(facts, digest)) => builder.add(tokenizer, facts, digest),
                Ok(Content::Computed(facts, digest)) => {
                    computed.push((Digest::form(&entry.path), facts.blob, encoded(&digest)));
                    builder.add(tokenizer, facts, digest);
                }
                Err(error) => block.unreadable.add(entry, &error, self.is_racy(entry.modified)),
            }
            advance();
        }
        block.segment = builder.finish();
        block.computed = computed.len();
        if let Some(cache) = self.cache.filter(|_| !computed.is_empty()) {
            block.trouble = cache.lock().store(&computed).err();
        }
        block
    }

    fn file(&self, entry: &FileEntry, tokenizer: &mut Tokenizer) -> Result<Content, ReadError> {
        let path = &entry.path;
        let file = read_text(self.worktree, path, self.max_file_bytes)?;
        let facts = FileFacts {
            path: path.clone(),
            size: file.size,
            modified: if self.is_racy(file.modified) { RACY } else { nanos(file.modified) },
            blob: file.blob,
        };
        let known = self.base.find(path);
        if known.is_some_and(|(_, known)| known.facts.blob == file.blob) {
            return Ok(Content::Same(facts));
        }
        let cached = self.cache.and_then(|cache| cache.lock().get(Digest::form(path), &file.blob));
        Ok(match cached {
            Some(digest) => Content::Cached(facts, digest),
            None => Content::Computed(facts, digest(tokenizer, path, &redact(&file.text))),
        })
    }

    /// Returns whether a file that is read now can change again with the same time.
    fn is_racy(&self, modified: SystemTime) -> bool {
        let now = SystemTime::from(self.clock.now());
        now.duration_since(modified).unwrap_or_default() < RACY_WINDOW
    }
}

enum Content {
    /// The same content as in the snapshot.
    Same(FileFacts),
    Cached(FileFacts, Digest),
    Computed(FileFacts, Digest),
}

impl Unreadable {
    fn add(&mut self, entry: &FileEntry, error: &ReadError, is_racy: bool) {
        match error {
            ReadError::Binary { .. } => self.counts.binary += 1,
            ReadError::TooLarge { .. } => self.counts.too_large += 1,
            ReadError::Secret { .. } => self.counts.secret += 1,
            ReadError::NotAFile { .. } => self.counts.not_regular += 1,
            ReadError::Path(_) | ReadError::Changed { .. } | ReadError::Io { .. } => self.counts.unreadable += 1,
        }
        if matches!(error, ReadError::Binary { .. }) && !is_racy {
            self.binaries.push((entry.path.clone(), (entry.size, nanos(entry.modified))));
        }
        self.paths.push(entry.path.clone());
    }
}
