//! The configuration files as written: unknown keys are refused, values are not interpreted.
//!
//! [`super::resolve`] checks the values and fills in the defaults. The comments on the fields are user documentation:
//! `docs/reference/configuration.md` is generated from them (see `reference.rs`).

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
#[cfg(test)]
use serde::Serialize;

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
}

/// A server that answers requests. Repeat the section for each server. If there is none, Muninn chooses a backend
/// itself.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Backend {
    /// Unique name, used by routes, keys, receipts and logs. `muninn` is reserved.
    pub(crate) name: String,
    /// Base address with `http://` or `https://`, without `/v1`, query or credentials.
    pub(crate) url: String,
    /// Wire formats that the server accepts: `chat`, `messages`, `responses`, `openai` (chat and responses) or
    /// `anthropic` (messages); one of them or a list.
    pub(crate) dialect: OneOrMany,
    /// Environment variable that holds the backend's key. Excludes `key_file`.
    pub(crate) key_env: Option<String>,
    /// File that holds the backend's key. Excludes `key_env`.
    pub(crate) key_file: Option<String>,
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

/// `prices = { cache_write = 1.25, cached_read = 0.1, output = 5.0 }`, each at least 0.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    /// An input token that is written to the prefix cache.
    pub(crate) cache_write: Option<f32>,
    /// An input token that is read from the prefix cache.
    pub(crate) cached_read: Option<f32>,
    /// An output token.
    pub(crate) output: Option<f32>,
}

/// `dialect = "openai"`, or `dialect = ["chat", "messages"]` for a server that accepts several formats.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(untagged)]
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
}

/// Session memory: recording, its location, and the records that recall reads.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    /// Where records are written: `local` (state directory), `repo` (`.muninn/memory/sessions/`) or `off`.
    pub(crate) write: Option<String>,
    /// Recorded part of a question: `terms` (only words that the repository itself contains) or `text`, with stated
    /// decisions.
    pub(crate) record: Option<String>,
    /// When records are flushed to disk with fsync: `segment` (with the finished segment) or `append` (each record).
    pub(crate) sync: Option<String>,
    /// Name of the default branch. Absent: `HEAD` of `origin`, else `init.defaultBranch`, `main` or `master`.
    pub(crate) default_branch: Option<String>,
    /// Sessions that recall reads on the default branch besides main memory: `own`, `all` or `main` (none).
    pub(crate) on_default_branch: Option<String>,
    /// Time without a request after which a conversation counts as finished.
    pub(crate) idle_ms: Option<u64>,
    /// Size of `main.jsonl` in bytes that `muninn reconcile --prune` enforces.
    pub(crate) max_main_bytes: Option<u64>,
    pub(crate) embedder: Option<Embedder>,
    pub(crate) summarizer: Option<Summarizer>,
    pub(crate) reconciler: Option<Reconciler>,
}

/// The embedder whose vectors recall and short code questions use.
// Not in a repository's file: an embedder of a backend is sent the repository's text.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Embedder {
    /// `"static"` (compiled in), `"minilm"` (fetched by `muninn model pull`), or a model of a backend's
    /// `/v1/embeddings`: `{ backend = "local", model = "nomic-embed-text" }`.
    pub(crate) model: Option<EmbedderModel>,
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(untagged, expecting = "an embedder is \"static\", \"minilm\", or { backend = \"...\", model = \"...\" }")]
pub(crate) enum EmbedderModel {
    Name(String),
    Backend(BackendEmbedder),
}

#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BackendEmbedder {
    pub(crate) backend: Option<String>,
    pub(crate) model: Option<String>,
}

/// A model that summarizes finished conversations. Without this section no model is called.
// Not in a repository's file: it sends conversations to a backend, and costs money.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Summarizer {
    /// Name of the backend. Required.
    pub(crate) backend: Option<String>,
    /// Name of the model. Required.
    pub(crate) model: Option<String>,
    /// Tokens per day (UTC), prompts and answers together, over all gateways that share the state directory.
    pub(crate) daily_tokens: Option<u32>,
    /// Largest answer in tokens.
    pub(crate) max_answer_tokens: Option<u32>,
}

