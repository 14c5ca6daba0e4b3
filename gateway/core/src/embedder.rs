//! The embedder that `[memory.embedder]` names.
//!
//! One for all workspaces of a process: MiniLM takes 70 MB. Opening it reads files or asks a backend, so it is opened by
//! a thread that may take its time. Until then, and while it cannot be used, the compiled-in vectors serve in place of
//! MiniLM, and words alone in place of a backend.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_backend::{Candidate, RemoteEmbedder, Router};
use muninn_base::{Supervisor, with_causes};
use muninn_config::{Config, ConfigError, EmbedderConfig, paths};
use muninn_text::embed::{EmbedError, Embedder, LoadError, StaticVectors, minilm};
use parking_lot::Mutex;
use serde_json::{Value, json};
use thiserror::Error;

use crate::model;

/// An embedder that could not be opened, or that fails, is tried again no sooner than this.
const RETRY: Duration = Duration::from_secs(30);

/// Why the configured embedder cannot be used.
#[derive(Debug, Error)]
pub enum EmbedderError {
    /// The directory of models has no place.
    #[error(transparent)]
    Place(#[from] ConfigError),
    /// The model was never fetched.
    #[error("MiniLM is not in {}: fetch it with `muninn model pull`", .0.display())]
    Absent(PathBuf),
    /// A file of the model is missing or is another one.
    #[error("MiniLM in {} is damaged: {reason}. Fetch it again with `muninn model pull --force`", directory.display())]
    Damaged {
        /// The model's directory.
        directory: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The model cannot be loaded.
    #[error(transparent)]
    Load(LoadError),
    /// The backend gives no vectors.
    #[error(transparent)]
    Backend(EmbedError),
}

/// An embedder that is opened when it is first needed.
pub struct ConfiguredEmbedder {
    kind: Kind,
    /// `None` until it is opened.
    state: Mutex<Option<State>>,
    /// [`RETRY`], but in tests.
    retry: Duration,
    supervisor: Supervisor,
}

enum Kind {
    Static,
    /// Whether its absence is worth a warning.
    MiniLm {
        is_wanted: bool,
    },
    Backend(Box<Candidate>, String),
}

enum State {
    Open(Arc<dyn Embedder>),
    /// A backend's, which may fail or have other dimensions later; since when it was last probed.
    Remote(Arc<RemoteEmbedder>, Instant),
    Unusable(Arc<EmbedderError>, Instant),
}

impl ConfiguredEmbedder {
    /// The embedder of a configuration, not opened yet. The supervisor releases MiniLM when it is idle.
    pub fn new(config: &Config, supervisor: &Supervisor) -> Arc<ConfiguredEmbedder> {
        let kind = match &config.embedder {
            EmbedderConfig::Auto => Kind::MiniLm { is_wanted: false },
            EmbedderConfig::Static => Kind::Static,
            EmbedderConfig::MiniLm => Kind::MiniLm { is_wanted: true },
            // The configuration was checked: the backend is there.
            EmbedderConfig::Backend(chosen) => match Router::new(config, 0).chosen(chosen) {
                Some(candidate) => Kind::Backend(Box::new(candidate), chosen.model.clone()),
                None => Kind::Static,
            },
        };
        Arc::new(ConfiguredEmbedder { kind, state: Mutex::default(), retry: RETRY, supervisor: supervisor.clone() })
    }

    /// The embedder of a configuration that was read again. A model that is loaded stays loaded.
    pub fn reloaded(self: &Arc<Self>, config: &Config) -> Arc<ConfiguredEmbedder> {
        match (&self.kind, &config.embedder) {
            (Kind::Static, EmbedderConfig::Static)
            | (Kind::MiniLm { is_wanted: false }, EmbedderConfig::Auto)
            | (Kind::MiniLm { is_wanted: true }, EmbedderConfig::MiniLm) => Arc::clone(self),
            _ => ConfiguredEmbedder::new(config, &self.supervisor),
        }
    }

    /// The configured name: `auto`, `static`, `minilm`, or backend and model as in `local/nomic-embed-text`.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Static => "static".to_owned(),
            Kind::MiniLm { is_wanted: false } => "auto".to_owned(),
            Kind::MiniLm { is_wanted: true } => "minilm".to_owned(),
            Kind::Backend(candidate, model) => format!("{}/{model}", candidate.backend.name),
        }
    }

    /// Whether code has the compiled-in vectors. Only the embedder of a backend also embeds code.
    pub fn is_built_in(&self) -> bool {
        !matches!(self.kind, Kind::Backend(..))
    }

