//! The state of one process: settings, workspaces, store, and background tasks.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use muninn_backend::BlockingClient;
use muninn_backend::metrics::{FinishedRequest, ForwardedRequest, Metrics};
use muninn_base::{Clock, Supervisor};
use muninn_config::presence::Presence;
use muninn_config::{Config, ConfigError, paths};
use muninn_context_engine::tokens;
use muninn_ledger::{Counters, LocalCounters, SqliteStore, Store, UsageSum, utc_today};
use muninn_notebooks::personal::Personal;
use muninn_text::model::block_on;
use muninn_wire::convert::answer::Usage;
use parking_lot::{Mutex, RwLock};

use super::deep::BackgroundExplorations;
use super::embedder::ConfiguredEmbedder;
use super::learn::{Learner, SummarizerHost};
use super::settings::{Settings, keep_what_is_fixed};
use super::{Workspace, Workspaces, personal_use};

/// The most that the end of a process waits for background tasks.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// The state behind all requests; one per process.
pub struct App {
    settings: RwLock<Arc<Settings>>,
    /// The served repository.
    pub workspace: Arc<Workspace>,
    /// All worktrees, the served one among them.
    pub workspaces: Workspaces,
    /// The counters of `GET /metrics`.
    pub metrics: Arc<Metrics>,
    /// Whether other machines reach the listen address. Fixed when the process starts: as long as it holds, a reload
    /// that removes all access keys is refused.
    pub exposed: bool,
    /// Ledger and receipts; absent where the state directory cannot be used. Without it nothing is injected.
    pub store: Option<Arc<dyn Store>>,
    /// Why there is no store.
    pub store_problem: Option<String>,
    /// The owner of all background threads.
    pub supervisor: Supervisor,
    /// Rate limits and circuits: the store's counters, or this process's own where there is no store.
    pub counters: Arc<dyn Counters>,
    /// Explorations that run in the background of conversations.
    pub explorations: BackgroundExplorations,
    /// The thread that learns from conversations.
    pub learner: Learner,
    /// The client for the gateway's own requests to models; started by the first one.
    blocking_client: OnceLock<Option<BlockingClient>>,
    /// The user's personal memory, if it is to be used. Its place is fixed when the process starts.
    pub personal: Option<Arc<Personal>>,
    /// The turns whose events are logged.
    pub(super) signalled: Arc<Mutex<HashSet<String>>>,
    /// The user's state directory.
    pub(super) state_dir: PathBuf,
    /// Tells hooks that a gateway listens on the port.
    _presence: Option<Presence>,
}

impl App {
    /// Opens the repository and the state directory. If either fails, the gateway logs it and still forwards requests.
    ///
    /// # Errors
    /// [`ConfigError`] where the state directory's path is unknown, or a key names roots that do not fit.
    pub fn open(config: Config, directory: &Path, own_port: u16) -> Result<App, ConfigError> {
        App::with_state(config, directory, own_port, &paths::state_dir()?)
    }

    /// [`App::open`] with a given state directory.
    pub(super) fn with_state(
        config: Config,
        directory: &Path,
        own_port: u16,
        state_dir: &Path,
    ) -> Result<App, ConfigError> {
        let app = App::opened(config, directory, own_port, state_dir, true)?;
        if let Some(problem) = &app.workspace.problem {
            tracing::warn!("{problem}: requests are forwarded without context");
        }
        Ok(app)
    }

    /// Opens the state directory for the user's programs on this machine, each of which names its own worktree. There are
    /// no access keys, since no other caller arrives.
    ///
    /// # Errors
    /// As [`App::open`].
    pub fn for_local_programs(mut config: Config) -> Result<App, ConfigError> {
        close_network(&mut config);
        // A directory that nobody keeps a repository in.
        App::opened(config, Path::new("/"), 0, &paths::state_dir()?, true)
    }

