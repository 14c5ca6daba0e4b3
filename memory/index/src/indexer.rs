//! Builds the next snapshot from the last, the cache, and changes on disk.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use muninn_base::image::{self, ImageError, ImageFormat};
use muninn_base::{Clock, Progress, RelPath, with_causes};
use muninn_repo_tools::{FileEntry, SkipCounts, Walk, WalkLimits, Worktree, walk, walk_at};
use muninn_text::lexical::has_terms_of;
use parking_lot::Mutex;

use super::reader::{Block, Reader};
use super::segment::{FileFacts, Segment};
use super::snapshot::{Changes, Snapshot};
use crate::cache::{Cache, CacheError, nanos};

/// The stored index of a worktree. The number is increased whenever the format of a segment or the meaning of its data
/// changes.
const WORKTREE: ImageFormat = ImageFormat { prefix: "worktree-", magic: b"muninn worktree index 4\n" };
const _: () = assert!(has_terms_of(3), "raise the version of the image, too");
/// The image is rewritten after this many changed files, or after 1/50 of all files. Until then, a new process detects
/// changed files by their times and reads their digests from the cache by blob.
const WORTH_KEEPING: usize = 64;
const WORTH_KEEPING_SHARE: usize = 50;

/// The indexer of a worktree. It keeps the cache open between refreshes.
pub struct Indexer {
    cache_dir: Option<PathBuf>,
    limits: WalkLimits,
    clock: Clock,
    cache: Option<Mutex<Cache>>,
    opened: bool,
    /// Whether a rebuilt cache was reported.
    rebuild_reported: bool,
    /// Binary files with size and time, so that they are not opened at every refresh.
    binaries: HashMap<RelPath, (u64, i64)>,
    /// Files that changed since the image was written.
    unkept: usize,
}

/// The result of a refresh.
#[derive(Default)]
pub struct Refreshed {
    /// `None` if nothing changed.
    pub snapshot: Option<Snapshot>,
    /// Number of files with reused digests.
    pub reused: usize,
    /// Skipped files by reason.
    pub skipped: SkipCounts,
    /// Time to detect changes, without reading files; the next walk takes at least as long. Zero for a refresh of some
    /// paths.
    pub walk: Duration,
    /// Problems that did not stop the refresh.
    pub notes: Vec<String>,
}

impl Indexer {
    /// Creates an indexer; nothing is opened. Without a directory nothing is stored. Files above `max_file_bytes` are
    /// skipped.
    pub fn new(cache_dir: Option<PathBuf>, max_file_bytes: u64, clock: Clock) -> Self {
        Self {
            cache_dir,
            limits: WalkLimits { max_file_bytes, ..WalkLimits::default() },
            clock,
            cache: None,
            opened: false,
            rebuild_reported: false,
            binaries: HashMap::new(),
            unkept: 0,
        }
    }

    /// Whether an earlier process stored the index of a worktree.
    pub fn has_stored(cache_dir: &Path, worktree: &Worktree) -> bool {
        image::exists(&WORKTREE, cache_dir, worktree.root())
    }

    /// Walks the worktree and reads new or changed files. `last` is `None` the first time: then the stored index of an
    /// earlier process is used.
    pub fn refresh(&mut self, worktree: &Worktree, last: Option<&Snapshot>, progress: &dyn Progress) -> Refreshed {
        let mut notes = Vec::new();
        self.open_cache(&mut notes);
        let kept = last.is_none().then(|| self.kept(worktree, &mut notes)).flatten();
        let none = Snapshot::default();
        let base = last.or(kept.as_ref()).unwrap_or(&none);
        let started = Instant::now();
        let walked = walk(worktree, &self.limits);
        if walked.cut {
            notes.push(format!("more than {} files: the rest is not indexed", self.limits.max_files));
        }
        let gone = removed_files(base, &walked);
        let walk = started.elapsed();
        let mut refreshed = self.take_in(worktree, base, walked, gone, &fits, progress);
        let changed = refreshed.snapshot.take().or_else(|| kept.clone());
        // Segments are merged only here and not after each edit, because the cost grows with the size of the
        // repository.
        let compacted = changed.as_ref().or(last).and_then(Snapshot::compacted);
        refreshed.snapshot = compacted.or(changed);
        refreshed.notes.splice(0..0, notes);
        if let Some(snapshot) = &refreshed.snapshot {
            self.keep(worktree, snapshot, &mut refreshed.notes);
        }
        self.report_rebuild(&mut refreshed.notes);
        refreshed.walk = walk;
        refreshed
    }