    /// The embedder of code, if it is compiled in.
    pub fn of_code(&self) -> Option<Arc<dyn Embedder>> {
        self.is_built_in().then(|| StaticVectors::shipped().ok()).flatten().map(|vectors| Arc::new(vectors) as _)
    }

    /// Returns the embedder, opened if need be. Loading MiniLM takes half a second; a backend may take as long as it takes
    /// to load its model. One that failed is tried again after 30 seconds.
    ///
    /// # Errors
    /// [`EmbedderError`] where it cannot be used now.
    pub fn open(&self) -> Result<Arc<dyn Embedder>, Arc<EmbedderError>> {
        let mut state = self.state.lock();
        let current = match state.take() {
            Some(State::Remote(remote, probed)) if remote.problem().is_some() && probed.elapsed() >= self.retry => {
                match remote.probe() {
                    Err(EmbedError::Shape { .. }) => self.load(),
                    Ok(()) | Err(EmbedError::Failed { .. }) => State::Remote(remote, Instant::now()),
                }
            }
            Some(State::Unusable(_, since)) if since.elapsed() >= self.retry => self.load(),
            Some(current) => current,
            None => self.load(),
        };
        let opened: Result<Arc<dyn Embedder>, _> = match &current {
            State::Open(embedder) => Ok(Arc::clone(embedder)),
            State::Remote(remote, _) => Ok(Arc::clone(remote) as _),
            State::Unusable(error, _) => Err(Arc::clone(error)),
        };
        *state = Some(current);
        opened
    }

    fn load(&self) -> State {
        let loaded = match &self.kind {
            Kind::Static => {
                StaticVectors::shipped().map(|vectors| State::Open(Arc::new(vectors))).map_err(EmbedderError::Load)
            }
            Kind::MiniLm { .. } => open_minilm(&self.supervisor).map(State::Open),
            Kind::Backend(candidate, model) => RemoteEmbedder::connect((*candidate.backend).clone(), model)
                .map(|remote| State::Remote(Arc::new(remote), Instant::now()))
                .map_err(EmbedderError::Backend),
        };
        loaded.unwrap_or_else(|error| {
            if !self.is_absent(&error) {
                let instead =
                    if self.is_built_in() { "static vectors serve" } else { "words alone decide what is found" };
                let reason = with_causes(&error);
                tracing::warn!("the embedder {} cannot be used, and {instead}: {reason}", self.name());
            }
            State::Unusable(Arc::new(error), Instant::now())
        })
    }

    /// Whether nobody has installed what is used if it is there.
    pub fn is_missing(&self) -> bool {
        let directory = || Some(paths::models_dir().ok()?.join(model::minilm().name));
        matches!(self.kind, Kind::MiniLm { is_wanted: false })
            && directory().is_none_or(|directory| !directory.exists())
    }

    /// Whether an error only means that nobody has installed what is used if it is there.
    pub fn is_absent(&self, error: &EmbedderError) -> bool {
        matches!((&self.kind, error), (Kind::MiniLm { is_wanted: false }, EmbedderError::Absent(_)))
    }

    /// The embedder's name and state for programs: `closed`, `opening`, `ready` with its id, `absent`, `failing` or `unusable` with
    /// the reason. Never waits.
    pub fn report(&self) -> Value {
        let model = self.name();
        let Some(state) = self.state.try_lock() else {
            return json!({"model": model, "state": "opening"});
        };
        match &*state {
            None if self.is_missing() => json!({"model": model, "state": "absent"}),
            None => json!({"model": model, "state": "closed"}),
            Some(State::Open(embedder)) => json!({"model": model, "state": "ready", "id": embedder.id()}),
            Some(State::Remote(remote, _)) => match remote.problem() {
                None => json!({"model": model, "state": "ready", "id": remote.id()}),
                Some(reason) => json!({"model": model, "state": "failing", "id": remote.id(), "reason": reason}),
            },
            Some(State::Unusable(error, _)) if self.is_absent(error) => json!({"model": model, "state": "absent"}),
            Some(State::Unusable(error, _)) => {
                json!({"model": model, "state": "unusable", "reason": with_causes(&**error)})
            }
        }
    }
}

