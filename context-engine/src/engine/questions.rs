use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use muninn_base::{Clock, Progress, RelPath, Supervisor};
use muninn_index::vectors::{ByBlob, Filled, Vectors};
use muninn_index::{Companions, History, Indexer, Snapshot};
use muninn_recall::{Memories, MemoryCounts, RecallOptions, Recalled};
use muninn_repo_tools::Worktree;
use muninn_team::{Home, Memory};
use muninn_text::embed::{Embedder, StaticVectors};
use muninn_text::lexical::{Tokenizer, question_terms};
use parking_lot::{Mutex, RwLock};

use super::state::{Engine, EngineSettings, State, vectors};
use crate::citations::Citations;
use crate::item::{Exploration, IndexError, IndexReport, IndexStatus, Limits};
use crate::lexical::{self, LexicalInputs, explore, ranking};
use crate::memory_selection::{self, Fit, JudgedMemory};
use crate::prior_context::PriorContext;
use crate::rank::Index;
use crate::relevance::DEFAULT as DEFAULT_THRESHOLD;
use crate::tuning::{Ranking, Tuning};
use crate::value::Prices;

/// Number of memories whose features are returned for measurements.
const MEASURED: usize = 10;

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            cache_dir: None,
            threshold: None,
            max_file_bytes: 1 << 20,
            embedder: shipped(),
            memory: None,
            journal: None,
            wiki: None,
            supervisor: Supervisor::default(),
            clock: Clock::system(),
        }
    }
}

/// Returns the embedder with the built-in static vectors.
fn shipped() -> Option<Arc<dyn Embedder>> {
    let vectors = StaticVectors::shipped().ok()?;
    Some(Arc::new(vectors))
}

impl Engine {
    /// Creates an engine without reading anything. Call [`Self::refresh`] on a background thread to build the index.
    pub fn open(worktree: Worktree, settings: EngineSettings) -> Self {
        let indexer = Indexer::new(settings.cache_dir.clone(), settings.max_file_bytes, settings.clock.clone());
        let vectors = settings.embedder.clone().map(|embedder| vectors(embedder, &settings));
        let history = History::new(settings.cache_dir.clone());
        let home = settings.memory.as_ref().map(|memory| memory.home().clone());
        Self {
            home: home.unwrap_or_else(|| Home::Repository(worktree.clone())),
            worktree,
            vectors: RwLock::new(vectors),
            encoder: RwLock::default(),
            watcher: OnceLock::new(),
            itself: OnceLock::new(),
            walking: AtomicBool::new(false),
            reloading: AtomicBool::new(false),
            to_embed: AtomicBool::new(false),
            caught_up: Mutex::default(),
            embedding: Mutex::default(),
            settled: AtomicBool::new(false),
            walk_micros: AtomicU64::new(0),
            threshold: RwLock::new(settings.threshold),
            gain_factor: AtomicU32::new(1.0f32.to_bits()),
            settings,
            indexer: parking_lot::Mutex::new(indexer),
            history: Mutex::new(history),
            state: RwLock::default(),
        }
    }

    pub fn worktree(&self) -> &Worktree {
        &self.worktree
    }

    /// Sets the threshold for the next questions; see [`EngineSettings::threshold`].
    pub fn set_threshold(&self, threshold: Option<f32>) {
        *self.threshold.write() = threshold;
    }

    /// Sets the factor on the expected gains of places, 1 at first. With a lower factor, maps are shorter.
    pub fn set_gain_factor(&self, factor: f32) {
        self.gain_factor.store(factor.to_bits(), Ordering::Relaxed);
    }

    /// Sets or removes the embedder for the next questions. [`Self::embed`] makes the missing vectors. Until all
    /// vectors exist, the ranking is lexical. Vectors of two embedders are never mixed.
    pub fn set_embedder(&self, embedder: Option<Arc<dyn Embedder>>) {
        let id = |vectors: &Arc<Vectors>| vectors.embedder().id().to_owned();
        let mut current = self.vectors.write();
        if current.as_ref().map(id).as_deref() != embedder.as_ref().map(|embedder| embedder.id()) {
            *current = embedder.map(|embedder| vectors(embedder, &self.settings));
            self.settled.store(false, Ordering::Release);
        }
    }

    /// Sets or removes the embedder of memories, which are few: it may be slower than that of code. Without one, memories
    /// have the embedder of code. The next [`Self::refresh`] or [`Self::embed`] makes the vectors.
    pub fn set_encoder(&self, encoder: Option<Arc<dyn Embedder>>) {
        *self.encoder.write() = encoder;
    }

