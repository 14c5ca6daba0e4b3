use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use muninn_base::{Clock, RelPath, Supervisor};
use muninn_index::vectors::{ByBlob, Vectors};
use muninn_index::{Companions, History, Indexer, Snapshot};
use muninn_recall::Memories;
use muninn_repo_tools::Worktree;
use muninn_team::{Home, Store};
use muninn_text::embed::Embedder;
use muninn_watch::Watcher;
use parking_lot::{Mutex, RwLock};

use crate::vector_list::VectorList;

#[derive(Clone)]
pub struct EngineSettings {
    /// The directory of the derived cache; with `None`, nothing is stored between processes.
    pub cache_dir: Option<PathBuf>,
    /// The minimum probability that the candidates are relevant, from 0 (always pack) to 1 (never pack). `None` means
    /// the default of 0.5.
    pub threshold: Option<f32>,
    /// Maximum size of an indexed file, in bytes.
    pub max_file_bytes: u64,
    /// The embedder of code and, unless [`Engine::set_encoder`] names another one, of recall; `None` for lexical search
    /// alone. See [`Engine::set_embedder`].
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The store that lists the record files of the current checkout; with `None`, only `.muninn/memory/main.jsonl` is
    /// read.
    pub memory: Option<Store>,
    /// The repository of the git journal, whose entries are recalled; `None` for none.
    pub journal: Option<PathBuf>,
    /// The folder of a wiki in the worktree beside `.muninn/knowledge`; `None` for none.
    pub wiki: Option<RelPath>,
    /// The owner of background threads.
    pub supervisor: Supervisor,
    pub clock: Clock,
}

/// Creates the vector store of an embedder. It neither reads nor computes a vector.
pub(crate) fn vectors(embedder: Arc<dyn Embedder>, settings: &EngineSettings) -> Arc<Vectors> {
    Arc::new(Vectors::new(embedder, settings.cache_dir.clone(), settings.clock.clone()))
}

/// An index over one worktree and its memory. It can be shared between threads; all methods take `&self` and block the
/// calling thread.
pub struct Engine {
    pub(crate) worktree: Worktree,
    /// The location of the memory files.
    pub(crate) home: Home,
    pub(crate) settings: EngineSettings,
    /// Held during a refresh. A concurrent refresh waits for the lock and then finds few changes.
    pub(crate) indexer: parking_lot::Mutex<Indexer>,
    /// When the newest catch-up began that read all changes. Set while the indexer is held.
    pub(crate) caught_up: Mutex<Option<Instant>>,
    /// The history is read after the files, by one thread at a time. A thread that finds the lock held does not read
    /// the history.
    pub(crate) history: Mutex<History>,
    /// The vectors of the current embedder. Another embedder has its own vectors.
    pub(crate) vectors: RwLock<Option<Arc<Vectors>>>,
    /// The embedder of memories, if it is another one than that of code.
    pub(crate) encoder: RwLock<Option<Arc<dyn Embedder>>>,
    /// Empty until [`Engine::watch`] is called. Contains `None` if the system cannot watch the worktree.
    pub(crate) watcher: OnceLock<Option<Arc<Watcher>>>,
    /// A weak reference to this engine for threads that can outlive a question. Empty until [`Engine::watch`] is
    /// called.
    pub(crate) itself: OnceLock<Weak<Engine>>,
    /// Whether a background thread was started to walk the worktree and does not hold the indexer yet.
    pub(crate) walking: AtomicBool,
    /// Whether a thread is reloading the memory.
    pub(crate) reloading: AtomicBool,
    /// Whether chunks without vectors may exist.
    pub(crate) to_embed: AtomicBool,
    /// Locked while vectors are made.
    pub(crate) embedding: Mutex<()>,
    /// Whether every chunk has had a vector once, which is the last step of the first indexing.
    pub(crate) settled: AtomicBool,
    /// The duration of the last walk over the worktree, in microseconds, without the time for reading changed files.
    pub(crate) walk_micros: AtomicU64,
    pub(crate) state: RwLock<State>,
    /// Unlike the other settings, the threshold can change while the engine runs.
    pub(crate) threshold: RwLock<Option<f32>>,
    /// The bits of the factor on the expected gains of places.
    pub(crate) gain_factor: AtomicU32,
}

#[derive(Clone, Default)]
pub(crate) struct State {
    /// `None` until the first refresh is done.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// Maps each vector to the chunks of the snapshot.
    pub(crate) by_blob: Arc<ByBlob>,
    /// The file numbers in it are those of this snapshot.
    pub(crate) companions: Arc<Companions>,
    pub(crate) memories: Option<Arc<Memories>>,
    pub(crate) progress: Option<(usize, usize)>,
}

impl State {
    pub(crate) fn vector_list<'a>(&'a self, vectors: &'a Vectors) -> VectorList<'a> {
        let by_blob = &self.by_blob;
        VectorList { vectors, by_blob }
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
