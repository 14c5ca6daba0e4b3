//! The engine: one index over one worktree, shared by all requests.

mod deep;
mod keep_up;
mod remembered;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, TryLockError, Weak};
use std::time::{Duration, Instant};

use muninn_memory::{Clock, Home, Memories, Store};
use muninn_repo_tools::{RelPath, Supervisor, Worktree};

use crate::already::PriorContext;
use crate::item::{Exploration, IndexError, IndexReport, IndexStatus, Limits};
use crate::lexical::{self, Sources, explore, ranking};
use crate::rank::Index;
use crate::tuning::{Ranking, Tuning};
use crate::turnstile::{Turn, Turnstile};
use crate::vector_list::VectorList;
use muninn_memory::embed::{Embedder, StaticVectors};
use muninn_memory::index::vectors::{ByBlob, Filled, Vectors};
use muninn_memory::index::{Companions, History, Indexer, Progress, Snapshot, Watcher};

/// How an engine works.
#[derive(Clone)]
pub struct EngineSettings {
    /// Where the derived cache lives; with `None` nothing is kept between processes.
    pub cache_dir: Option<PathBuf>,
    /// How probable it must be that what was found is about what was asked before anything is packed, from 0 (always)
    /// to 1 (never); `None` for the default of 0.5.
    pub threshold: Option<f32>,
    /// Larger files are not indexed.
    pub max_file_bytes: u64,
    /// Makes the vectors by which short questions and recall find what is like them; `None` for words alone. See
    /// [`Engine::set_embedder`].
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Knows which files of records belong to what is checked out; with `None` only `.muninn/memory/main.jsonl` does.
    pub memory: Option<Store>,
    /// The owner of the threads that it starts.
    pub supervisor: Supervisor,
    /// Tells the time.
    pub clock: Clock,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            cache_dir: None,
            threshold: None,
            max_file_bytes: 1 << 20,
            embedder: shipped(),
            memory: None,
            supervisor: Supervisor::default(),
            clock: Clock::system(),
        }
    }
}

/// The vectors that are compiled in.
fn shipped() -> Option<Arc<dyn Embedder>> {
    let vectors = StaticVectors::shipped().ok()?;
    Some(Arc::new(vectors))
}

/// The vectors of an embedder, none of them made or read yet.
fn vectors(embedder: Arc<dyn Embedder>, settings: &EngineSettings) -> Arc<Vectors> {
    Arc::new(Vectors::new(
        embedder,
        settings.cache_dir.clone(),
        settings.clock.clone(),
    ))
}

/// An index over one worktree and its memory. Share it; all methods take `&self` and block.
pub struct Engine {
    worktree: Worktree,
    /// Where its memory lives.
    home: Home,
    settings: EngineSettings,
    /// One refresh at a time; a second waits, and then finds little to do.
    indexer: Turnstile<Indexer>,
    /// Read behind the files, by one thread at a time; who finds it busy leaves it to that one.
    history: Mutex<History>,
    /// Of the embedder in use; another one brings vectors of its own.
    vectors: RwLock<Option<Arc<Vectors>>>,
    /// Empty until [`Engine::watch`]; `None` in it where the system tells of nothing.
    watcher: OnceLock<Option<Arc<Watcher>>>,
    /// For threads that may outlive a question; empty until [`Engine::watch`].
    itself: OnceLock<Weak<Engine>>,
    /// A thread is about to look through the worktree.
    looking: AtomicBool,
    /// A thread reads memory again.
    reloading: AtomicBool,
    /// There may be chunks without vectors.
    to_embed: AtomicBool,
    /// One thread at a time makes them.
    embedding: Mutex<()>,
    /// Whether they were made, which comes last, for a first time.
    settled: AtomicBool,
    /// What the last walk over all of the worktree took, without reading what had changed.
    walk_micros: AtomicU64,
    state: RwLock<State>,
    /// Settings are read again while the engine runs; the rest of them holds for its life.
    threshold: RwLock<Option<f32>>,
}

#[derive(Clone, Default)]
struct State {
    /// `None` until the first refresh is done.
    snapshot: Option<Arc<Snapshot>>,
    /// Which chunks of the snapshot a vector is of.
    by_blob: Arc<ByBlob>,
    /// In the numbers of this snapshot.
    companions: Arc<Companions>,
    memories: Option<Arc<Memories>>,
    progress: Option<(usize, usize)>,
}

impl State {
    fn vector_list<'a>(&'a self, vectors: &'a Vectors) -> VectorList<'a> {
        let by_blob = &self.by_blob;
        VectorList { vectors, by_blob }
    }
}

