//! The environment variables that Muninn reads.
//!
//! The workspace reads no other variable by name, apart from those that a user's configuration names for a backend's
//! key (`key_env`). The HTTP and TLS libraries read `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` and
//! `SSL_CERT_FILE`.

/// Path of the user's configuration file. Default: `muninn.toml` in the user's configuration directory.
pub const CONFIG: &str = "MUNINN_CONFIG";
/// Address to listen on, such as `127.0.0.1:4747`. Overrides `listen`.
pub const LISTEN: &str = "MUNINN_LISTEN";
/// Directory whose repository is served. Default: the current directory.
pub const ROOT: &str = "MUNINN_ROOT";
/// Directory of the ledger, the receipts and live records. Default: `muninn` in the user's state directory.
pub const STATE_DIR: &str = "MUNINN_STATE_DIR";
/// Directory of personal memory. macrodata's variable.
pub const MACRODATA_ROOT: &str = "MACRODATA_ROOT";
/// Directory of models and of indexes for repositories without `.muninn/`. Default: `muninn` in the user's cache
/// directory.
pub const CACHE_DIR: &str = "MUNINN_CACHE_DIR";
/// URL of the package index from which `muninn model pull` fetches. Overrides `PIP_INDEX_URL`.
pub const PACKAGE_INDEX: &str = "MUNINN_PACKAGE_INDEX";
/// pip's variable for the URL of the package index. Used if `MUNINN_PACKAGE_INDEX` is not set.
pub const PIP_INDEX_URL: &str = "PIP_INDEX_URL";
/// Log filter, in the syntax of `tracing_subscriber::EnvFilter`, such as `debug` or `info,muninn_gateway=debug`.
/// Default: `info`.
pub const LOG: &str = "MUNINN_LOG";
/// Format of log lines: `text` or `json` (one object per line). Default: `text`.
pub const LOG_FORMAT: &str = "MUNINN_LOG_FORMAT";
/// Whether to look for model servers on loopback: `0`, `false` or `off` disables it. Overrides `discover`.
pub const DISCOVER: &str = "MUNINN_DISCOVER";
/// Claude Code's variable for the directory of the project. `muninn mcp` uses it instead of the current directory.
pub const CLAUDE_PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
/// Claude Code's variable for the session. Memories that `muninn mcp` writes belong to it.
pub const CLAUDE_CODE_SESSION_ID: &str = "CLAUDE_CODE_SESSION_ID";
/// Silences hooks if set. For agents that Muninn or a hook starts itself.
pub const REMINDER: &str = "MUNINN_REMINDER";
/// Address of the gateway that `muninn run` starts, for its child. A hook with it does nothing while that gateway runs.
pub const URL: &str = "MUNINN_URL";
/// Claude Code's address of its API. A hook does nothing if it names a gateway that runs on this machine.
pub const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// Codex's and opencode's address of their API, read like `ANTHROPIC_BASE_URL`.
pub const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
/// Directory of Codex's settings, as Codex reads it. A hook reads the addresses of the providers there, and `muninn
/// install codex` edits them. Default: `~/.codex`.
pub const CODEX_HOME: &str = "CODEX_HOME";
/// Directory of Claude Code's settings, as Claude Code reads it. Used by `muninn install claude-code`.
pub const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// Directories of programs. `muninn install` looks for the client's own command, and for its own place.
pub const PATH: &str = "PATH";
/// Disables colours if set.
pub const NO_COLOR: &str = "NO_COLOR";

/// The proxy variables for plain HTTP, read to decide whether a direct connection is allowed.
pub const HTTP_PROXIES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
