//! Configuration: the user's file, then the environment, then flags; and a repository's own, which may say far less.
//!
//! Two types for two jobs: `raw` is what a file says, [`Config`] is what holds once everything was read, checked and
//! filled in. All of it happens before a socket is bound, so that a wrong file never half-starts a server.
//! A repository is not trusted: its file may only touch `context` and `memory`, because whoever can make a user clone a
//! repository must not be able to choose where that user's prompts and keys go.

mod backends;
mod chosen;
pub mod env_vars;
mod explore;
mod files;
mod hosts;
mod keys;
mod memory;
pub mod paths;
mod raw;
#[cfg(test)]
mod reference;
mod resolve;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use chosen::ChosenModel;
pub use explore::{ExploreConfig, ExploreMode};
pub use files::ConfigError;
pub(crate) use files::nearest;
pub use hosts::HostPattern;
pub use keys::{NameError, check_name};
pub use memory::{EmbedderConfig, MemoryConfig, MemoryWrite, ReconcilerConfig, SummarizerConfig};
#[cfg(test)]
pub(crate) use resolve::tests::load_text;
pub use resolve::{Overrides, load, repository};

use crate::secrets::{KeyHash, Secret};
use crate::wire::WireFormat;

/// The names of backends that nobody has to configure: the two vendors, and the servers that are looked for on loopback.
pub(crate) const UNCONFIGURED: [&str; 6] = ["anthropic", "openai", "ollama", "vllm", "llama.cpp", "lmstudio"];

/// The configuration in force: valid, complete, with every default filled in.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// Where to listen; a loopback address unless there are keys.
    pub listen: SocketAddr,
    /// Names besides this machine's own that a `Host` header may have.
    pub allowed_hosts: Vec<HostPattern>,
    /// Directories, besides the served root, whose repositories may be served; canonical.
    pub roots: Vec<PathBuf>,
    /// Whether model servers on loopback are looked for when no backend is configured.
    pub discover: bool,
    /// Where requests may go, in the order of the file.
    pub backends: Vec<BackendConfig>,
    /// Which models go where, first match wins.
    pub routes: Vec<RouteConfig>,
    /// Who may ask; everybody where there are none.
    pub keys: Vec<KeyConfig>,
    /// What is packed.
    pub context: ContextConfig,
    /// What is written of sessions, and where.
    pub memory: MemoryConfig,
    /// The embedder of recall and of short code questions.
    pub embedder: EmbedderConfig,
    /// The model that sums conversations up; none does where absent.
    pub summarizer: Option<SummarizerConfig>,
    /// The model that settles what rules leave open when memory is reconciled, where the user names one.
    pub reconciler: Option<ReconcilerConfig>,
    /// When a model explores, and what it may spend.
    pub explore: ExploreConfig,
    /// Sizes and times.
    pub limits: LimitsConfig,
    /// Switches for tests.
    pub test: TestConfig,
}

/// One place that requests may be sent to.
#[derive(Debug, Clone)]
pub struct BackendConfig {
    /// The name that routes and logs use.
    pub name: String,
    /// Base address without a trailing slash and without `/v1`.
    pub url: String,
    /// The wire formats that it speaks; never empty.
    pub formats: Vec<WireFormat>,
    /// The backend's own key, read from an environment variable or a file.
    pub key: Option<Secret>,
    /// Whether the client's own credential is passed on to this host.
    pub client_credentials: bool,
    /// The model to ask for when nobody names one.
    pub default_model: Option<String>,
    /// The context window in tokens, where known.
    pub context_window: Option<u32>,
    /// What is tried, in this order, when it does not answer a request that came here without a route.
    pub fallbacks: Vec<FallbackConfig>,
    /// How often a request is sent here again after a failure that a moment may heal.
    pub retries: u32,
    /// How long its answer's head may take, connecting included.
    pub first_byte_timeout: Duration,
    /// How long its answer may pause.
    pub stream_idle_timeout: Duration,
    /// Whether it takes HTTP/2 from the first byte on, without TLS to agree on it.
    pub http2_prior_knowledge: bool,
}

