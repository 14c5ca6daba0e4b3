//! Discovery: looking for model servers on loopback if no backend is configured.
//!
//! Any program may listen on these ports, also one of another user, and it would get prompts and code. So the owner of
//! a listener decides: programs of this user, of root and of system accounts are used, those of another person never, not
//! even for a probe. A server counts only if its `/v1/models` returns a model list, and it gets no credential. Its wire
//! formats are probed once, and again only after its models have changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_config::{Address, BackendConfig, LimitsConfig};
use muninn_wire::WireFormat;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::probe::client;
use super::{Backend, CONTEXT_MODEL, Circuits, probe_formats};
use crate::socket_owner::SocketOwner;

const WELL_KNOWN: [(&str, u16); 4] = [("ollama", 11_434), ("vllm", 8_000), ("llama.cpp", 8_080), ("lmstudio", 1_234)];
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long found servers are cached.
const FOUND_TTL: Duration = Duration::from_secs(10);
/// How long an empty result is cached. It is short because a user who reads "no model is connected" starts a server
/// next.
const NOTHING_TTL: Duration = Duration::from_secs(1);

/// The largest model list, in bytes.
pub(super) const MAX_LIST_BYTES: usize = 4 << 20;
/// The most characters of a model's name in an announcement.
const MAX_SHOWN_NAME: usize = 80;

/// Finds model servers on loopback and caches them for a few seconds.
pub struct Discovery {
    /// Names and ports.
    places: Vec<(String, u16)>,
    limits: LimitsConfig,
    circuits: Circuits,
    /// The file to which a user adds a backend.
    config_path: String,
    found: Mutex<Discovered>,
}

#[derive(Default)]
struct Discovered {
    when: Option<Instant>,
    servers: Vec<Server>,
    /// The last announcement about each port, so that each is made once.
    announced: BTreeMap<u16, String>,
}

#[derive(Clone)]
struct Server {
    backend: Arc<Backend>,
    port: u16,
    owner: SocketOwner,
    /// Whether every format was probed. If not, the next search probes again.
    is_probed: bool,
}

/// A line for the user about a program on a searched port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The text, without control characters.
    pub text: String,
    /// Whether the user should look at it: the program is not used, or its owner is unknown.
    pub is_warning: bool,
}

impl Discovery {
    /// Prepares a search on `ports`, or on the well-known ports. Muninn's own port is skipped.
    pub fn new(
        ports: Option<&[u16]>,
        own_port: u16,
        limits: &LimitsConfig,
        circuits: Circuits,
        config_path: &str,
    ) -> Discovery {
        let places: Vec<(String, u16)> = match ports {
            Some(ports) => ports.iter().map(|port| (format!("port-{port}"), *port)).collect(),
            None => WELL_KNOWN.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect(),
        };
        Discovery {
            places: places.into_iter().filter(|(_, port)| *port != own_port).collect(),
            limits: limits.clone(),
            circuits,
            config_path: config_path.to_owned(),
            found: Mutex::default(),
        }
    }

    /// Returns the searched addresses as text for a message.
    pub fn describe(&self) -> String {
        let places: Vec<_> = self.places.iter().map(|(name, port)| format!("127.0.0.1:{port} ({name})")).collect();
        places.join(", ")
    }

    /// Returns the servers that answer, in the order of the ports. Announcements that nobody took go to the log.
    pub async fn find(&self) -> Vec<Arc<Backend>> {
        let (servers, announcements) = self.search().await;
        for Announcement { text, is_warning } in announcements {
            if is_warning {
                tracing::warn!("{text}");
            } else {
                tracing::info!("{text}");
            }
        }
        servers
    }

    /// Searches, and returns the announcements that were not made yet.
    pub async fn announcements(&self) -> Vec<Announcement> {
        self.search().await.1
    }

