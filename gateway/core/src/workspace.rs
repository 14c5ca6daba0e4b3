//! One served worktree: its engine, its settings, and the schedule of its index refreshes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use muninn_base::{Clock, Progress, Supervisor, Until, with_causes};
use muninn_config::{
    Config, ConfigError, ContextConfig, JournalConfig, MemoryConfig, WikiConfig, WorklogConfig, paths,
    repository as repository_config,
};
use muninn_context_engine::{Engine, EngineSettings, IndexError, IndexReport, IndexStatus};
use muninn_index::vectors::Filled;
use muninn_repo_tools::Worktree;
use muninn_team::{Home, Store};
use parking_lot::{Mutex, RwLock};
use serde_json::{Value, json};
use thiserror::Error;

use super::embedder::ConfiguredEmbedder;
use super::journal::{self, SessionJournal};
use super::map_gains::Balance;
use super::wiki::TeamWiki;

/// The shortest pause between two refreshes of an index. The pause is also at least 20 times the last walk, so that walks
/// take at most a twentieth of the time. Reading files does not count: a first indexing of one minute must not hide edits
/// for twenty.
const RECHECK: Duration = Duration::from_secs(1);
const RECHECK_SHARE: u32 = 20;
/// The shortest pause where the worktree is watched: the refresh is then only a safety net.
const RECHECK_WATCHED: Duration = Duration::from_secs(30);
/// The time that a command may spend on moving an earlier version's sessions; enough for tens of thousands.
const MOVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A served directory, which may or may not be a repository.
pub struct Workspace {
    /// The worktree's root, or the directory itself where it is no repository.
    pub root: PathBuf,
    /// The engine; absent where the directory is no git repository.
    pub engine: Option<Arc<Engine>>,
    /// The memory; absent where the directory is no git repository.
    pub memory: Option<Store>,
    /// Why there is no engine.
    pub problem: Option<String>,
    /// The user's state directory.
    pub(super) state_dir: PathBuf,
    clock: Clock,
    settings: RwLock<Arc<WorkspaceSettings>>,
    embedder: RwLock<Arc<ConfiguredEmbedder>>,
    /// The balance of the last maps; `None` until it is read from the receipts.
    pub(super) balance: Mutex<Option<Balance>>,
    /// The owner of background threads.
    pub(super) supervisor: Supervisor,
    /// The team's wiki, once it was used.
    pub(super) wiki: Mutex<Option<TeamWiki>>,
    /// The journal, once it was used, with the settings that it was opened with.
    pub(super) journal: Mutex<Option<(JournalConfig, Arc<SessionJournal>)>>,
    opened: Instant,
    refreshing: AtomicBool,
    next_refresh_ms: AtomicU64,
}

/// Why an index was not brought up to date.
#[derive(Debug, Error)]
pub enum RefreshError {
    /// The worktree cannot be walked.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A bug in the indexer.
    #[error("indexing panicked")]
    Panicked,
}

/// The user's settings, overridden by the repository's own. A reload replaces them as a whole.
#[derive(Debug)]
pub struct WorkspaceSettings {
    /// The settings of packing.
    pub context: ContextConfig,
    pub memory: MemoryConfig,
    /// The settings of the wiki: the user's.
    pub wiki: WikiConfig,
    /// The settings of the journal: the user's.
    pub journal: JournalConfig,
    pub worklog: WorklogConfig,
    /// The error in the repository's own configuration, which is then ignored.
    pub problem: Option<ConfigError>,
}

impl WorkspaceSettings {
    fn of(config: &Config, root: &Path) -> WorkspaceSettings {
        let (settled, problem) = match repository_config(config, root) {
            Ok(settled) => (settled, None),
            Err(problem) => ((config.context.clone(), config.memory.clone(), config.worklog), Some(problem)),
        };
        if let Some(problem) = &problem {
            tracing::warn!("{problem}; the file is ignored");
        }
        let (context, memory, worklog) = settled;
        WorkspaceSettings {
            context,
            memory,
            wiki: config.wiki.clone(),
            journal: config.journal.clone(),
            worklog,
            problem,
        }
    }
}