impl BackendConfig {
    /// A backend about which nothing else is said.
    #[must_use]
    pub fn new(name: String, url: String, formats: Vec<WireFormat>, limits: &LimitsConfig) -> BackendConfig {
        BackendConfig {
            name,
            url,
            formats,
            key: None,
            client_credentials: false,
            default_model: None,
            context_window: None,
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
    /// A model name; `*` stands for any run of characters.
    pub model: String,
    /// Index into [`Config::backends`].
    pub backend: usize,
    /// The name under which the backend knows the model; a `*` stands for what the one in `model` stood for.
    pub rename: Option<String>,
    /// What is tried, in this order, when the backend does not answer.
    pub fallbacks: Vec<FallbackConfig>,
}

/// Another backend for the same request.
#[derive(Debug, Clone)]
pub struct FallbackConfig {
    /// Index into [`Config::backends`].
    pub backend: usize,
    /// The name under which it knows the model; the client's own where absent, whatever the first choice calls it.
    pub rename: Option<String>,
}

/// An access key: who holds it, and what it opens. A list that is absent restricts nothing.
#[derive(Debug, Clone)]
pub struct KeyConfig {
    /// The name that logs, receipts, metrics and the ledger use.
    pub name: String,
    /// All that is kept of the key.
    pub hash: KeyHash,
    /// Models that may be asked for; `*` stands for any run of characters.
    pub models: Option<Vec<String>>,
    /// Names of backends that its requests may go to.
    pub backends: Option<Vec<String>>,
    /// Directories whose worktrees it may see; canonical.
    pub roots: Option<Vec<PathBuf>>,
    /// How many requests it may make within any sixty seconds.
    pub requests_per_minute: Option<u32>,
}

/// What is packed into a prompt, and how much of it.
#[derive(Debug, Clone)]
pub struct ContextConfig {
    /// Whether anything new is added at all; replay goes on either way.
    pub enabled: bool,
    /// How long exploring may take on the path of a request.
    pub deadline: Duration,
    /// Token budget of one turn where the client sends tools.
    pub tokens_with_tools: u32,
    /// Token budget of one turn where it does not.
    pub tokens_without_tools: u32,
    /// Token budget of a whole conversation.
    pub tokens_per_conversation: u32,
    /// The score under which nothing is packed; the engine's own where absent.
    pub threshold: Option<f32>,
}

/// Sizes and times that bound every request.
#[derive(Debug, Clone)]
pub struct LimitsConfig {
    /// Largest request body, in bytes.
    pub body_bytes: usize,
    /// Bytes that the bodies of all requests may take together.
    pub total_body_bytes: usize,
    /// How long connecting to a backend may take.
    pub connect_timeout: Duration,
    /// How long the head of a backend's answer may take, connecting included. Long, because local prefill is slow.
    pub first_byte_timeout: Duration,
    /// How long a backend's answer may pause.
    pub stream_idle_timeout: Duration,
    /// When a backend that keeps failing is left alone.
    pub circuit: CircuitConfig,
    /// How long a client may take to send its request's head, or keep an idle connection.
    pub header_timeout: Duration,
    /// How long a client may pause inside its request's body.
    pub idle_timeout: Duration,
    /// How long a client hears nothing before it gets a sign of life.
    pub keep_alive: Duration,
    /// How long open streams may go on after SIGTERM.
    pub drain_timeout: Duration,
    /// Ledger rows unused for longer than this may go.
    pub ledger_days: u32,
    /// The ledger is trimmed, oldest use first, beyond this size in MB.
    pub ledger_megabytes: u32,
}

/// When a backend that keeps failing is left alone, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitConfig {
    /// Requests in a row that fail before it is; 0 never does.
    pub failures: u32,
    /// For how long at first. Each failed probe doubles it.
    pub cooldown: Duration,
    /// For how long at most.
    pub longest_cooldown: Duration,
}

/// Switches for the project's own tests.
#[derive(Debug, Clone)]
pub struct TestConfig {
    /// Ports to look for model servers on, instead of the well-known ones.
    pub discovery_ports: Option<Vec<u16>>,
}
