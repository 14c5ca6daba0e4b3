//! Making the next snapshot out of the last, the cache, and what changed on disk.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::cache::{Cache, Known, nanos};
use crate::lexical::Tokenizer;
use crate::redact;
use muninn_repo_tools::{BlobId, FileEntry, ReadError, RelPath, SkipCounts, WalkLimits, Worktree, read_text, walk};

use super::digest::{Digest, digest};
use super::snapshot::{FileFacts, RACY, Snapshot};

/// A file that was modified less than this before it was read may be modified again within the same tick of the file
/// system's clock, and look unchanged; git calls such entries racy.
const RACY_WINDOW: Duration = Duration::from_secs(2);
/// More threads would wait for the disk and for the cache.
const MAX_THREADS: usize = 4;

/// Told how far an indexing is. Called from the thread that indexes, at most once a file.
pub trait Progress: Sync {
    /// `done` of `total` files.
    fn advance(&self, done: usize, total: usize);
}

impl Progress for () {
    fn advance(&self, _done: usize, _total: usize) {}
}

/// Keeps the cache open between refreshes.
pub struct Indexer {
    cache_dir: Option<PathBuf>,
    max_file_bytes: u64,
    cache: Option<Mutex<Cache>>,
    opened: bool,
    /// Binary files with their size and time, so that they are not opened at every refresh.
    binaries: HashMap<RelPath, (u64, i64)>,
}

/// A new snapshot and what it took.
pub struct Refreshed {
    /// `None` if nothing changed.
    pub snapshot: Option<Snapshot>,
    /// Files that were not taken apart anew.
    pub reused: usize,
    /// Files that were left out, by reason.
    pub skipped: SkipCounts,
    /// What went wrong without stopping it.
    pub notes: Vec<String>,
}

/// What became of a file that the snapshot does not know as it is now.
enum Outcome {
    /// Its time changed and its content did not.
    Touched(FileFacts),
    /// Its content is new to the snapshot; `computed` if to the cache as well.
    New {
        facts: FileFacts,
        digest: Digest,
        computed: bool,
    },
    Skipped(ReadError),
}

impl Indexer {
    /// Opens nothing yet. Without a directory nothing is kept between processes; larger files are left out.
    pub fn new(cache_dir: Option<PathBuf>, max_file_bytes: u64) -> Self {
        Self {
            cache_dir,
            max_file_bytes,
            cache: None,
            opened: false,
            binaries: HashMap::new(),
        }
    }

    /// Walks the worktree and reads what is new or changed.
    pub fn refresh(&mut self, worktree: &Worktree, last: &Snapshot, progress: &dyn Progress) -> Refreshed {
        let mut notes = Vec::new();
        self.open_cache(&mut notes);
        let limits = WalkLimits {
            max_file_bytes: self.max_file_bytes,
            ..WalkLimits::default()
        };
        let mut walked = walk(worktree, &limits);
        if walked.cut {
            notes.push(format!("more than {} files: the rest is not indexed", limits.max_files));
        }
        let current: HashMap<&RelPath, &FileFacts> = last
            .files()
            .iter()
            .map(|file| (&file.facts.path, &file.facts))
            .collect();
        let unchanged = |entry: &FileEntry| {
            let known = current.get(&entry.path);
            known.is_some_and(|known| known.size == entry.size && known.modified == nanos(entry.modified))
        };
        let (same, changed): (Vec<_>, Vec<_>) = walked.files.into_iter().partition(unchanged);
        let (binary, changed): (Vec<_>, Vec<_>) = changed.into_iter().partition(|entry| self.is_known_binary(entry));
        walked.skipped.binary += binary.len();
        let total = same.len() + changed.len();
        let outcomes = self.read_all(worktree, &current, &changed, &|done| {
            progress.advance(same.len() + done, total);
        });

        let mut stays: HashSet<&RelPath> = same.iter().map(|entry| &entry.path).collect();
        let mut touched = Vec::new();
        let mut new = Vec::new();
        let mut computed = HashSet::new();
        for (entry, outcome) in changed.iter().zip(outcomes) {
            match outcome {
                Outcome::Touched(facts) => touched.push(facts),
                Outcome::New {
                    facts,
                    digest,
                    computed: anew,
                } => {
                    computed.extend(anew.then_some(facts.blob));
                    new.push((facts, digest));
                }
                Outcome::Skipped(error) => {
                    count(&mut walked.skipped, &error);
                    if matches!(error, ReadError::Binary { .. }) && !is_racy(entry.modified) {
                        self.binaries
                            .insert(entry.path.clone(), (entry.size, nanos(entry.modified)));
                    }
                }
            }
        }
        stays.extend(touched.iter().map(|facts| &facts.path));
        let gone: HashSet<RelPath> = current
            .keys()
            .filter(|path| !stays.contains(**path))
            .map(|path| (*path).clone())
            .collect();
        let restamped = touched.iter().any(|facts| {
            current
                .get(&facts.path)
                .is_some_and(|old| old.modified != facts.modified)
        });
        let reused = same.len() + touched.len() + new.len() - computed.len();
        let mut refreshed = Refreshed {
            snapshot: None,
            reused,
            skipped: walked.skipped,
            notes,
        };
        if !(gone.is_empty() && new.is_empty() && !restamped) {
            let snapshot = last.with_changes(&gone, &touched, &new);
            self.store(worktree, &snapshot, &new, &computed, &mut refreshed.notes);
            refreshed.snapshot = Some(snapshot);
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
            Ok(cache) => {
                if cache.was_rebuilt() {
                    notes.push("the cache was damaged or of another version, and was begun anew".to_owned());
                }
                self.cache = Some(Mutex::new(cache));
            }
            Err(error) => notes.push(format!("indexing without a cache: {}", chain(&error))),
        }
    }

