//! Configuration as written: what the TOML files may say, with unknown keys refused.
//!
//! These types only mirror the files. What they mean is decided once, in [`super::resolve`].

use serde::Deserialize;

/// The user's `muninn.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserFile {
    pub(crate) listen: Option<String>,
    pub(crate) allowed_hosts: Option<Vec<String>>,
    pub(crate) roots: Option<Vec<String>>,
    pub(crate) discover: Option<bool>,
    #[serde(default)]
    pub(crate) backends: Vec<Backend>,
    #[serde(default)]
    pub(crate) routes: Vec<Route>,
    #[serde(default)]
    pub(crate) keys: Vec<Key>,
    #[serde(default)]
    pub(crate) context: Context,
    #[serde(default)]
    pub(crate) memory: Memory,
    #[serde(default)]
    pub(crate) explore: Explore,
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) test: Test,
}

/// A repository's `.muninn/config.toml`: what is packed and what is remembered, nothing else.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryFile {
    #[serde(default)]
    pub(crate) context: Context,
    #[serde(default)]
    pub(crate) memory: RepositoryMemory,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backend {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) dialect: OneOrMany,
    pub(crate) key_env: Option<String>,
    pub(crate) key_file: Option<String>,
    pub(crate) client_credentials: Option<bool>,
    pub(crate) default_model: Option<String>,
    pub(crate) context_window: Option<u32>,
    #[serde(default)]
    pub(crate) fallbacks: Vec<Fallback>,
    pub(crate) retries: Option<u32>,
    pub(crate) first_byte_timeout_ms: Option<u64>,
    pub(crate) http2_prior_knowledge: Option<bool>,
}

/// `dialect = "openai"`, or `dialect = ["chat", "messages"]` for a server that speaks several formats.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Route {
    pub(crate) model: String,
    pub(crate) backend: String,
    pub(crate) rename: Option<String>,
    #[serde(default)]
    pub(crate) fallbacks: Vec<Fallback>,
}

/// `"other"`, or `{ backend = "other", rename = "its-name-there" }`.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "a fallback is a backend's name, or { backend = \"...\", rename = \"...\" }"
)]
pub(crate) enum Fallback {
    Name(String),
    Renamed(RenamedFallback),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenamedFallback {
    pub(crate) backend: String,
    pub(crate) rename: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) models: Option<Vec<String>>,
    pub(crate) backends: Option<Vec<String>>,
    pub(crate) roots: Option<Vec<String>>,
    pub(crate) requests_per_minute: Option<u32>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    pub(crate) enabled: Option<bool>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) tokens_with_tools: Option<u32>,
    pub(crate) tokens_without_tools: Option<u32>,
    pub(crate) tokens_per_conversation: Option<u32>,
    pub(crate) threshold: Option<f32>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    pub(crate) write: Option<String>,
    pub(crate) record: Option<String>,
    pub(crate) sync: Option<String>,
    pub(crate) default_branch: Option<String>,
    pub(crate) on_default_branch: Option<String>,
    pub(crate) idle_ms: Option<u64>,
    pub(crate) max_main_bytes: Option<u64>,
    pub(crate) embedder: Option<Embedder>,
    pub(crate) summarizer: Option<Summarizer>,
    pub(crate) reconciler: Option<Reconciler>,
}

/// The embedder of recall and of short code questions. Not a repository's to choose: one of a backend is sent the
/// repository's text.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Embedder {
    pub(crate) model: Option<EmbedderModel>,
}

/// `"static"`, `"minilm"`, or `{ backend = "local", model = "nomic-embed-text" }`.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "an embedder is \"static\", \"minilm\", or { backend = \"...\", model = \"...\" }"
)]
pub(crate) enum EmbedderModel {
    Name(String),
    Backend(BackendEmbedder),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackendEmbedder {
    pub(crate) backend: Option<String>,
    pub(crate) model: Option<String>,
}

/// Summing up with a model. Not a repository's to say: it sends what was said to a backend, and costs money.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Summarizer {
    pub(crate) backend: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) daily_tokens: Option<u32>,
    pub(crate) max_answer_tokens: Option<u32>,
}

/// Reconciling with a model. Not a repository's to say, for the same reasons.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reconciler {
    pub(crate) backend: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) run_tokens: Option<u32>,
    pub(crate) max_answer_tokens: Option<u32>,
    pub(crate) answer_timeout_ms: Option<u64>,
}

/// What a repository may say about memory. Whether the words of prompts are kept is not for it to decide.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryMemory {
    pub(crate) write: Option<String>,
    pub(crate) max_main_bytes: Option<u64>,
    pub(crate) default_branch: Option<String>,
}

/// Exploring with a model. Not a repository's to say: it sends requests, and they cost money.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explore {
    pub(crate) mode: Option<String>,
    pub(crate) backend: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) tokens: Option<u32>,
    pub(crate) calls: Option<u32>,
    pub(crate) depth: Option<u32>,
    pub(crate) turns: Option<u32>,
    pub(crate) pack_tokens: Option<u32>,
    pub(crate) max_answer_tokens: Option<u32>,
    pub(crate) tool_choice: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) body_bytes: Option<usize>,
    pub(crate) total_body_bytes: Option<usize>,
    pub(crate) connect_timeout_ms: Option<u64>,
    pub(crate) first_byte_timeout_ms: Option<u64>,
    pub(crate) stream_idle_timeout_ms: Option<u64>,
    pub(crate) circuit_failures: Option<u32>,
    pub(crate) circuit_cooldown_ms: Option<u64>,
    pub(crate) circuit_cooldown_max_ms: Option<u64>,
    pub(crate) header_timeout_ms: Option<u64>,
    pub(crate) idle_timeout_ms: Option<u64>,
    pub(crate) keep_alive_ms: Option<u64>,
    pub(crate) drain_timeout_ms: Option<u64>,
    pub(crate) ledger_days: Option<u32>,
    pub(crate) ledger_megabytes: Option<u32>,
}

/// Switches for the project's own tests.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    pub(crate) discovery_ports: Option<Vec<u16>>,
}