/// A model that decides pairs of memories which the rules of `muninn reconcile` leave open. Without this section no
/// model is called.
// Not in a repository's file, for the same reasons.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Reconciler {
    /// Name of the backend. Required.
    pub(crate) backend: Option<String>,
    /// Name of the model. Required.
    pub(crate) model: Option<String>,
    /// Tokens per run, prompts and answers together.
    pub(crate) run_tokens: Option<u32>,
    /// Largest answer in tokens.
    pub(crate) max_answer_tokens: Option<u32>,
    /// Timeout of one answer. After a timeout the run continues without the model.
    pub(crate) answer_timeout_ms: Option<u64>,
}

/// The `[memory]` section of a repository's file.
// Whether the words of prompts are kept is not for a repository to decide.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryMemory {
    /// As in the user's file. `off` in the user's file wins.
    pub(crate) write: Option<String>,
    /// As in the user's file.
    pub(crate) max_main_bytes: Option<u64>,
    /// As in the user's file.
    pub(crate) default_branch: Option<String>,
}

/// Exploring with a model (the deep lane).
// Not in a repository's file: it sends requests, and they cost money.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Explore {
    /// When a model explores if the request does not ask for it: `off`, `background` (each question, for the next
    /// turn), `auto` (questions with weak ranking results, for the next turn) or `inline` (each question, which waits).
    pub(crate) mode: Option<String>,
    /// Backend of the explorer. Absent: the request's own. Required for `background` and `auto`.
    pub(crate) backend: Option<String>,
    /// Model of the explorer. Absent: the request's own. Required for `background` and `auto`.
    pub(crate) model: Option<String>,
    /// Time budget of one exploration, its child explorations included.
    pub(crate) deadline_ms: Option<u64>,
    /// Token budget of one exploration, prompts and answers of all turns together.
    pub(crate) tokens: Option<u32>,
    /// Tool calls of one exploration.
    pub(crate) calls: Option<u32>,
    /// Nesting depth of child explorations; 0 disables them.
    pub(crate) depth: Option<u32>,
    /// Turns of one exploration.
    pub(crate) turns: Option<u32>,
    /// Token budget for places that the explorer cited, in addition to the budget in `[context]`.
    pub(crate) pack_tokens: Option<u32>,
    /// Largest answer of one turn in tokens.
    pub(crate) max_answer_tokens: Option<u32>,
    /// `auto`, or `required` to force tool calls. Some servers refuse `required`.
    pub(crate) tool_choice: Option<String>,
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

/// The team's wiki: linked Markdown pages.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Wiki {
    /// Folder of the pages. A relative path is below the root of each repository.
    pub(crate) path: Option<String>,
    /// Which half of `[[a|b]]` is the target: `obsidian` (the first), `mind-map` (the second) or `auto` (the one that
    /// names a page).
    pub(crate) link_style: Option<String>,
    /// When a conversation begins with the digest: `auto` (if the wiki has at least five pages), `always` or `never`.
    pub(crate) digest_in_prompt: Option<String>,
    #[serde(default)]
    pub(crate) digest: WikiDigest,
}

/// The digest of the wiki.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct WikiDigest {
    /// Number of terms.
    pub(crate) cloud_size: Option<usize>,
    /// Number of recently used pages.
    pub(crate) recents_size: Option<usize>,
    /// Pause between two countings of the terms of a wiki that changes, such as `5m`; at least `30s`.
    pub(crate) cloud_refresh: Option<String>,
    /// Words that are no terms, besides the stop words of the wiki's languages.
    pub(crate) stopwords_extra: Option<Vec<String>>,
    /// Size above which the digest is trimmed, in bytes. 0 or less: no trimming.
    pub(crate) max_render_bytes: Option<i64>,
}