    /// The embedder of memories.
    pub(crate) fn encoder(&self) -> Option<Arc<dyn Embedder>> {
        let encoder = self.encoder.read().clone();
        encoder.or_else(|| self.vectors().map(|vectors| Arc::clone(vectors.embedder())))
    }

    /// Returns the number of chunks with a vector of the current embedder.
    pub fn embedded_chunks(&self) -> usize {
        self.vectors().map_or(0, |vectors| vectors.len())
    }

    pub(crate) fn vectors(&self) -> Option<Arc<Vectors>> {
        self.vectors.read().clone()
    }

    /// Brings the index up to date: reads the files whose size or time changed since the last call. During a refresh,
    /// questions are answered from the previous index.
    ///
    /// # Errors
    /// [`IndexError`] if the worktree does not exist any more or cannot be read. Smaller problems are notes in the
    /// report.
    pub fn refresh(&self, progress: &dyn Progress) -> Result<IndexReport, IndexError> {
        let mut report = self.refresh_all(&mut self.indexer.lock(), progress)?;
        // The memory is loaded after the indexer is unlocked. An embedder can take minutes, and questions wait for the
        // indexer.
        let memories = self.memories_with_vectors(&self.state());
        report.memories = memories.items().len();
        report.notes.extend(memories.notes().iter().cloned());
        report.notes.extend(self.read_history());
        Ok(report)
    }

