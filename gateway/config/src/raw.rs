//! The configuration files as written: unknown keys are refused, values are not interpreted.
//!
//! Larger sections are beside their resolved form, such as [`super::explore`]. [`super::resolve`] checks the values and
//! fills in the defaults: after the types of the whole file, so that an error of a type is reported first. The comments
//! on the fields are user documentation: `docs/reference/configuration.md` is generated from them (see `reference.rs`).

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
#[cfg(test)]
use serde::Serialize;

use super::explore::Explore;
use super::journal::Journal;
use super::memory::{Memory, RepositoryMemory};
use super::personal::Personal;
use super::wiki::Wiki;

/// The user's file, `muninn.toml`. `muninn config check` prints its path.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct UserFile {
    /// Address and port of the gateway. An address other than loopback requires at least one entry in `[[keys]]`.
    pub(crate) listen: Option<String>,
    /// Host names that the `Host` header of a request may contain, besides this machine's own: `muninn.example`,
    /// `muninn.example:8443`, `*.internal`. Needed behind a reverse proxy that keeps the client's `Host`.
    pub(crate) allowed_hosts: Option<Vec<String>>,
    /// Directories whose repositories are served in addition to the repository in which the gateway starts.
    pub(crate) roots: Option<Vec<String>>,
    /// Whether to look for model servers on loopback. Applies only while `[[backends]]` is empty.
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
    pub(crate) mcp: Mcp,
    #[serde(default)]
    pub(crate) hooks: Hooks,
    #[serde(default)]
    pub(crate) wiki: Wiki,
    #[serde(default)]
    pub(crate) journal: Journal,
    #[serde(default)]
    pub(crate) worklog: Worklog,
    #[serde(default)]
    pub(crate) personal: Personal,
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    #[cfg_attr(test, serde(skip_serializing), schemars(skip))]
    pub(crate) test: Test,
}

/// A repository's file, `.muninn/config.toml`. It can set context, memory, and whether git tracks the worklog; nothing else.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryFile {
    #[serde(default)]
    pub(crate) context: Context,
    #[serde(default)]
    pub(crate) memory: RepositoryMemory,
    #[serde(default)]
    pub(crate) worklog: RepositoryWorklog,
}

/// The Model Context Protocol.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Mcp {
    /// Names of tools, and of the sets `code`, `memory`, `wiki`, `journal`, `worklog` and `personal`. Default: `find_context`, `definition`, `references`,
    /// `callers`, `recall` and `remember`.
    pub(crate) tools: Option<Vec<String>>,
    /// Whether `muninn serve` answers at `/mcp`.
    pub(crate) http: Option<bool>,
    /// Whether tools that write are offered at `/mcp`: `remember`, `forget`, and those that change pages, journals and
    /// worklogs. `muninn mcp` has them in any case; `--tools` chooses them.
    pub(crate) write: Option<bool>,
}

/// A server that answers requests. Repeat the section for each server. If there is none, Muninn chooses a backend
/// itself.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Backend {
    /// Unique name, used by routes, keys, receipts and logs. `muninn` is reserved.
    pub(crate) name: String,
    /// Address with `http://` or `https://`, without credentials. With or without `/v1`, or as the vendor prints it; `muninn config check` prints what is asked.
    pub(crate) url: String,
    /// Wire formats that the server accepts: `chat`, `messages`, `responses`, `openai` (chat and responses) or
    /// `anthropic` (messages); one of them or a list.
    pub(crate) dialect: OneOrMany,
    /// Environment variable that holds the backend's key. Excludes `key_file` and `api_keys`.
    pub(crate) key_env: Option<String>,
    /// File that holds the backend's key. Excludes `key_env` and `api_keys`.
    pub(crate) key_file: Option<String>,
    /// Several keys of the backend, each `{ env = "..." }` or `{ file = "..." }`. Conversations are shared out between them, and
    /// each stays with its key. Excludes `key_env` and `key_file`.
    #[serde(default)]
    pub(crate) api_keys: Vec<ApiKey>,
    /// Whether the client's own credential is forwarded to this host.
    pub(crate) client_credentials: Option<bool>,
    /// Model that `muninn ask` requests. Requests for this model go to this backend if no route matches.
    pub(crate) default_model: Option<String>,
    /// Context window of the model in tokens. Muninn adds at most a fifth of it in one turn.
    pub(crate) context_window: Option<u32>,
    /// Prices of the server's tokens, relative to an input token that is not cached. They decide how long a map is.
    pub(crate) prices: Option<Prices>,
    /// Backends to try in this order if this backend gives no answer. Applies to requests that matched no route. Each
    /// entry is a backend name or `{ backend = "...", rename = "..." }`.
    #[serde(default)]
    pub(crate) fallbacks: Vec<Fallback>,
    /// Retries before the first fallback.
    pub(crate) retries: Option<u32>,
    /// Timeout until the head of the answer, connecting included. Overrides `limits.first_byte_timeout_ms`.
    pub(crate) first_byte_timeout_ms: Option<u64>,
    /// Whether to speak HTTP/2 over plain `http://`. Over `https://` HTTP/2 is negotiated.
    pub(crate) http2_prior_knowledge: Option<bool>,
}