/// The git journal: sections whose entries are commits.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// Repository of its own, bare or not, made if it is missing. Default: the ref `refs/muninn/journal` of each repository.
    pub(crate) path: Option<String>,
    /// Author of entries, `NAME <ADDRESS>`. Default: that of git's configuration.
    pub(crate) author: Option<String>,
    /// Whether a write is refused if any section has changed since its writer read one, not only the section that it writes.
    pub(crate) strict: Option<bool>,
    /// Whether `git gc --auto` packs a repository of its own in the background. In the user's repository nothing runs.
    pub(crate) auto_gc: Option<bool>,
    /// Backend of `model`. Default: no model merges overviews.
    pub(crate) backend: Option<String>,
    /// Model that merges two overviews of a section when it is asked to.
    pub(crate) model: Option<String>,
    /// Most tokens of the merged overview.
    pub(crate) max_answer_tokens: Option<u32>,
    #[serde(default)]
    pub(crate) search: JournalSearch,
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

/// Personal memory: files of one person, outside of every repository.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Personal {
    /// Whether it is used at all.
    pub(crate) enabled: Option<bool>,
    /// Its directory. Default: `$MACRODATA_ROOT`, else `root` in `~/.config/macrodata/config.json`, else `~/.config/macrodata` if
    /// it exists, else `muninn/personal` in the user's data directory.
    pub(crate) path: Option<String>,
    /// Address of the git repository to which versions of it are pushed, or an absolute path. A remote that a file in the
    /// directory names is not used. Default: nothing is pushed.
    pub(crate) git_remote: Option<String>,
    /// Name of the owner's access key. Requests with other keys get nothing of it. Default: no key; your own programs get it if there are no keys.
    pub(crate) key: Option<String>,
    /// Most tokens of journal entries and entities that a question gets. 0: none.
    pub(crate) max_tokens: Option<u32>,
    /// Whether events of your own sessions are logged: starts and ends, searches, injections, files, errors, reminders.
    pub(crate) signals: Option<bool>,
    /// Days for which signals are kept.
    pub(crate) signals_days: Option<u32>,
    /// Agents that reminders may run, by their names.
    #[serde(default)]
    pub(crate) agents: BTreeMap<String, PersonalAgent>,
}

/// An agent that reminders may run.
#[derive(Debug, Default, Clone, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PersonalAgent {
    /// Whether it may run at all.
    pub(crate) enabled: Option<bool>,
    /// Whether reminders that an agent made with a tool may run it, too.
    pub(crate) allow_from_tools: Option<bool>,
    /// Its program's arguments: `claude`, `codex` or `opencode`. Default: the name.
    pub(crate) client: Option<String>,
    /// The program: a name on the PATH, or an absolute path. Default: the client's name.
    pub(crate) program: Option<String>,
    /// The model. Default: the client's.
    pub(crate) model: Option<String>,
    /// Tools that it may use without asking (claude).
    pub(crate) allowed_tools: Option<Vec<String>>,
    /// Its permission mode (claude: `dontAsk` by default) or sandbox (codex: `read-only` by default).
    pub(crate) permission_mode: Option<String>,
    /// Most turns of a run (claude).
    pub(crate) max_turns: Option<u32>,
    /// Most dollars of a run (claude).
    pub(crate) max_budget_usd: Option<f64>,
    /// Seconds after which a run is ended, unless the reminder says otherwise.
    pub(crate) timeout_seconds: Option<u64>,
    /// Most runs of a reminder in an hour, unless the reminder says otherwise.
    pub(crate) max_runs_per_hour: Option<u32>,
    /// Variables of the environment that it gets beside the usual ones, such as `ANTHROPIC_API_KEY`.
    pub(crate) environment: Option<Vec<String>>,
}

/// The worklog of a repository.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RepositoryWorklog {
    /// Whether git tracks `JOURNAL.md`. Otherwise it is added to `.git/info/exclude`.
    pub(crate) track: Option<bool>,
}

/// The search of the git journal.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(Serialize, JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalSearch {
    /// Most results.
    pub(crate) max_results: Option<usize>,
    /// Score that a new entry needs, from 0 to 1.
    pub(crate) default_salience_threshold: Option<f32>,
    /// Days after which the salience of an entry is half as large: an old entry needs a better match.
    pub(crate) half_life_days: Option<f64>,
    /// Least salience, from 0 to 1.
    pub(crate) minimum_salience: Option<f64>,
    /// Weight of the context of the work.
    pub(crate) context_weight: Option<f32>,
    /// Weight of the content.
    pub(crate) content_weight: Option<f32>,
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
