//! Looking for a model server on loopback, for users who have configured nothing.
//!
//! Anything may listen on these ports, so a server counts only if its `/v1/models` answers in shape, and it is never
//! told a credential.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::Mutex;

use super::{Backend, CONTEXT_MODEL, Origin};
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
    found: Mutex<Option<(Instant, Vec<Arc<Backend>>)>>,
}

impl Discovery {
    /// Looks on the well-known ports, or on `ports`; never on the port that we listen on ourselves.
    #[must_use]
    pub fn new(ports: Option<&[u16]>, own_port: u16) -> Discovery {
        let places: Vec<(String, u16)> = match ports {
            Some(ports) => ports.iter().map(|port| (format!("port {port}"), *port)).collect(),
            None => WELL_KNOWN
                .iter()
                .map(|(name, port)| ((*name).to_owned(), *port))
                .collect(),
        };
        Discovery {
            places: places.into_iter().filter(|(_, port)| *port != own_port).collect(),
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
        if let Some((when, backends)) = &*found {
            let trust = if backends.is_empty() {
                TRUST_NOTHING
            } else {
                TRUST_FOUND
            };
            if when.elapsed() < trust {
                return backends.clone();
            }
        }
        let probes = self.places.iter().map(|(name, port)| probe(name, *port));
        let backends: Vec<_> = futures_util::future::join_all(probes)
            .await
            .into_iter()
            .flatten()
            .map(Arc::new)
            .collect();
        *found = Some((Instant::now(), backends.clone()));
        backends
    }
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

async fn probe(name: &str, port: u16) -> Option<Backend> {
    let url = format!("http://127.0.0.1:{port}");
    let client = reqwest::Client::builder().no_proxy().timeout(PROBE).build().ok()?;
    let answer = client.get(format!("{url}/v1/models")).send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let list: ModelList = serde_json::from_slice(&answer.bytes().await.ok()?).ok()?;
    let first = list.data.first()?;
    // Another Muninn is no model server; sending to it would go in circles.
    if list.data.iter().any(|model| model.id == CONTEXT_MODEL) {
        return None;
    }
    Some(Backend {
        name: name.to_owned(),
        url,
        formats: vec![WireFormat::Chat, WireFormat::Messages, WireFormat::Responses],
        key: None,
        client_credentials: false,
        default_model: Some(first.id.clone()),
        context_window: first.window(),
        models: list.data.into_iter().map(|model| model.id).collect(),
        origin: Origin::Discovered,
    })
}