    /// [`App::with_state`]. `has_upkeep`: whether it flushes the records that earlier processes left.
    pub(super) fn opened(
        config: Config,
        directory: &Path,
        own_port: u16,
        state_dir: &Path,
        has_upkeep: bool,
    ) -> Result<App, ConfigError> {
        let supervisor = Supervisor::default();
        let embedder = ConfiguredEmbedder::new(&config, &supervisor);
        let owners = (&supervisor, &embedder);
        let workspace = Workspace::supervised(directory, &config, state_dir, Clock::system(), owners);
        let workspace = Arc::new(workspace);
        config.check_key_roots(&workspace.root)?;
        let (store, store_problem) = open_store(&config, state_dir, &supervisor);
        let counters: Arc<dyn Counters> = match &store {
            Some(store) => store.counters(),
            None => Arc::new(LocalCounters::default()),
        };
        let metrics = Arc::new(Metrics::default());
        metrics.add_backend_labels(config.backends.iter().map(|backend| backend.name.as_str()));
        let workspaces = Workspaces::new(Arc::clone(&workspace), &config, state_dir, &supervisor);
        let personal = personal_use::open(&config);
        let settings = Settings::new(config, own_port, Arc::clone(&counters));
        let learner = Learner::start(&supervisor, state_dir, store.clone(), has_upkeep.then(|| Arc::clone(&workspace)));
        let app = App {
            exposed: !settings.config.listen.ip().is_loopback(),
            settings: RwLock::new(Arc::new(settings)),
            workspace,
            workspaces,
            metrics,
            store,
            store_problem,
            supervisor,
            counters,
            explorations: BackgroundExplorations::default(),
            learner,
            blocking_client: OnceLock::new(),
            personal,
            signalled: Arc::default(),
            state_dir: state_dir.to_owned(),
            _presence: presence(state_dir, own_port),
        };
        if has_upkeep {
            app.index_personal();
        }
        Ok(app)
    }