    pub(crate) fn refresh_all(
        &self,
        indexer: &mut Indexer,
        progress: &dyn Progress,
    ) -> Result<IndexReport, IndexError> {
        let started = Instant::now();
        let root = self.worktree.root();
        std::fs::read_dir(root).map_err(|source| IndexError::WorktreeGone { path: root.to_owned(), source })?;
        self.update(|state| state.progress = Some((0, 0)));
        let state = self.state();
        let relay = ProgressRelay { engine: self, inner: progress };
        let last = state.snapshot.as_deref();
        let refreshed = indexer.refresh(&self.worktree, last, &relay);
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

    /// Replaces the snapshot. The caller must hold the lock on the indexer.
    pub(crate) fn publish(&self, snapshot: Option<Snapshot>) {
        let Some(snapshot) = snapshot.map(Arc::new) else { return };
        let by_blob = Arc::new(ByBlob::new(&snapshot));
        let companions = Companions::new(Arc::clone(self.state().companions.co_change()), &snapshot);
        self.update(|state| {
            state.snapshot = Some(snapshot);
            state.by_blob = by_blob;
            state.companions = Arc::new(companions);
        });
    }

    /// Returns whether an earlier process stored an index of this worktree. With one, the first [`Self::refresh`] reads
    /// only changed files.
    pub fn has_stored_index(&self) -> bool {
        let dir = self.settings.cache_dir.as_ref();
        dir.is_some_and(|dir| Indexer::has_stored(dir, &self.worktree))
    }

    /// Returns the duration of the last walk, without the time for reading changed files. This is the cost of a refresh
    /// that finds no change.
    pub fn last_walk(&self) -> Duration {
        Duration::from_micros(self.walk_micros.load(Ordering::Relaxed))
    }

    /// Makes it an engine whose worktree the system cannot watch.
    #[cfg(test)]
    pub(crate) fn refuse_watching(&self) {
        self.watcher.set(None).ok();
    }

    /// Sets the duration of the last walk.
    #[cfg(test)]
    pub(crate) fn set_last_walk(&self, micros: u64) {
        self.walk_micros.store(micros, Ordering::Relaxed);
    }

    /// Makes the missing vectors of the index and the memory. Call this method after [`Self::refresh`] on a background
    /// thread. Until it ends, questions use the existing vectors. It stops between two files if `go_on` returns `false`
    /// or the supervisor stops. If another thread is making vectors, the method returns at once, because that thread
    /// also makes the vectors of the newest index. `progress` gets the number of vectors and of texts of the memory.
    pub fn embed(&self, go_on: &dyn Fn() -> bool, progress: &dyn Fn(usize, usize)) -> Filled {
        let mut all = Filled::default();
        self.to_embed.store(true, Ordering::Release);
        while self.to_embed.load(Ordering::Acquire) {
            let Some(_guard) = self.embedding.try_lock() else { return all };
            while self.to_embed.swap(false, Ordering::AcqRel) {
                let stopping = self.settings.supervisor.stopping();
                let go_on = || go_on() && !stopping.is_cancelled();
                self.embed_memories(&|done, all| {
                    progress(done, all);
                    go_on()
                });
                let filled = self.embed_newest(&go_on);
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

    /// Returns the words of a question that the repository contains, by descending weight. Before that, the index is
    /// brought up to date as far as `deadline` allows.
    pub fn known_terms(&self, question: &str, deadline: Instant) -> Vec<String> {
        self.catch_up(deadline);
        let snapshot = self.state().snapshot;
        snapshot.map(|snapshot| lexical::terms(&snapshot, question)).unwrap_or_default()
    }

    /// Returns whether there is an index.
    pub fn is_indexed(&self) -> bool {
        self.state().snapshot.is_some()
    }

    /// Returns whether the current index has this file. Ignored files and secrets are never indexed.
    pub fn has_file(&self, path: &RelPath) -> bool {
        let snapshot = self.state().snapshot;
        snapshot.is_some_and(|snapshot| snapshot.find(path).is_some())
    }

    /// Calls `work` with the citations of the current worktree.
    pub fn with_citations<T>(&self, work: impl FnOnce(&Citations<'_>) -> T) -> T {
        work(&Citations::new(&self.worktree, self.state().snapshot.as_deref()))
    }

    /// Returns the number of definitions, of imports between files, and of calls between definitions in the graph. The
    /// first call builds the graph, which takes a fraction of a second for a million lines.
    pub fn graph_size(&self) -> (usize, usize, usize) {
        let snapshot = self.state().snapshot;
        snapshot.map_or((0, 0, 0), |snapshot| snapshot.graph().size())
    }

    /// Reads new commits of the history. Returns a note for each problem.
    pub(crate) fn read_history(&self) -> Vec<String> {
        let Some(mut history) = self.history.try_lock() else { return Vec::new() };
        let read = history.refresh(&self.worktree);
        if let Some(co_change) = read.co_change {
            // The lock on the indexer prevents a replacement of the snapshot while the history is read.
            let _indexer = self.indexer.lock();
            if let Some(snapshot) = self.state().snapshot {
                let companions = Arc::new(Companions::new(Arc::new(co_change), &snapshot));
                self.update(|state| state.companions = companions);
            }
        }
        read.notes
    }

    /// Returns the state of the index. A ready index stays ready during a refresh.
    pub fn status(&self) -> IndexStatus {
        let state = self.state();
        match (state.snapshot, state.progress) {
            (Some(snapshot), _) => IndexStatus::Ready {
                files: snapshot.len(),
                chunks: snapshot.chunks(),
                memories: state.memories.map_or(0, |memories| memories.items().len()),
                unembedded: self.state().memories.map_or(0, |memories| memories.unembedded()),
                settled: self.settled.load(Ordering::Acquire),
            },
            (None, Some((done, total))) => IndexStatus::Indexing { done, total },
            (None, None) => IndexStatus::Empty,
        }
    }

    /// The memories that the index holds.
    pub fn memory_counts(&self) -> MemoryCounts {
        self.state().memories.map_or_else(MemoryCounts::default, |memories| memories.counts())
    }

    /// Finds the items to pack for a question. This method neither fails nor panics. The `reason` of the exploration
    /// names a problem, or why the exploration has no items.
    pub fn explore(&self, question: &str, limits: &Limits) -> Exploration {
        self.explore_after(&PriorContext::default(), question, limits, None)
    }

    /// Like [`Self::explore`], for a later turn of a conversation: text that the conversation already contains is not
    /// packed again. For a client with file tools, `map` holds the backend's prices. With `map`, the pack names code by
    /// its place instead of quoting it, and contains a place only if it is worth its tokens.
    pub fn explore_after(
        &self,
        prior: &PriorContext,
        question: &str,
        limits: &Limits,
        map: Option<&Prices>,
    ) -> Exploration {
        self.with_inputs(prior, limits.deadline, |inputs| explore(&LexicalInputs { map, ..*inputs }, question, limits))
    }

    /// Ranks files for a question without packing, and returns the `keep` best ones. Used for measurements.
    /// [`Tuning::decide`] is ignored.
    pub fn rank(&self, question: &str, tuning: Tuning, keep: usize) -> Ranking {
        let state = self.state();
        let Some(snapshot) = &state.snapshot else {
            return Ranking::default();
        };
        let memories = state.memories.clone().unwrap_or_default();
        let vectors = self.vectors();
        let index = Index { snapshot, companions: &state.companions, hits: memories.hits() };
        ranking(
            &self.worktree,
            index,
            vectors.as_deref().map(|vectors| state.vector_list(vectors)),
            question,
            (tuning, keep),
        )
    }

    /// Returns the source of the memories that recall ranks first, the features of their admission and their `probability`,
    /// for measurements.
    pub fn memory_features(&self, question: &str) -> Vec<(String, Vec<(&'static str, f32)>)> {
        let memories = self.current_memories();
        let judged =
            self.judge(&memories, question, &RecallOptions { keep: MEASURED, ..RecallOptions::default() }, None);
        let named = judged.into_iter().filter_map(|judged| {
            let memory = memories.get(judged.recalled.doc)?;
            let probability = [("probability", judged.probability)];
            Some((memory.source.clone(), judged.features.into_iter().chain(probability).collect()))
        });
        named.collect()
    }

    /// Recalls memories for somebody who asks for them: the likely ones, then the possible ones, then the others, each part by
    /// rank.
    pub fn recall(&self, memories: &Memories, question: &str, options: &RecallOptions<'_>) -> Vec<(Recalled, Fit)> {
        let judged = self.judge(memories, question, options, Some(DEFAULT_THRESHOLD));
        let mut tokenizer = Tokenizer::new();
        let terms: HashSet<String> = question_terms(&mut tokenizer, question).into_iter().collect();
        // People also search by bare words.
        let mut contains_all = |memory: &Memory| {
            let own: HashSet<String> = question_terms(&mut tokenizer, &memory.searched_text()).into_iter().collect();
            !terms.is_empty() && terms.is_subset(&own)
        };
        let fit = |judged: JudgedMemory| {
            let is_literal = memories.get(judged.recalled.doc).is_some_and(&mut contains_all);
            (judged.recalled, if is_literal { Fit::Likely } else { judged.fit })
        };
        let mut found: Vec<(Recalled, Fit)> = judged.into_iter().map(fit).collect();
        found.sort_by_key(|(_, fit)| Reverse(*fit));
        found
    }

    fn judge(
        &self,
        memories: &Memories,
        question: &str,
        options: &RecallOptions<'_>,
        threshold: Option<f32>,
    ) -> Vec<JudgedMemory> {
        let state = self.state();
        let index = state.snapshot.as_deref().map(|snapshot| Index {
            snapshot,
            companions: &state.companions,
            hits: memories.hits(),
        });
        memory_selection::judge(memories, (&self.worktree, index), question, options, threshold)
    }

    /// Like [`Self::explore`], with a tuning. Used for measurements.
    pub fn explore_with(&self, question: &str, limits: &Limits, tuning: Tuning) -> Exploration {
        self.with_inputs(&PriorContext::default(), limits.deadline, |inputs| {
            explore(&LexicalInputs { tuning, ..*inputs }, question, limits)
        })
    }

    /// Calls `work` with the inputs of an exploration. Before that, the index is brought up to date as far as
    /// `deadline` allows.
    pub(crate) fn with_inputs<T>(
        &self,
        prior: &PriorContext,
        deadline: Instant,
        work: impl FnOnce(&LexicalInputs<'_>) -> T,
    ) -> T {
        self.catch_up(deadline);
        let state = self.state();
        let memories = self.memories(&state, deadline);
        let vectors = self.vectors();
        let snapshot = state.snapshot.as_deref();
        work(&LexicalInputs {
            worktree: &self.worktree,
            citations: &Citations::new(&self.worktree, snapshot),
            snapshot,
            companions: &state.companions,
            memories: &memories,
            prior,
            threshold: *self.threshold.read(),
            now: self.settings.clock.now(),
            max_file_bytes: self.settings.max_file_bytes,
            tuning: Tuning::default(),
            map: None,
            gain_factor: f32::from_bits(self.gain_factor.load(Ordering::Relaxed)),
            vectors: vectors.as_deref().map(|vectors| state.vector_list(vectors)),
        })
    }

    pub(crate) fn state(&self) -> State {
        self.state.read().clone()
    }

    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write())
    }
}

/// Updates the engine's status with the progress of an indexing, and passes the progress on to the caller.
struct ProgressRelay<'a> {
    engine: &'a Engine,
    inner: &'a dyn Progress,
}

impl Progress for ProgressRelay<'_> {
    fn advance(&self, done: usize, total: usize) {
        self.engine.update(|state| state.progress = Some((done, total)));
        self.inner.advance(done, total);
    }
}