    /// Reads the changed files on all cores; the outcomes come in the order of the files.
    fn read_all(
        &self,
        worktree: &Worktree,
        current: &HashMap<&RelPath, &FileFacts>,
        changed: &[FileEntry],
        advance: &(dyn Fn(usize) + Sync),
    ) -> Vec<Outcome> {
        let known = match &self.cache {
            Some(cache) if !changed.is_empty() => lock(cache).files(worktree.root()),
            _ => HashMap::new(),
        };
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let outcomes: Mutex<Vec<(usize, Outcome)>> = Mutex::default();
        let work = || {
            let mut tokenizer = Tokenizer::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(entry) = changed.get(at) else { break };
                let outcome = self
                    .recall(entry, known.get(&entry.path))
                    .unwrap_or_else(|| self.read(worktree, entry, current, &mut tokenizer));
                lock(&outcomes).push((at, outcome));
                advance(done.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 1..cores.min(MAX_THREADS).min(changed.len().div_ceil(8)) {
                scope.spawn(work);
            }
            work();
        });
        let mut outcomes = std::mem::take(&mut *lock(&outcomes));
        outcomes.sort_by_key(|(at, _)| *at);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// What the cache knows of a file whose metadata did not change since it was stored.
    fn recall(&self, entry: &FileEntry, known: Option<&Known>) -> Option<Outcome> {
        let modified = nanos(entry.modified);
        let known = known.filter(|known| known.size == entry.size && known.modified == modified)?;
        let digest = self.cached(&entry.path, &known.blob)?;
        let facts = FileFacts {
            path: entry.path.clone(),
            size: entry.size,
            modified,
            blob: known.blob,
        };
        Some(Outcome::New {
            facts,
            digest,
            computed: false,
        })
    }

    fn read(
        &self,
        worktree: &Worktree,
        entry: &FileEntry,
        current: &HashMap<&RelPath, &FileFacts>,
        tokenizer: &mut Tokenizer,
    ) -> Outcome {
        let path = &entry.path;
        let file = match read_text(worktree, path, self.max_file_bytes) {
            Ok(file) => file,
            Err(error) => return Outcome::Skipped(error),
        };
        let modified = if is_racy(file.modified) {
            RACY
        } else {
            nanos(file.modified)
        };
        let facts = FileFacts {
            path: path.clone(),
            size: file.size,
            modified,
            blob: file.blob,
        };
        if current.get(path).is_some_and(|known| known.blob == file.blob) {
            return Outcome::Touched(facts);
        }
        match self.cached(path, &file.blob) {
            Some(digest) => Outcome::New {
                facts,
                digest,
                computed: false,
            },
            None => {
                let digest = digest(tokenizer, path, &redact(&file.text));
                Outcome::New {
                    facts,
                    digest,
                    computed: true,
                }
            }
        }
    }

    fn cached(&self, path: &RelPath, blob: &BlobId) -> Option<Digest> {
        lock(self.cache.as_ref()?).get(Digest::form(path), blob)
    }

    /// Puts what was computed into the cache. A cache that cannot be written is given up for this process.
    fn store(
        &mut self,
        worktree: &Worktree,
        snapshot: &Snapshot,
        new: &[(FileFacts, Digest)],
        computed: &HashSet<BlobId>,
        notes: &mut Vec<String>,
    ) {
        let Some(cache) = &self.cache else { return };
        let settled = snapshot
            .files()
            .iter()
            .map(|file| &file.facts)
            .filter(|facts| facts.modified != RACY);
        let files = settled
            .map(|facts| {
                (
                    facts.path.clone(),
                    Known {
                        size: facts.size,
                        modified: facts.modified,
                        blob: facts.blob,
                    },
                )
            })
            .collect();
        let blobs = new
            .iter()
            .filter(|(facts, _)| computed.contains(&facts.blob))
            .map(|(facts, digest)| (Digest::form(&facts.path), facts.blob, digest));
        let stored = lock(cache).store(blobs, worktree.root(), &files);
        if let Err(error) = stored {
            notes.push(format!("the cache is not written: {}", chain(&error)));
            self.cache = None;
        }
    }
}

/// Whether a file that is read now may change again without its time showing it.
fn is_racy(modified: SystemTime) -> bool {
    SystemTime::now().duration_since(modified).unwrap_or_default() < RACY_WINDOW
}

fn count(skipped: &mut SkipCounts, error: &ReadError) {
    match error {
        ReadError::Binary { .. } => skipped.binary += 1,
        ReadError::TooLarge { .. } => skipped.too_large += 1,
        ReadError::Secret { .. } => skipped.secret += 1,
        ReadError::NotAFile { .. } => skipped.not_regular += 1,
        ReadError::Path(_) | ReadError::Changed { .. } | ReadError::Io { .. } => skipped.unreadable += 1,
    }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A poisoned lock is taken all the same: what it guards is replaced whole or is a cache.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
