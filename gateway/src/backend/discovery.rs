//! Discovery: looking for model servers on loopback if no backend is configured.
//!
//! Any program may listen on these ports. A server counts only if its `/v1/models` returns a model list, and it gets no
//! credential. Its wire formats are probed once, and again only after its models have changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::Mutex;

use super::probe::client;
use super::{Backend, CONTEXT_MODEL, Circuits, probe_formats};
use crate::config::{BackendConfig, LimitsConfig};
use crate::wire::WireFormat;

const WELL_KNOWN: [(&str, u16); 4] = [
    ("ollama", 11_434),
    ("vllm", 8_000),
    ("llama.cpp", 8_080),
    ("lmstudio", 1_234),
];
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long found servers are cached.
const FOUND_TTL: Duration = Duration::from_secs(10);
/// How long an empty result is cached. It is short because a user who reads "no model is connected" starts a server
/// next.
const NOTHING_TTL: Duration = Duration::from_secs(1);

/// Finds model servers on loopback and caches them for a few seconds.
pub struct Discovery {
    /// Names and ports.
    places: Vec<(String, u16)>,
    limits: LimitsConfig,
    circuits: Circuits,
    found: Mutex<Discovered>,
}

#[derive(Default)]
struct Discovered {
    when: Option<Instant>,
    servers: Vec<Server>,
}

#[derive(Clone)]
struct Server {
    backend: Arc<Backend>,
    /// Whether every format was probed. If not, the next search probes again.
    is_probed: bool,
}

impl Discovery {
    /// Prepares a search on `ports`, or on the well-known ports. Muninn's own port is skipped.
    #[must_use]
    pub fn new(ports: Option<&[u16]>, own_port: u16, limits: &LimitsConfig, circuits: Circuits) -> Discovery {
        let places: Vec<(String, u16)> = match ports {
            Some(ports) => ports.iter().map(|port| (format!("port {port}"), *port)).collect(),
            None => WELL_KNOWN
                .iter()
                .map(|(name, port)| ((*name).to_owned(), *port))
                .collect(),
        };
        Discovery {
            places: places.into_iter().filter(|(_, port)| *port != own_port).collect(),
            limits: limits.clone(),
            circuits,
            found: Mutex::default(),
        }
    }

    /// Returns the searched addresses as text for a message.
    #[must_use]
    pub fn describe(&self) -> String {
        let places: Vec<_> = self
            .places
            .iter()
            .map(|(name, port)| format!("127.0.0.1:{port} ({name})"))
            .collect();
        places.join(", ")
    }

    /// Returns the servers that answer, in the order of the ports.
    pub async fn find(&self) -> Vec<Arc<Backend>> {
        let mut found = self.found.lock().await;
        let ttl = if found.servers.is_empty() {
            NOTHING_TTL
        } else {
            FOUND_TTL
        };
        if found.when.is_none_or(|when| when.elapsed() >= ttl) {
            let searches = self
                .places
                .iter()
                .map(|(name, port)| self.look(name, *port, &found.servers));
            found.servers = futures_util::future::join_all(searches)
                .await
                .into_iter()
                .flatten()
                .collect();
            found.when = Some(Instant::now());
        }
        found.servers.iter().map(|server| Arc::clone(&server.backend)).collect()
    }

    async fn look(&self, name: &str, port: u16, known: &[Server]) -> Option<Server> {
        let url = format!("http://127.0.0.1:{port}");
        let list = models(&url).await?;
        let first = list.data.first()?;
        // The server is another Muninn. Sending requests to it would loop.
        if list.data.iter().any(|model| model.id == CONTEXT_MODEL) {
            return None;
        }
        let (default_model, context_window) = (first.id.clone(), first.window());
        let models: Vec<_> = list.data.into_iter().map(|model| model.id).collect();
        let before = known
            .iter()
            .find(|server| server.backend.url == url && server.backend.models == models);
        if let Some(server) = before.filter(|server| server.is_probed) {
            return Some(server.clone());
        }
        let probe = probe_formats(&url, PROBE_TIMEOUT).await;
        let mut formats = probe.supported_formats();
        if formats.is_empty() {
            // The server lists models, so it is a slow model server, and all model servers speak chat.
            formats.push(WireFormat::Chat);
        }
        let config = BackendConfig {
            default_model: Some(default_model),
            context_window,
            ..BackendConfig::new(name.to_owned(), url, formats, &self.limits)
        };
        let backend = Backend {
            models,
            ..Backend::new(config, &self.circuits)
        };
        Some(Server {
            backend: Arc::new(backend),
            is_probed: probe.is_complete(),
        })
    }
}

async fn models(url: &str) -> Option<ModelList> {
    let answer = client(url, PROBE_TIMEOUT)
        .ok()?
        .get(format!("{url}/v1/models"))
        .send()
        .await
        .ok()?;
    if !answer.status().is_success() {
        return None;
    }
    serde_json::from_slice(&answer.bytes().await.ok()?).ok()
}

/// A model list, in the shape that all servers share.
#[derive(Deserialize)]
pub(super) struct ModelList {
    pub(super) data: Vec<Model>,
}

/// One model of a list. vLLM, llama.cpp and LM Studio name the context window differently.
#[derive(Deserialize)]
pub(super) struct Model {
    pub(super) id: String,
    max_model_len: Option<u32>,
    max_context_length: Option<u32>,
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    n_ctx: Option<u32>,
}

impl Model {
    pub(super) fn window(&self) -> Option<u32> {
        self.max_model_len
            .or(self.max_context_length)
            .or(self.meta.as_ref().and_then(|meta| meta.n_ctx))
    }
}