/// Where one of several keys is.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum ApiKey {
    /// An environment variable that holds it.
    Env(String),
    /// A file that holds it.
    File(String),
}

/// `prices = { cache_write = 1.25, cache_write_1h = 2.0, cached_read = 0.1, output = 5.0 }`, each at least 0.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    /// An input token that is written to the prefix cache.
    pub(crate) cache_write: Option<f32>,
    /// The same where the cache lives for an hour: the request asks for it, or the usage of an earlier answer says so.
    pub(crate) cache_write_1h: Option<f32>,
    /// An input token that is read from the prefix cache.
    pub(crate) cached_read: Option<f32>,
    /// An output token.
    pub(crate) output: Option<f32>,
}

/// `dialect = "openai"`, or `dialect = ["chat", "messages"]` for a server that accepts several formats.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(untagged, expecting = "`dialect` is a name, or a list of names")]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A rule that sends models to a backend. The first matching rule decides.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Route {
    /// Model name to match. `*` matches any characters.
    pub(crate) model: String,
    /// Name of the backend.
    pub(crate) backend: String,
    /// Model name to send to the backend. A `*` is replaced by the text that the corresponding `*` of `model` matched.
    pub(crate) rename: Option<String>,
    /// Backends to try in this order if the backend gives no answer. Each entry is a backend name or
    /// `{ backend = "...", rename = "..." }`. Without `rename`, a fallback is sent the client's model name.
    #[serde(default)]
    pub(crate) fallbacks: Vec<Fallback>,
}

/// `"other"`, or `{ backend = "other", rename = "its-name-there" }`.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(untagged, expecting = "a fallback is a backend's name, or { backend = \"...\", rename = \"...\" }")]
pub(crate) enum Fallback {
    Name(String),
    Renamed(RenamedFallback),
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RenamedFallback {
    pub(crate) backend: String,
    pub(crate) rename: Option<String>,
}

/// An access key. With at least one key, every request needs a key. `muninn key new NAME` prints the entry.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Key {
    /// Unique name, used by logs, receipts, metrics and the ledger. At most 64 bytes.
    pub(crate) name: String,
    /// Hash of the key: `blake3:` and 64 hexadecimal digits.
    pub(crate) hash: String,
    /// Models that the key may request; `*` matches any characters. Absent: all models.
    pub(crate) models: Option<Vec<String>>,
    /// Names of the backends that the key may use. Absent: all backends.
    pub(crate) backends: Option<Vec<String>>,
    /// Directories whose repositories the key may see. Absent: all served repositories.
    pub(crate) roots: Option<Vec<String>>,
    /// Largest number of requests in any 60 seconds, at most 100,000. Absent: no limit.
    pub(crate) requests_per_minute: Option<u32>,
    /// Whether the key may use tools that write and change the wiki, and whether records are made of its conversations.
    pub(crate) write: Option<bool>,
}

