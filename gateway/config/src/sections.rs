//! Resolved sections. A field without a comment has the meaning of its key in [`super::raw`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use muninn_context_engine::value::Prices;
use muninn_wire::WireFormat;

use crate::Address;
use crate::secrets::{KeyHash, Secret};

/// The names of backends without configuration: the two vendors, and the servers of discovery.
pub const UNCONFIGURED: [&str; 6] = ["anthropic", "openai", "ollama", "vllm", "llama.cpp", "lmstudio"];

/// The tools that the Model Context Protocol server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpConfig {
    /// The names of tools and of sets of tools; empty for the default ones.
    pub tools: Vec<String>,
    pub http: bool,
    /// Whether tools that write are offered over HTTP.
    pub write: bool,
}

#[derive(Debug, Clone)]
pub struct BackendConfig {
    pub name: String,
    pub url: Address,
    /// The wire formats that it accepts. Never empty.
    pub formats: Vec<WireFormat>,
    /// The backend's own key, read from an environment variable or a file.
    pub key: Option<Secret>,
    /// More keys, between which conversations are shared out.
    pub further_keys: Vec<Secret>,
    pub client_credentials: bool,
    pub default_model: Option<String>,
    pub context_window: Option<u32>,
    pub prices: Prices,
    pub fallbacks: Vec<FallbackConfig>,
    pub retries: u32,
    pub first_byte_timeout: Duration,
    /// The longest pause inside the answer.
    pub stream_idle_timeout: Duration,
    pub http2_prior_knowledge: bool,
}

impl BackendConfig {
    /// Creates a backend with defaults for everything else.
    pub fn new(name: String, url: String, formats: Vec<WireFormat>, limits: &LimitsConfig) -> BackendConfig {
        BackendConfig {
            name,
            url: Address::of_base(url),
            formats,
            key: None,
            further_keys: Vec::new(),
            client_credentials: false,
            default_model: None,
            context_window: None,
            prices: Prices::default(),
            fallbacks: Vec::new(),
            retries: 1,
            first_byte_timeout: limits.first_byte_timeout,
            stream_idle_timeout: limits.stream_idle_timeout,
            http2_prior_knowledge: false,
        }
    }
}

/// A rule that sends models to a backend.
#[derive(Debug, Clone)]
pub struct RouteConfig {
    pub model: String,
    /// Index into `Config::backends`.
    pub backend: usize,
    pub rename: Option<String>,
    pub fallbacks: Vec<FallbackConfig>,
}

/// The next backend to try for a request.
#[derive(Debug, Clone)]
pub struct FallbackConfig {
    /// Index into `Config::backends`.
    pub backend: usize,
    /// The backend's name for the model. If absent, the client's name is sent, not the first backend's `rename`.
    pub rename: Option<String>,
}

/// An access key and its restrictions. An absent list restricts nothing.
#[derive(Debug, Clone)]
pub struct KeyConfig {
    pub name: String,
    /// The hash of the key. The key itself is not stored.
    pub hash: KeyHash,
    pub models: Option<Vec<String>>,
    pub backends: Option<Vec<String>>,
    /// The canonical directories whose worktrees are permitted.
    pub roots: Option<Vec<PathBuf>>,
    pub requests_per_minute: Option<u32>,
    /// Whether it may write, and is learned from.
    pub write: bool,
}

/// The budgets and limits of packs.
#[derive(Debug, Clone)]
pub struct ContextConfig {
    pub enabled: bool,
    pub deadline: Duration,
    pub tokens_with_tools: u32,
    pub tokens_without_tools: u32,
    pub tokens_per_conversation: u32,
    pub threshold: Option<f32>,
    pub holdout: f64,
    pub always: Vec<PathBuf>,
    pub never: Vec<PathBuf>,
}

impl ContextConfig {
    /// Applies the user's choice for one repository, whatever its own file says.
    pub(crate) fn choose_for(&mut self, root: &Path) {
        let is_in = |list: &[PathBuf]| list.iter().any(|path| path == root);
        if is_in(&self.never) {
            self.enabled = false;
        } else if is_in(&self.always) {
            self.threshold = Some(0.0);
        }
    }
}

/// The hooks of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HooksConfig {
    pub enabled: bool,
    pub deadline: Duration,
    /// The time without calls after which a daemon ends; zero if hooks start none.
    pub daemon_idle: Duration,
}

/// The limits of every request: sizes and times.
#[derive(Debug, Clone)]
pub struct LimitsConfig {
    pub body_bytes: usize,
    pub total_body_bytes: usize,
    pub connect_timeout: Duration,
    /// The timeout until the head of a backend's answer, connecting included. It is long because local prefill is slow.
    pub first_byte_timeout: Duration,
    pub stream_idle_timeout: Duration,
    pub circuit: CircuitConfig,
    pub header_timeout: Duration,
    pub idle_timeout: Duration,
    pub keep_alive: Duration,
    pub drain_timeout: Duration,
    pub ledger_days: u32,
    pub ledger_megabytes: u32,
}

/// The limits of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitConfig {
    pub failures: u32,
    pub cooldown: Duration,
    pub longest_cooldown: Duration,
}