impl Engine {
    /// Makes an engine. Nothing is read yet: that is for [`Self::refresh`], on a thread that may take its time.
    pub fn open(worktree: Worktree, settings: EngineSettings) -> Self {
        let indexer = Indexer::new(
            settings.cache_dir.clone(),
            settings.max_file_bytes,
            settings.clock.clone(),
        );
        let vectors = settings.embedder.clone().map(|embedder| vectors(embedder, &settings));
        let history = History::new(settings.cache_dir.clone());
        let home = settings.memory.as_ref().map(|memory| memory.home().clone());
        Self {
            home: home.unwrap_or_else(|| Home::Repository(worktree.clone())),
            worktree,
            vectors: RwLock::new(vectors),
            watcher: OnceLock::new(),
            itself: OnceLock::new(),
            looking: AtomicBool::new(false),
            reloading: AtomicBool::new(false),
            to_embed: AtomicBool::new(false),
            embedding: Mutex::default(),
            settled: AtomicBool::new(false),
            walk_micros: AtomicU64::new(0),
            threshold: RwLock::new(settings.threshold),
            settings,
            indexer: Turnstile::new(indexer),
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

    /// Uses the vectors of another embedder, or none, from the next question on. [`Self::embed`] makes those that are
    /// missing; until then words alone decide. Vectors of two embedders never mix.
    pub fn set_embedder(&self, embedder: Option<Arc<dyn Embedder>>) {
        let id = |vectors: &Arc<Vectors>| vectors.embedder().id().to_owned();
        let mut current = self.vectors.write().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().map(id).as_deref() != embedder.as_ref().map(|embedder| embedder.id()) {
            *current = embedder.map(|embedder| vectors(embedder, &self.settings));
            self.settled.store(false, Ordering::Release);
        }
    }

    /// How many of the index's chunks have a vector of the embedder in use.
    pub fn embedded_chunks(&self) -> usize {
        self.vectors().map_or(0, |vectors| vectors.len())
    }

    fn vectors(&self) -> Option<Arc<Vectors>> {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Brings the index up to date: reads what is new or changed since the last call, told by size and time. Questions
    /// are answered from the last index meanwhile.
    ///
    /// # Errors
    /// If the worktree is gone. Anything less is a note in the report.
    pub fn refresh(&self, progress: &dyn Progress) -> Result<IndexReport, IndexError> {
        let mut report = self.look_through(&mut self.indexer.take(), progress)?;
        // Behind the indexer: an embedder may take minutes, and questions wait for the indexer.
        let memories = self.memories_with_vectors(&self.state());
        report.memories = memories.items().len();
        report.notes.extend(memories.notes().iter().cloned());
        report.notes.extend(self.read_history());
        Ok(report)
    }

    fn look_through(&self, turn: &mut Turn<'_, Indexer>, progress: &dyn Progress) -> Result<IndexReport, IndexError> {
        let started = Instant::now();
        let root = self.worktree.root();
        std::fs::read_dir(root).map_err(|source| IndexError::WorktreeGone {
            path: root.to_owned(),
            source,
        })?;
        self.update(|state| state.progress = Some((0, 0)));
        let state = self.state();
        let watched = Watched {
            engine: self,
            inner: progress,
        };
        let last = state.snapshot.as_deref();
        let refreshed = turn.with(|indexer| indexer.refresh(&self.worktree, last, &watched));
        let refreshed = refreshed.unwrap_or_default();
        let walk = u64::try_from(refreshed.walk.as_micros()).unwrap_or(u64::MAX);
        self.walk_micros.store(walk, Ordering::Relaxed);
        self.publish(refreshed.snapshot);
        let snapshot = self.update(|state| {
            state.progress = None;
            Arc::clone(state.snapshot.get_or_insert_default())
        });
        let took = started.elapsed();
        Ok(IndexReport {
            files: snapshot.len(),
            chunks: snapshot.chunks(),
            memories: state.memories.map_or(0, |memories| memories.items().len()),
            reused: refreshed.reused,
            skipped: refreshed.skipped,
            millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            notes: refreshed.notes,
        })
    }

    /// Answers from this snapshot from now on. Only who has the indexer may publish.
    fn publish(&self, snapshot: Option<Snapshot>) {
        let Some(snapshot) = snapshot.map(Arc::new) else { return };
        let by_blob = Arc::new(ByBlob::new(&snapshot));
        let companions = Companions::new(Arc::clone(self.state().companions.co_change()), &snapshot);
        self.update(|state| {
            state.snapshot = Some(snapshot);
            state.by_blob = by_blob;
            state.companions = Arc::new(companions);
        });
    }

    /// How long it took last to find out what had changed, without reading that: what a look at a worktree costs in which
    /// nothing does.
    pub fn last_walk(&self) -> Duration {
        Duration::from_micros(self.walk_micros.load(Ordering::Relaxed))
    }

    /// As if the last walk had taken this long.
    #[cfg(test)]
    pub(crate) fn pretend_walk(&self, micros: u64) {
        self.walk_micros.store(micros, Ordering::Relaxed);
    }

    /// Makes the vectors that the index and the memory still lack; to be called after [`Self::refresh`], on a thread that may take its
    /// time. Questions are answered meanwhile, by words and by what vectors there are. Stops between two files when
    /// `go_on` says so, and when the supervisor stops. While another thread is at it this does nothing: that one sees to the newest index as well.
    pub fn embed(&self, go_on: &dyn Fn() -> bool) -> Filled {
        let mut all = Filled::default();
        self.to_embed.store(true, Ordering::Release);
        while self.to_embed.load(Ordering::Acquire) {
            let _one = match self.embedding.try_lock() {
                Ok(one) => one,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return all,
            };
            while self.to_embed.swap(false, Ordering::AcqRel) {
                self.memories_with_vectors(&self.state());
                let stopping = self.settings.supervisor.stopping();
                let filled = self.embed_newest(&|| go_on() && !stopping.is_cancelled());
                all.embedded += filled.embedded;
                all.loaded += filled.loaded;
                all.left = filled.left;
                all.notes.extend(filled.notes);
            }
            self.settled.store(true, Ordering::Release);
        }
        all
    }

    fn embed_newest(&self, go_on: &dyn Fn() -> bool) -> Filled {
        match (self.vectors(), self.state().snapshot) {
            (Some(vectors), Some(snapshot)) => {
                vectors.fill(&self.worktree, &snapshot, self.settings.max_file_bytes, go_on)
            }
            _ => Filled::default(),
        }
    }

    /// The words of a question that this repository contains, the most telling first, once the index has caught up with
    /// the disk or `deadline` is near.
    pub fn known_terms(&self, question: &str, deadline: Instant) -> Vec<String> {
        self.catch_up(deadline);
        let snapshot = self.state().snapshot;
        snapshot
            .map(|snapshot| lexical::terms(&snapshot, question))
            .unwrap_or_default()
    }

    /// Whether the index, as it stands, has this file. It has none that git ignores or that looks like a secret.
    pub fn has_file(&self, path: &RelPath) -> bool {
        let snapshot = self.state().snapshot;
        snapshot.is_some_and(|snapshot| snapshot.find(path).is_some())
    }

    /// How many definitions, imports between files and calls between definitions the graph of the index has. The first
    /// time the graph is made, which takes a fraction of a second for a million lines.
    pub fn graph_size(&self) -> (usize, usize, usize) {
        let snapshot = self.state().snapshot;
        snapshot.map_or((0, 0, 0), |snapshot| snapshot.graph().size())
    }

    /// Brings up to date what is known of history; returns what is to be noted.
    fn read_history(&self) -> Vec<String> {
        let Ok(mut history) = self.history.try_lock() else {
            return Vec::new();
        };
        let read = history.refresh(&self.worktree);
        if let Some(co_change) = read.co_change {
            // Nobody may put another snapshot in place meanwhile.
            let _turn = self.indexer.take();
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
                settled: self.settled.load(Ordering::Acquire),
            },
            (None, Some((done, total))) => IndexStatus::Indexing { done, total },
            (None, None) => IndexStatus::Empty,
        }
    }

    /// Finds what belongs in the prompt for a question. It neither fails nor panics: what went wrong, or why there is
    /// nothing, is the exploration's `reason`.
    pub fn explore(&self, question: &str, limits: &Limits) -> Exploration {
        self.answer(question, limits, Tuning::default(), &PriorContext::default())
    }

    /// [`Self::explore`] for a later turn of a conversation: what that holds already is not packed again.
    pub fn explore_after(&self, already: &PriorContext, question: &str, limits: &Limits) -> Exploration {
        self.answer(question, limits, Tuning::default(), already)
    }

    /// Ranks files for a question and leaves it at that: the `keep` best, for measuring. [`Tuning::decide`] has no say
    /// here.
    pub fn rank(&self, question: &str, tuning: Tuning, keep: usize) -> Ranking {
        let state = self.state();
        let Some(snapshot) = &state.snapshot else {
            return Ranking::default();
        };
        let memories = state.memories.clone().unwrap_or_default();
        let vectors = self.vectors();
        let index = Index {
            snapshot,
            companions: &state.companions,
            hits: memories.hits(),
        };
        ranking(
            &self.worktree,
            index,
            vectors.as_deref().map(|vectors| state.vector_list(vectors)),
            question,
            (tuning, keep),
        )
    }

    /// [`Self::explore`] in another way than the usual, for measuring.
    pub fn explore_with(&self, question: &str, limits: &Limits, tuning: Tuning) -> Exploration {
        self.answer(question, limits, tuning, &PriorContext::default())
    }

    fn answer(&self, question: &str, limits: &Limits, tuning: Tuning, already: &PriorContext) -> Exploration {
        self.with_sources(already, limits.deadline, |sources| {
            let sources = Sources { tuning, ..*sources };
            explore(&sources, question, limits)
        })
    }

    /// Does something with what the engine knows once it has caught up with the disk, or `deadline` is near.
    fn with_sources<T>(&self, already: &PriorContext, deadline: Instant, work: impl FnOnce(&Sources<'_>) -> T) -> T {
        self.catch_up(deadline);
        let state = self.state();
        let memories = self.memories(&state, deadline);
        let vectors = self.vectors();
        work(&Sources {
            worktree: &self.worktree,
            snapshot: state.snapshot.as_deref(),
            companions: &state.companions,
            memories: &memories,
            already,
            threshold: *self.threshold.read().unwrap_or_else(PoisonError::into_inner),
            max_file_bytes: self.settings.max_file_bytes,
            tuning: Tuning::default(),
            vectors: vectors.as_deref().map(|vectors| state.vector_list(vectors)),
        })
    }

    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop_watching();
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