    /// Refreshes some paths only. These files are read even if size and time are unchanged: a tool that restores times
    /// can have written other content of the same length.
    pub fn refresh_at(&mut self, worktree: &Worktree, last: &Snapshot, paths: &BTreeSet<RelPath>) -> Refreshed {
        let walked = walk_at(worktree, &self.limits, paths);
        let is_there = |path: &RelPath| walked.files.binary_search_by(|entry| entry.path.cmp(path)).is_ok();
        let gone = last.at(paths).into_iter().filter(|path| !is_there(path)).collect();
        let fits = |known: &FileFacts, entry: &FileEntry| !paths.contains(&entry.path) && fits(known, entry);
        let mut refreshed = self.take_in(worktree, last, walked, gone, &fits, &());
        self.report_rebuild(&mut refreshed.notes);
        refreshed
    }

    /// Applies the result of a walk to a snapshot.
    fn take_in(
        &mut self,
        worktree: &Worktree,
        base: &Snapshot,
        walked: Walk,
        mut gone: Vec<RelPath>,
        fits: &dyn Fn(&FileFacts, &FileEntry) -> bool,
        progress: &dyn Progress,
    ) -> Refreshed {
        let mut skipped = walked.skipped;
        let unchanged = |entry: &FileEntry| {
            let known = base.find(&entry.path);
            known.is_some_and(|(_, file)| fits(&file.facts, entry))
        };
        let (same, changed): (Vec<_>, Vec<_>) = walked.files.into_iter().partition(unchanged);
        let (binary, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(|entry| self.is_known_binary(entry));
        skipped.binary += binary.len();
        // The path can have been a text file in between.
        gone.extend(binary.into_iter().map(|entry| entry.path));
        let reader = Reader {
            worktree,
            base,
            cache: self.cache.as_ref(),
            max_file_bytes: self.limits.max_file_bytes,
            clock: &self.clock,
        };
        let total = same.len() + changed.len();
        let blocks = reader.read(&changed, &|done| progress.advance(same.len() + done, total));

        let mut refreshed =
            Refreshed { snapshot: None, reused: same.len(), skipped, walk: Duration::ZERO, notes: Vec::new() };
        let mut unwritten = None;
        let mut touched = Vec::new();
        let mut segments = Vec::new();
        for block in blocks {
            let Block { segment, touched: same_content, unreadable, computed, trouble } = block;
            refreshed.reused += same_content.len() + segment.files.len() - computed;
            refreshed.skipped.merge(&unreadable.counts);
            gone.extend(segment.files.iter().map(|file| file.facts.path.clone()));
            gone.extend(unreadable.paths);
            self.binaries.extend(unreadable.binaries);
            unwritten = unwritten.or(trouble);
            touched.extend(same_content);
            segments.push(segment);
        }
        if let Some(error) = unwritten {
            self.handle_write_error(&error, &mut refreshed.notes);
        }
        gone.retain(|path| base.find(path).is_some());
        touched.retain(|facts| base.find(&facts.path).is_some_and(|(_, file)| file.facts != *facts));
        let parts: Vec<_> = segments.iter().map(|segment| (segment, None)).collect();
        let new = Segment::merged(&parts);
        if !(gone.is_empty() && new.files.is_empty() && touched.is_empty()) {
            self.unkept += gone.len().max(new.files.len()) + touched.len();
            refreshed.snapshot = Some(base.changed(Changes { gone, touched, new }));
        }
        refreshed
    }

    fn is_known_binary(&self, entry: &FileEntry) -> bool {
        self.binaries.get(&entry.path) == Some(&(entry.size, nanos(entry.modified)))
    }

    fn open_cache(&mut self, notes: &mut Vec<String>) {
        let Some(dir) = self.cache_dir.as_ref().filter(|_| !self.opened) else {
            return;
        };
        self.opened = true;
        match Cache::open(dir) {
            Ok(cache) => self.cache = Some(Mutex::new(cache)),
            Err(error) => notes.push(format!("indexing without a cache: {}", with_causes(&error))),
        }
    }

    fn report_rebuild(&mut self, notes: &mut Vec<String>) {
        let rebuilt = self.cache.as_ref().is_some_and(|cache| cache.lock().was_rebuilt());
        if rebuilt && !std::mem::replace(&mut self.rebuild_reported, true) {
            notes.push("the cache was damaged or of another version, and was rebuilt".to_owned());
        }
    }

    /// If the cache cannot be written, it is no longer used, so that later refreshes do not repeat the failed write.
    /// The exception is a lock that another process held too long.
    fn handle_write_error(&mut self, error: &CacheError, notes: &mut Vec<String>) {
        notes.push(format!("cannot write the cache: {}", with_causes(error)));
        if !error.is_busy() {
            self.cache = None;
        }
    }

    /// The stored snapshot of an earlier process.
    fn kept(&self, worktree: &Worktree, notes: &mut Vec<String>) -> Option<Snapshot> {
        let dir = self.cache_dir.as_ref().filter(|_| self.cache.is_some())?;
        match image::read(&WORKTREE, dir, worktree.root()) {
            Ok(segment) => segment.map(Snapshot::of),
            Err(error @ ImageError::Unusable { .. }) => {
                notes.push(format!("{error}, and was rebuilt"));
                None
            }
            Err(error) => {
                notes.push(with_causes(&error));
                None
            }
        }
    }

    /// Stores the snapshot for the next process, if enough of it is new.
    fn keep(&mut self, worktree: &Worktree, snapshot: &Snapshot, notes: &mut Vec<String>) {
        let enough = WORTH_KEEPING.max(snapshot.len() / WORTH_KEEPING_SHARE).min(snapshot.len());
        let Some((dir, cache)) = self.cache_dir.as_ref().zip(self.cache.as_ref()) else {
            return;
        };
        if self.unkept < enough {
            return;
        }
        let blobs: Vec<_> = snapshot.files().map(|(_, file)| file.facts.blob).collect();
        let gone = cache.lock().in_use(worktree.root(), &blobs);
        match gone {
            Ok(gone) => gone.iter().for_each(|root| image::remove(&WORKTREE, dir, root)),
            Err(error) => return self.handle_write_error(&error, notes),
        }
        match image::write(&WORKTREE, dir, worktree.root(), &snapshot.whole()) {
            Ok(()) => self.unkept = 0,
            Err(error) => {
                notes.push(format!("cannot write the cache: {}", with_causes(&error)));
                self.cache = None;
            }
        }
    }
}

fn fits(known: &FileFacts, entry: &FileEntry) -> bool {
    known.fits(entry.size, entry.modified)
}

/// Files of a snapshot that a complete walk did not find.
fn removed_files(base: &Snapshot, walked: &Walk) -> Vec<RelPath> {
    let is_there = |path: &RelPath| walked.files.binary_search_by(|entry| entry.path.cmp(path)).is_ok();
    let paths = base.files().map(|(_, file)| &file.facts.path);
    paths.filter(|path| !is_there(path)).cloned().collect()
}

#[cfg(test)]
mod tests;
