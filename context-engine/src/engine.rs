//! The engine: one index over one worktree, shared by all requests.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

use muninn_memory::Memories;
use muninn_repo_tools::Worktree;

use crate::explore::{Sources, explore, ranking};
use crate::item::{Exploration, IndexError, IndexReport, IndexStatus, Limits};
use crate::rank::Index;
use crate::tuning::{Ranking, Tuning};
use muninn_memory::derived::{Companions, History, Indexer, Progress, Snapshot};

/// How an engine works.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// Where the derived cache lives; with `None` nothing is kept between processes.
    pub cache_dir: Option<PathBuf>,
    /// How probable it must be that what was found is about what was asked before anything is packed, from 0 (always)
    /// to 1 (never); `None` for the default of 0.5.
    pub threshold: Option<f32>,
    /// Larger files are not indexed.
    pub max_file_bytes: u64,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            cache_dir: None,
            threshold: None,
            max_file_bytes: 1 << 20,
        }
    }
}

/// An index over one worktree and its memory. Share it; all methods take `&self` and block.
pub struct Engine {
    worktree: Worktree,
    settings: EngineSettings,
    /// One refresh at a time; a second waits, and then finds little to do.
    indexer: Mutex<Indexer>,
    /// Read behind the files, by one thread at a time; who finds it busy leaves it to that one.
    history: Mutex<History>,
    state: RwLock<State>,
    /// Settings are read again while the engine runs; the rest of them holds for its life.
    threshold: RwLock<Option<f32>>,
}

#[derive(Clone, Default)]
struct State {
    /// `None` until the first refresh is done.
    snapshot: Option<Arc<Snapshot>>,
    /// In the numbers of this snapshot.
    companions: Arc<Companions>,
    memories: Option<Arc<Memories>>,
    progress: Option<(usize, usize)>,
}

impl Engine {
    /// Makes an engine. Nothing is read yet: that is for [`Self::refresh`], on a thread that may take its time.
    pub fn open(worktree: Worktree, settings: EngineSettings) -> Self {
        let indexer = Indexer::new(settings.cache_dir.clone(), settings.max_file_bytes);
        let history = History::new(settings.cache_dir.clone());
        Self {
            worktree,
            threshold: RwLock::new(settings.threshold),
            settings,
            indexer: Mutex::new(indexer),
            history: Mutex::new(history),
            state: RwLock::default(),
        }
    }

    /// The worktree that it answers for.
    pub fn worktree(&self) -> &Worktree {
        &self.worktree
    }

    /// Puts another threshold in force, from the next question on; see [`EngineSettings::threshold`].
    pub fn set_threshold(&self, threshold: Option<f32>) {
        *self.threshold.write().unwrap_or_else(PoisonError::into_inner) = threshold;
    }

    /// Brings the index up to date: reads what is new or changed since the last call, told by size and time. Questions
    /// are answered from the last index meanwhile.
    ///
    /// # Errors
    /// If the worktree is gone. Anything less is a note in the report.
    pub fn refresh(&self, progress: &dyn Progress) -> Result<IndexReport, IndexError> {
        let started = Instant::now();
        let root = self.worktree.root();
        std::fs::read_dir(root).map_err(|source| IndexError::WorktreeGone {
            path: root.to_owned(),
            source,
        })?;
        let mut indexer = lock(&self.indexer);
        self.update(|state| state.progress = Some((0, 0)));
        let state = self.state();
        let watched = Watched {
            engine: self,
            inner: progress,
        };
        let last = state.snapshot;
        let refreshed = indexer.refresh(&self.worktree, last.as_deref(), &watched);
        let mut companions = state.companions;
        if let Some(snapshot) = &refreshed.snapshot {
            companions = Arc::new(Companions::new(Arc::clone(companions.co_change()), snapshot));
        }
        let snapshot = refreshed.snapshot.map(Arc::new).or(last).unwrap_or_default();
        let memories = match state.memories {
            Some(memories) if memories.is_current(&self.worktree) => memories,
            _ => Arc::new(Memories::load(&self.worktree)),
        };
        let mut notes = refreshed.notes;
        notes.extend(memories.notes().iter().cloned());
        let mut report = IndexReport {
            files: snapshot.len(),
            chunks: snapshot.chunks(),
            memories: memories.items().len(),
            reused: refreshed.reused,
            skipped: refreshed.skipped,
            millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            notes,
        };
        self.update(|state| {
            *state = State {
                snapshot: Some(snapshot),
                companions,
                memories: Some(memories),
                progress: None,
            };
        });
        drop(indexer);
        report.notes.extend(self.read_history());
        Ok(report)
    }