impl Workspace {
    /// Opens a directory. A directory that is no repository is served without context, because forwarding must work there.
    pub fn open(directory: &Path, config: &Config, state_dir: &Path, clock: Clock) -> Workspace {
        let supervisor = Supervisor::default();
        let embedder = ConfiguredEmbedder::new(config, &supervisor);
        Workspace::supervised(directory, config, state_dir, clock, (&supervisor, &embedder))
    }

    /// [`Workspace::open`], with threads that are this owner's tasks, and an embedder that others use too.
    pub fn supervised(
        directory: &Path,
        config: &Config,
        state_dir: &Path,
        clock: Clock,
        (supervisor, embedder): (&Supervisor, &Arc<ConfiguredEmbedder>),
    ) -> Workspace {
        let worktree = Worktree::discover(directory);
        let root = match &worktree {
            Ok(worktree) => worktree.root().to_owned(),
            Err(_) => directory.canonicalize().unwrap_or_else(|_| directory.to_owned()),
        };
        let merged = WorkspaceSettings::of(config, &root);
        let store = |worktree: &Worktree| {
            let home = Home::Repository(worktree.clone());
            Store::at(home, state_dir, merged.memory.store.clone(), clock.clone())
        };
        let memory = worktree.as_ref().ok().map(store);
        let (engine, problem) = match worktree {
            Ok(worktree) => {
                let cache_dir = paths::repository_cache_dir(&root, worktree.common_dir(), state_dir)
                    .inspect_err(|error| tracing::warn!(%error, "the index is kept in memory only"))
                    .ok();
                let journal = journal::git_dir(Some(&worktree), &merged.journal)
                    .inspect_err(|error| tracing::warn!(%error, "the journal is not recalled"));
                let settings = EngineSettings {
                    cache_dir,
                    journal: journal.ok(),
                    wiki: super::wiki::wiki_inside(&root, &merged.wiki),
                    threshold: merged.context.threshold,
                    memory: memory.clone(),
                    supervisor: supervisor.clone(),
                    embedder: embedder.of_code(),
                    clock: clock.clone(),
                    ..EngineSettings::default()
                };
                (Some(Arc::new(Engine::open(worktree, settings))), None)
            }
            Err(error) => (None, Some(with_causes(&error))),
        };
        Workspace {
            root,
            engine,
            memory,
            problem,
            state_dir: state_dir.to_owned(),
            clock,
            settings: RwLock::new(Arc::new(merged)),
            embedder: RwLock::new(Arc::clone(embedder)),
            balance: Mutex::default(),
            supervisor: supervisor.clone(),
            wiki: Mutex::default(),
            journal: Mutex::default(),
            opened: Instant::now(),
            refreshing: AtomicBool::new(false),
            next_refresh_ms: AtomicU64::new(0),
        }
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<WorkspaceSettings> {
        Arc::clone(&self.settings.read())
    }

    /// Lays the repository's own file, read again, over a configuration that was read again.
    pub fn reload(&self, config: &Config, embedder: &Arc<ConfiguredEmbedder>) {
        let merged = WorkspaceSettings::of(config, &self.root);
        if let Some(engine) = &self.engine {
            engine.set_threshold(merged.context.threshold);
        }
        *self.settings.write() = Arc::new(merged);
        *self.embedder.write() = Arc::clone(embedder);
    }

    /// The embedder that is configured here.
    pub fn embedder(&self) -> Arc<ConfiguredEmbedder> {
        Arc::clone(&self.embedder.read())
    }

    /// Has the engine use the configured embedder: that of a backend for code and memory, MiniLM for memory. Where it cannot
    /// be used, MiniLM is replaced by static vectors, and that of a backend by words alone. May take as long as opening it
    /// does.
    pub(super) fn use_embedder(&self) {
        let Some(engine) = &self.engine else { return };
        let configured = self.embedder();
        let opened = configured.open().ok();
        if !configured.is_built_in() {
            engine.set_embedder(opened.clone());
        }
        engine.set_encoder(opened);
    }

    /// Makes the vectors that the index and the memory lack. `progress` gets the number of vectors and of texts of the memory. May take as long as the embedder does.
    pub fn embed(&self, progress: &dyn Fn(usize, usize)) -> Filled {
        self.use_embedder();
        let engine = self.engine.as_ref();
        engine.map(|engine| engine.embed(&|| true, progress)).unwrap_or_default()
    }

    /// Moves the sessions of earlier versions to their present location. For commands, which use session memory once; the
    /// gateway moves them in slices in the background.
    pub fn move_old_sessions(&self) {
        let Some(store) = &self.memory else { return };
        match store.spool().compact(&Until::within(MOVE_TIMEOUT)) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!("moving the sessions of an earlier version takes longer; the next command continues");
            }
            Err(error) => tracing::warn!(%error, "cannot move the sessions of an earlier version"),
        }
    }

    /// The state of the index, as `/healthz` shows it.
    pub fn index(&self) -> Value {
        match self.engine.as_ref().map(|engine| engine.status()) {
            None => json!({"state": "none", "reason": self.problem}),
            Some(IndexStatus::Empty) => json!({"state": "empty"}),
            Some(IndexStatus::Indexing { done, total }) => json!({"state": "indexing", "done": done, "total": total}),
            Some(IndexStatus::Ready { files, chunks, memories, unembedded, settled }) => {
                let vectors = self.engine.as_ref().map_or(0, |engine| engine.embedded_chunks());
                json!({"state": "ready", "files": files, "chunks": chunks, "memories": memories, "unembedded": unembedded, "vectors": vectors,
                       "settled": settled})
            }
        }
    }

    /// Refreshes the index now. `None` where there is no repository or another thread is refreshing it.
    ///
    /// # Errors
    /// [`RefreshError`] where the worktree cannot be walked.
    pub fn refresh(&self, progress: &dyn Progress) -> Result<Option<IndexReport>, RefreshError> {
        let Some(engine) = &self.engine else {
            return Ok(None);
        };
        if self.refreshing.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        let refreshed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine.refresh(progress)));
        let pause = if engine.is_watching() { RECHECK_WATCHED } else { RECHECK };
        let pause = pause.max(engine.last_walk() * RECHECK_SHARE);
        let next = u64::try_from((self.opened.elapsed() + pause).as_millis()).unwrap_or(u64::MAX);
        self.next_refresh_ms.store(next, Ordering::Release);
        self.refreshing.store(false, Ordering::Release);
        match refreshed {
            Ok(report) => Ok(Some(report?)),
            Err(_) => Err(RefreshError::Panicked),
        }
    }

    /// Starts watching the worktree and computes missing vectors. Blocks; existing vectors are kept.
    pub fn keep_up(&self) {
        let Some(engine) = &self.engine else { return };
        engine.watch();
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.embed(&|_, _| ())));
        match made {
            Ok(filled) => filled.notes.iter().for_each(|note| tracing::warn!("{note}")),
            Err(_) => tracing::warn!("computing vectors panicked"),
        }
    }

    /// Whether the index is due for a refresh.
    pub fn is_due(&self) -> bool {
        let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.engine.is_some()
            && !self.refreshing.load(Ordering::Acquire)
            && now >= self.next_refresh_ms.load(Ordering::Acquire)
    }

    /// Whether a canonical path belongs to the worktree.
    pub fn owns(&self, real: &Path) -> bool {
        let contains = |engine: &Arc<Engine>| engine.worktree().contains(real);
        real == self.root || self.engine.as_ref().is_some_and(contains)
    }
}