/// Context in prompts. A repository's `.muninn/config.toml` can set this section too: it can lower the budgets and the
/// deadline, disable context, and raise the threshold.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    /// Whether new packs are added. Blocks of earlier turns are replayed in either case.
    pub(crate) enabled: Option<bool>,
    /// Time for finding context before the request is forwarded without it.
    pub(crate) deadline_ms: Option<u64>,
    /// Token budget of one turn if the request contains tools. A map of places rarely needs a quarter of the default.
    pub(crate) tokens_with_tools: Option<u32>,
    /// Token budget of one turn if the request contains no tools.
    pub(crate) tokens_without_tools: Option<u32>,
    /// Token budget of a whole conversation.
    pub(crate) tokens_per_conversation: Option<u32>,
    /// Lowest confidence at which a pack is added, from 0 (always) to 1 (never). Absent: the engine's own thresholds.
    pub(crate) threshold: Option<f32>,
    /// Share of the conversations, from 0 to 1, that go without context, so that `muninn stats` can compare the two groups.
    /// Only in the user's file.
    pub(crate) holdout: Option<f64>,
    /// Directories of repositories in which every question gets context. Only in the user's file.
    #[serde(default)]
    pub(crate) always: Vec<String>,
    /// Directories of repositories in which no question gets context. Only in the user's file.
    #[serde(default)]
    pub(crate) never: Vec<String>,
}

/// The hooks of coding agents that do not send their requests through Muninn.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Hooks {
    /// Whether hooks do anything.
    pub(crate) enabled: Option<bool>,
    /// Time after which a hook gives up, and a prompt passes without context.
    pub(crate) deadline_ms: Option<u64>,
    /// Time without calls after which the daemon ends, which the first hook or MCP call starts. 0 starts none: each
    /// process opens the repository itself.
    pub(crate) daemon_idle_minutes: Option<u64>,
}

/// The worklog: `JOURNAL.md` in the root of each worktree that was set up with `muninn init`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Worklog {
    /// Whether sessions write one, and read its end first.
    pub(crate) enabled: Option<bool>,
    /// Whether git tracks it. Otherwise it is added to `.git/info/exclude`.
    pub(crate) track: Option<bool>,
}

/// The worklog of a repository.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryWorklog {
    /// Whether git tracks `JOURNAL.md`. Otherwise it is added to `.git/info/exclude`.
    pub(crate) track: Option<bool>,
}

/// Sizes and times that bound every request.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// Largest request body in bytes, decoded.
    pub(crate) body_bytes: Option<usize>,
    /// Limit on the total size of all request bodies that are held at once, in bytes. Requests beyond it get a 503 with `retry-after`.
    pub(crate) total_body_bytes: Option<usize>,
    /// Timeout for connecting to a backend.
    pub(crate) connect_timeout_ms: Option<u64>,
    /// Timeout until the head of a backend's answer, connecting included.
    pub(crate) first_byte_timeout_ms: Option<u64>,
    /// Longest pause inside a backend's answer.
    pub(crate) stream_idle_timeout_ms: Option<u64>,
    /// Failed requests in a row that open a backend's circuit breaker; 0 disables it.
    pub(crate) circuit_failures: Option<u32>,
    /// Time for which a circuit breaker stays open at first. Each failed probe doubles it.
    pub(crate) circuit_cooldown_ms: Option<u64>,
    /// Longest time for which a circuit breaker stays open.
    pub(crate) circuit_cooldown_max_ms: Option<u64>,
    /// Timeout for the head of a client's request, and for an idle client connection.
    pub(crate) header_timeout_ms: Option<u64>,
    /// Longest pause inside the body of a client's request.
    pub(crate) idle_timeout_ms: Option<u64>,
    /// Silence towards the client after which a stream gets a ping or a comment.
    pub(crate) keep_alive_ms: Option<u64>,
    /// Time that open streams get after SIGTERM.
    pub(crate) drain_timeout_ms: Option<u64>,
    /// Days since last use after which a ledger row may be deleted.
    pub(crate) ledger_days: Option<u32>,
    /// Size of the ledger in MB beyond which the rows used longest ago are deleted.
    pub(crate) ledger_megabytes: Option<u32>,
}

/// Switches for the project's own tests.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    pub(crate) discovery_ports: Option<Vec<u16>>,
}
