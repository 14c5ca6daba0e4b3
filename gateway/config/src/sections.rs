use std::path::PathBuf;
use std::time::Duration;

use muninn_context_engine::value::Prices;
use muninn_wire::WireFormat;

use crate::secrets::{KeyHash, Secret};

/// The names of backends without configuration: the two vendors, and the servers of discovery.
pub const UNCONFIGURED: [&str; 6] = ["anthropic", "openai", "ollama", "vllm", "llama.cpp", "lmstudio"];

/// The tools that the Model Context Protocol server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpConfig {
    /// The names of tools and of sets of tools; empty for the default ones.
    pub tools: Vec<String>,
    /// Whether the gateway answers at `/mcp`.
    pub http: bool,
}

#[derive(Debug, Clone)]
pub struct BackendConfig {
    /// The name, used by routes and logs.
    pub name: String,
    /// The base address without a trailing slash and without `/v1`.
    pub url: String,
    /// The wire formats that it accepts. Never empty.
    pub formats: Vec<WireFormat>,
    /// The backend's own key, read from an environment variable or a file.
    pub key: Option<Secret>,
    /// Whether the client's own credential is forwarded to this host.
    pub client_credentials: bool,
    /// The model to request if no model is named.
    pub default_model: Option<String>,
    /// The context window in tokens, if known.
    pub context_window: Option<u32>,
    /// The prices of its tokens.
    pub prices: Prices,
    /// The fallbacks of requests that matched no route, in the order of trying.
    pub fallbacks: Vec<FallbackConfig>,
    /// The most retries after transient failures.
    pub retries: u32,
    /// The timeout until the head of the answer, connecting included.
    pub first_byte_timeout: Duration,
    /// The longest pause inside the answer.
    pub stream_idle_timeout: Duration,
    /// Whether it speaks HTTP/2 without TLS and without negotiation.
    pub http2_prior_knowledge: bool,
}

impl BackendConfig {
    /// Creates a backend with defaults for everything else.
    pub fn new(name: String, url: String, formats: Vec<WireFormat>, limits: &LimitsConfig) -> BackendConfig {
        BackendConfig {
            name,
            url,
            formats,
            key: None,
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
    /// The pattern of a model name. `*` matches any characters.
    pub model: String,
    /// Index into `Config::backends`.
    pub backend: usize,
    /// The backend's name for the model. A `*` is replaced by the text that the `*` at its position in `model` matched.
    pub rename: Option<String>,
    /// The fallbacks, in the order of trying.
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
    /// The name, used by logs, receipts, metrics and the ledger.
    pub name: String,
    /// The hash of the key. The key itself is not stored.
    pub hash: KeyHash,
    /// The permitted models. `*` matches any characters.
    pub models: Option<Vec<String>>,
    /// The names of the permitted backends.
    pub backends: Option<Vec<String>>,
    /// The canonical directories whose worktrees are permitted.
    pub roots: Option<Vec<PathBuf>>,
    /// The most requests within any 60 seconds.
    pub requests_per_minute: Option<u32>,
}

/// The budgets and limits of packs.
#[derive(Debug, Clone)]
pub struct ContextConfig {
    /// Whether new packs are added. Earlier blocks are replayed in either case.
    pub enabled: bool,
    /// The time for finding context while a request waits.
    pub deadline: Duration,
    /// The token budget of one turn if the request has tools.
    pub tokens_with_tools: u32,
    /// The token budget of one turn if the request has no tools.
    pub tokens_without_tools: u32,
    /// The token budget of a whole conversation.
    pub tokens_per_conversation: u32,
    /// The score below which nothing is packed. If absent, the engine's own thresholds apply.
    pub threshold: Option<f32>,
}

/// The hooks of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HooksConfig {
    /// Whether hooks do anything.
    pub enabled: bool,
    /// The time after which a hook gives up.
    pub deadline: Duration,
    /// The time without calls after which a daemon ends; zero if hooks start none.
    pub daemon_idle: Duration,
}

/// The limits of every request: sizes and times.
#[derive(Debug, Clone)]
pub struct LimitsConfig {
    /// The largest request body in bytes.
    pub body_bytes: usize,
    /// The largest total of all request bodies in bytes.
    pub total_body_bytes: usize,
    /// The timeout for connecting to a backend.
    pub connect_timeout: Duration,
    /// The timeout until the head of a backend's answer, connecting included. It is long because local prefill is slow.
    pub first_byte_timeout: Duration,
    /// The longest pause inside a backend's answer.
    pub stream_idle_timeout: Duration,
    /// The limits of circuit breakers.
    pub circuit: CircuitConfig,
    /// The timeout for the head of a client's request, and for an idle client connection.
    pub header_timeout: Duration,
    /// The longest pause inside the body of a client's request.
    pub idle_timeout: Duration,
    /// The silence after which a stream to a client gets a ping or a comment.
    pub keep_alive: Duration,
    /// The time that open streams get after SIGTERM.
    pub drain_timeout: Duration,
    /// The days since last use after which a ledger row may be deleted.
    pub ledger_days: u32,
    /// The size in MB beyond which the ledger's least recently used rows are deleted.
    pub ledger_megabytes: u32,
}

/// The limits of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitConfig {
    /// The failures in a row that open it; 0 disables it.
    pub failures: u32,
    /// The time for which it stays open at first. Each failed probe doubles it.
    pub cooldown: Duration,
    /// The longest time for which it stays open.
    pub longest_cooldown: Duration,
}
