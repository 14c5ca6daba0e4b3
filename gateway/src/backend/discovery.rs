//! Looking for a model server on loopback, for users who have configured nothing.
//!
//! Anything may listen on these ports, so a server counts only if its `/v1/models` answers in shape, and it is never
//! told a credential. What it speaks is probed once, and again only when its models have changed.

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
const PROBE: Duration = Duration::from_millis(500);
/// How long an answer is trusted. Short where nothing was found, since a user who reads "no model is connected" starts
/// a server next.
const TRUST_FOUND: Duration = Duration::from_secs(10);
const TRUST_NOTHING: Duration = Duration::from_secs(1);

/// A finder that remembers what it found for a few seconds.
pub struct Discovery {
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
    /// Whether all formats were probed; asked again otherwise.
    is_probed: bool,
}

impl Discovery {
    /// Looks on the well-known ports, or on `ports`; never on the port that we listen on ourselves.
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

    /// The places, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        let places: Vec<_> = self
            .places
            .iter()
            .map(|(name, port)| format!("127.0.0.1:{port} ({name})"))
            .collect();
        places.join(", ")
    }

    /// The servers that answer now, in the order of the table.
    pub async fn find(&self) -> Vec<Arc<Backend>> {
        let mut found = self.found.lock().await;
        let trust = if found.servers.is_empty() {
            TRUST_NOTHING
        } else {
            TRUST_FOUND
        };
        if found.when.is_none_or(|when| when.elapsed() >= trust) {
            let looking = self
                .places
                .iter()
                .map(|(name, port)| self.look(name, *port, &found.servers));
            found.servers = futures_util::future::join_all(looking)
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
        // Another Muninn is no model server; sending to it would go in circles.
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
        let probe = probe_formats(&url, PROBE).await;
        let mut formats = probe.probe_format();
        if formats.is_empty() {
            // It lists models, so it is a model server, if a slow one; and they all speak this.
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
    let answer = client(url, PROBE)
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

/// The shape that counts as a model list.
#[derive(Deserialize)]
pub(super) struct ModelList {
    pub(super) data: Vec<Model>,
}

/// One model of a list; the window under the names that vLLM, llama.cpp and LM Studio give it.
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