fn open_minilm(supervisor: &Supervisor) -> Result<Arc<dyn Embedder>, EmbedderError> {
    let (pin, models) = (model::minilm(), paths::models_dir()?);
    let directory = models.join(&pin.name);
    match model::status(&pin, &models) {
        model::Status::Ready => Ok(Arc::from(minilm(&directory, supervisor).map_err(EmbedderError::Load)?)),
        model::Status::Absent => Err(EmbedderError::Absent(directory)),
        model::Status::Damaged { reason } => Err(EmbedderError::Damaged { directory, reason }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use muninn_tests::{Recorded, Reply, Upstream};

    use super::*;
    use muninn_config::load_text;

    fn configured(text: &str) -> ConfiguredEmbedder {
        let made = ConfiguredEmbedder::new(&load_text(text).unwrap(), &Supervisor::default());
        let mut made = Arc::into_inner(made).unwrap();
        made.retry = Duration::ZERO;
        made
    }

    fn of_backend(url: &str) -> ConfiguredEmbedder {
        drop(rustls::crypto::ring::default_provider().install_default());
        configured(&format!(
            "[[backends]]\nname = \"local\"\nurl = \"{url}\"\ndialect = \"chat\"\n\
             [memory.embedder]\nmodel = {{ backend = \"local\", model = \"m\" }}\n"
        ))
    }

    fn vectors(request: &Recorded, dimensions: usize) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let count = body["input"].as_array().unwrap().len();
        let row = |index: usize| json!({"index": index, "embedding": vec![1.0; dimensions]});
        let rows: Vec<_> = (0..count).map(row).collect();
        Reply::json(200, json!({"data": rows}).to_string())
    }

    #[test]
    fn the_default_is_minilm_if_it_is_there() {
        let embedder = configured("");
        assert_eq!(embedder.report()["model"], "auto");
        assert!(embedder.of_code().is_some());
        let absent = EmbedderError::Absent(PathBuf::from("/models"));
        assert!(embedder.is_absent(&absent));
        assert!(!configured("[memory.embedder]\nmodel = \"minilm\"\n").is_absent(&absent));
    }

    #[test]
    fn static_vectors_are_always_ready() {
        let embedder = configured("[memory.embedder]\nmodel = \"static\"\n");
        assert_eq!(embedder.report(), json!({"model": "static", "state": "closed"}));
        let id = embedder.open().unwrap().id().to_owned();
        assert_eq!(embedder.report(), json!({"model": "static", "state": "ready", "id": id}));
    }

    #[test]
    fn backend_that_comes_up_later_is_used_then() {
        let is_up = Arc::new(AtomicBool::default());
        let answering = Arc::clone(&is_up);
        let upstream = Upstream::start_with(move |request| {
            if answering.load(Ordering::Relaxed) {
                vectors(request, 4)
            } else {
                Reply::json(503, r#"{"error":{"message":"loading"}}"#)
            }
        });
        let embedder = of_backend(&upstream.url());
        assert!(embedder.open().is_err());
        assert_eq!(embedder.report()["state"], "unusable");
        assert!(embedder.report()["reason"].as_str().unwrap().contains("loading"));
        is_up.store(true, Ordering::Relaxed);
        assert_eq!(embedder.open().unwrap().dimensions(), 4);
        assert_eq!(embedder.report()["model"], "local/m");
        assert_eq!(embedder.report()["state"], "ready");
    }

    #[test]
    fn failing_backend_is_probed_and_other_dimensions_are_another_embedder() {
        let dimensions = Arc::new(AtomicUsize::new(4));
        let answered = Arc::clone(&dimensions);
        let upstream = Upstream::start_with(move |request| match answered.load(Ordering::Relaxed) {
            0 => Reply::json(500, r#"{"error":{"message":"out of memory"}}"#),
            dimensions => vectors(request, dimensions),
        });
        let embedder = of_backend(&upstream.url());
        let first = embedder.open().unwrap();

        dimensions.store(0, Ordering::Relaxed);
        assert!(first.embed_question("why").is_err());
        assert_eq!(embedder.report()["state"], "failing");
        assert!(embedder.report()["reason"].as_str().unwrap().contains("out of memory"));
        let asked = upstream.requests().len();
        assert!(first.embed_question("why not").is_err());
        assert_eq!(upstream.requests().len(), asked, "questions wait for no backend that just failed");
        assert_eq!(embedder.open().unwrap().id(), first.id(), "it may come back");

        dimensions.store(4, Ordering::Relaxed);
        embedder.open().unwrap();
        assert_eq!(embedder.report()["state"], "ready");
        let asked = upstream.requests().len();
        assert_eq!(first.embed_question("why").unwrap().len(), 4);
        assert_eq!(first.embed_question("why").unwrap().len(), 4);
        assert_eq!(upstream.requests().len(), asked + 1, "a question is embedded once");

        dimensions.store(8, Ordering::Relaxed);
        assert!(matches!(first.embed(&["text"]), Err(EmbedError::Shape { .. })));
        let second = embedder.open().unwrap();
        assert_eq!(second.dimensions(), 8);
        assert_ne!(second.id(), first.id(), "their vectors never mix");
    }
}