    async fn search(&self) -> (Vec<Arc<Backend>>, Vec<Announcement>) {
        let mut found = self.found.lock().await;
        let ttl = if found.servers.is_empty() { NOTHING_TTL } else { FOUND_TTL };
        let is_fresh = found.when.is_some_and(|when| when.elapsed() < ttl);
        // A port can change its owner within the time that a result is cached.
        let is_owned = found.servers.iter().all(|server| SocketOwner::of_listener(server.port) == server.owner);
        let mut announcements = Vec::new();
        if !is_fresh || !is_owned {
            let searches = self.places.iter().map(|(name, port)| self.look(name, *port, &found.servers));
            let results = futures_util::future::join_all(searches).await;
            found.servers.clear();
            for ((_, port), (server, announcement)) in self.places.iter().zip(results) {
                found.servers.extend(server);
                match announcement {
                    Some(announcement) => {
                        if found.announced.insert(*port, announcement.text.clone()).as_ref() != Some(&announcement.text)
                        {
                            announcements.push(announcement);
                        }
                    }
                    None => drop(found.announced.remove(port)),
                }
            }
            found.when = Some(Instant::now());
        }
        let servers = found.servers.iter().map(|server| Arc::clone(&server.backend)).collect();
        (servers, announcements)
    }

    /// Looks at one port: the server if it can be used, and what the user should know about it.
    async fn look(&self, name: &str, port: u16, known: &[Server]) -> (Option<Server>, Option<Announcement>) {
        let owner = SocketOwner::of_listener(port);
        if let SocketOwner::Other(_) = owner {
            return (None, Some(self.refusal(name, port, owner)));
        }
        let Some(server) = self.ask(name, port, owner, known).await else {
            return (None, None);
        };
        let model = server.backend.default_model.as_deref().unwrap_or_default();
        let model: String = model.chars().take(MAX_SHOWN_NAME).collect();
        let text = format!(
            "using {name} at 127.0.0.1:{port} (model {}) because no backend is configured; {owner}",
            model.escape_debug(),
        );
        let is_warning = owner == SocketOwner::Unknown;
        (Some(server), Some(Announcement { text, is_warning }))
    }

    /// The warning about a listener of another person, with the configuration that accepts it.
    fn refusal(&self, name: &str, port: u16, owner: SocketOwner) -> Announcement {
        let text = format!(
            "not using 127.0.0.1:{port} ({name}): {owner}, who would get prompts and code. If you trust it, add this to \
             {}:\n\n[[backends]]\nname = \"{name}\"\nurl = \"http://127.0.0.1:{port}\"\ndialect = \"chat\"\n",
            self.config_path
        );
        Announcement { text, is_warning: true }
    }

    /// Asks a listener for its models and formats; `None` if it is no model server.
    async fn ask(&self, name: &str, port: u16, owner: SocketOwner, known: &[Server]) -> Option<Server> {
        let url = format!("http://127.0.0.1:{port}");
        let list = models(&url).await?;
        let first = list.data.first()?;
        // The server is another Muninn. Sending requests to it would loop.
        if list.data.iter().any(|model| model.id == CONTEXT_MODEL) {
            return None;
        }
        let (default_model, context_window) = (first.id.clone(), first.window());
        let models: Vec<_> = list.data.into_iter().map(|model| model.id).collect();
        let before = known.iter().find(|server| server.port == port && server.backend.models == models);
        if let Some(server) = before.filter(|server| server.is_probed) {
            return Some(Server { owner, ..server.clone() });
        }
        let probe = probe_formats(&Address::of_base(url.clone()), PROBE_TIMEOUT).await;
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
        let backend = Backend { models, ..Backend::new(config, &self.circuits) };
        Some(Server { backend: Arc::new(backend), port, owner, is_probed: probe.is_complete() })
    }
}

async fn models(url: &str) -> Option<ModelList> {
    let request = client(url, PROBE_TIMEOUT).ok()?.get(format!("{url}/v1/models"));
    let answer: http::Response<reqwest::Body> = request.send().await.ok()?.into();
    if !answer.status().is_success() {
        return None;
    }
    let body = axum::body::Body::new(answer.into_body());
    serde_json::from_slice(&axum::body::to_bytes(body, MAX_LIST_BYTES).await.ok()?).ok()
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
    pub(super) display_name: Option<String>,
    pub(super) description: Option<String>,
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
        self.max_model_len.or(self.max_context_length).or(self.meta.as_ref().and_then(|meta| meta.n_ctx))
    }
}