    /// The settings in force now.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read())
    }

    /// Applies a reloaded configuration to every later request; requests under way keep the old one. Returns one line for
    /// each changed setting that takes effect only after a restart.
    ///
    /// # Errors
    /// [`ConfigError`] where the configuration is invalid for this process; nothing has changed then.
    pub fn reload(&self, mut config: Config) -> Result<Vec<String>, ConfigError> {
        let previous = self.settings();
        let kept = keep_what_is_fixed(&mut config, &previous.config);
        if self.exposed && config.keys.is_empty() {
            return Err(ConfigError::Value {
                setting: config.setting("keys"),
                message: format!(
                    "cannot be empty while Muninn listens on {}, which other machines reach; restart to listen elsewhere",
                    config.listen
                ),
            });
        }
        config.check_key_roots(&self.workspace.root)?;
        self.metrics.add_backend_labels(config.backends.iter().map(|backend| backend.name.as_str()));
        self.workspaces.reload(&config);
        let settings = Arc::new(Settings::reloaded(config, &previous));
        *self.settings.write() = settings;
        Ok(kept)
    }

    /// [`App::reload`] for [`App::for_local_programs`].
    ///
    /// # Errors
    /// As [`App::reload`].
    pub fn reload_for_local_programs(&self, mut config: Config) -> Result<Vec<String>, ConfigError> {
        close_network(&mut config);
        self.reload(config)
    }

    /// The ledger's health as text; `ok` where nothing is wrong.
    pub async fn ledger_health(&self) -> String {
        match &self.store {
            Some(store) => store.health().await.to_string(),
            None => self.store_problem.clone().unwrap_or_default(),
        }
    }

    /// Starts indexing the served repository. Until that is done, context comes from paths and a bounded search.
    pub fn index_in_background(self: &Arc<App>) {
        self.index("first-index", |app| Some(Arc::clone(&app.workspace)));
    }

    /// Opens the worktree that a local program works in, and starts indexing it.
    pub fn index_local_in_background(self: &Arc<App>, directory: &Path) {
        let directory = directory.to_owned();
        self.index("local-index", move |app| {
            let root = app.workspaces.root_at(&directory)?;
            let opened = app.workspaces.open(&root, Some(&root));
            opened.inspect_err(|error| tracing::warn!(%error, "a worktree is not indexed")).ok()
        });
    }

    fn index(self: &Arc<App>, task: &'static str, open: impl FnOnce(&App) -> Option<Arc<Workspace>> + Send + 'static) {
        let app = Arc::clone(self);
        let indexing = self.supervisor.run(task, move || {
            tokens::warm();
            let Some(workspace) = open(&app) else { return };
            match workspace.refresh(&()) {
                Ok(Some(report)) => {
                    let (files, chunks, memories) = (report.files, report.chunks, report.memories);
                    tracing::info!(files, chunks, memories, ms = report.millis, "index ready");
                    for note in report.notes {
                        tracing::warn!("{note}");
                    }
                    workspace.keep_up();
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "cannot build the index; context comes from paths and grep"),
            }
        });
        if let Err(error) = indexing {
            tracing::warn!(%error, "cannot start the indexing thread");
        }
    }

    /// Ends the background tasks: learns from open conversations until `stop_by`, and writes what is queued.
    pub fn close(&self, stop_by: Instant) {
        self.supervisor.stopping().cancel();
        self.learner.close(stop_by);
        for workspace in self.workspaces.all() {
            workspace.engine.iter().for_each(|engine| engine.stop_watching());
        }
        if let Some(store) = &self.store {
            block_on(store.flush());
        }
        let left = self.supervisor.drain(Instant::now() + STOP_GRACE);
        if !left.is_empty() {
            tracing::info!("tasks still running at the end of the process: {}", left.join(", "));
        }
    }

    /// Refreshes a worktree's index if it is due. Called once a request is on its way, so that the next one profits.
    pub fn keep_index_fresh(&self, worktree: &str) {
        let Some(workspace) = self.workspaces.due(Path::new(worktree)) else {
            return;
        };
        tokio::task::spawn_blocking(move || match workspace.refresh(&()) {
            Ok(_) => workspace.keep_up(),
            Err(error) => tracing::warn!(%error, "the index could not be brought up to date"),
        });
    }

    /// Counts a finished conversation request in the metrics and in its key's usage.
    pub fn finished(&self, finished: &FinishedRequest<'_>) {
        self.metrics.finished(finished);
        self.note_usage(finished.key, finished.usage);
    }

    /// Counts a finished request of another kind.
    pub fn forwarded(&self, forwarded: &ForwardedRequest<'_>) {
        self.metrics.forwarded(forwarded);
        self.note_usage(forwarded.key, forwarded.usage);
    }

    fn note_usage(&self, key: &str, usage: Usage) {
        if let Some(store) = &self.store {
            let sum = UsageSum {
                requests: 1,
                input: usage.input.unwrap_or(0),
                output: usage.output.unwrap_or(0),
                cached: usage.cached.unwrap_or(0),
            };
            store.note_usage(key, utc_today(), sum);
        }
    }
}

impl SummarizerHost for App {
    fn blocking_client(&self) -> Option<&BlockingClient> {
        let start = || {
            let started = BlockingClient::start(&self.supervisor, self.settings().config.limits.connect_timeout);
            started
                .inspect_err(|error| tracing::error!(%error, "models cannot be asked: the client thread did not start"))
                .ok()
        };
        self.blocking_client.get_or_init(start).as_ref()
    }

    fn store(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref()
    }
}

/// Leaves out what concerns callers from the network.
fn close_network(config: &mut Config) {
    config.keys.clear();
    config.listen.set_ip(Ipv4Addr::LOCALHOST.into());
}

/// Announces a gateway. Port 0 stands for none.
fn presence(state_dir: &Path, port: u16) -> Option<Presence> {
    if port == 0 {
        return None;
    }
    Presence::announce(state_dir, port)
        .inspect_err(|error| tracing::warn!(%error, "hooks cannot see that this gateway runs"))
        .ok()
}

fn open_store(config: &Config, state_dir: &Path, supervisor: &Supervisor) -> (Option<Arc<dyn Store>>, Option<String>) {
    match SqliteStore::supervised(state_dir, &config.limits, supervisor) {
        Ok(store) => {
            store.check_in_background();
            (Some(Arc::new(store)), None)
        }
        Err(error) => {
            tracing::error!(%error, "requests are forwarded without context");
            (None, Some(error.to_string()))
        }
    }
}