    /// Brings up to date what is known of history; returns what is to be noted.
    fn read_history(&self) -> Vec<String> {
        let Ok(mut history) = self.history.try_lock() else {
            return Vec::new();
        };
        let read = history.refresh(&self.worktree);
        if let Some(co_change) = read.co_change {
            // Nobody may put another snapshot in place meanwhile.
            let _indexer = lock(&self.indexer);
            if let Some(snapshot) = self.state().snapshot {
                let companions = Arc::new(Companions::new(Arc::new(co_change), &snapshot));
                self.update(|state| state.companions = companions);
            }
        }
        read.notes
    }

    /// Where the index stands. A refresh of a ready index leaves it ready.
    pub fn status(&self) -> IndexStatus {
        let state = self.state();
        match (state.snapshot, state.progress) {
            (Some(snapshot), _) => IndexStatus::Ready {
                files: snapshot.len(),
                chunks: snapshot.chunks(),
                memories: state.memories.map_or(0, |memories| memories.items().len()),
            },
            (None, Some((done, total))) => IndexStatus::Indexing { done, total },
            (None, None) => IndexStatus::Empty,
        }
    }

    /// Finds what belongs in the prompt for a question. It neither fails nor panics: what went wrong, or why there is
    /// nothing, is the exploration's `reason`.
    pub fn explore(&self, question: &str, limits: &Limits) -> Exploration {
        self.explore_with(question, limits, Tuning::default())
    }

    /// Ranks files for a question and leaves it at that: the `keep` best, for measuring. [`Tuning::decide`] has no say
    /// here.
    pub fn rank(&self, question: &str, tuning: Tuning, keep: usize) -> Ranking {
        let state = self.state();
        let Some(snapshot) = state.snapshot else {
            return Ranking::default();
        };
        let index = Index {
            snapshot: &snapshot,
            companions: &state.companions,
        };
        ranking(&self.worktree, index, question, tuning, keep)
    }

    /// [`Self::explore`] in another way than the usual, for measuring.
    pub fn explore_with(&self, question: &str, limits: &Limits, tuning: Tuning) -> Exploration {
        let state = self.state();
        let memories = match state.memories {
            Some(memories) if memories.is_current(&self.worktree) => memories,
            _ => self.reload_memories(),
        };
        let sources = Sources {
            worktree: &self.worktree,
            snapshot: state.snapshot.as_deref(),
            companions: &state.companions,
            memories: &memories,
            threshold: *self.threshold.read().unwrap_or_else(PoisonError::into_inner),
            max_file_bytes: self.settings.max_file_bytes,
            tuning,
        };
        explore(&sources, question, limits)
    }

    /// Memory is small and is corrected by hand, so a change counts at once.
    fn reload_memories(&self) -> Arc<Memories> {
        let memories = Arc::new(Memories::load(&self.worktree));
        self.update(|state| state.memories = Some(Arc::clone(&memories)));
        memories
    }

    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("worktree", &self.worktree)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

/// Notes progress in the engine's status on its way to the caller.
struct Watched<'a> {
    engine: &'a Engine,
    inner: &'a dyn Progress,
}

impl Progress for Watched<'_> {
    fn advance(&self, done: usize, total: usize) {
        self.engine.update(|state| state.progress = Some((done, total)));
        self.inner.advance(done, total);
    }
}

/// A poisoned lock is taken all the same: an indexer holds only a cache.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
