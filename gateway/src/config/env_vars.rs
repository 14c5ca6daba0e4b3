//! Every environment variable that Muninn reads, in one place.
//!
//! Nothing else in the workspace reads the environment by name, apart from the variables that a user's own configuration
//! names as the place of a backend's key. `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` and `SSL_CERT_FILE` are
//! honoured by the HTTP and TLS libraries.

/// The user's configuration file; default `muninn.toml` in the user's configuration directory.
pub const CONFIG: &str = "MUNINN_CONFIG";
/// The address to listen on, for instance `127.0.0.1:4747`.
pub const LISTEN: &str = "MUNINN_LISTEN";
/// The directory whose repository is served.
pub const ROOT: &str = "MUNINN_ROOT";
/// Where ledger and receipts live; default `muninn` in the user's state directory.
pub const STATE_DIR: &str = "MUNINN_STATE_DIR";
/// Where indexes of repositories without `.muninn/` live; default `muninn` in the user's cache directory.
pub const CACHE_DIR: &str = "MUNINN_CACHE_DIR";
/// The package index that models are fetched from, its address under which each package has a page; see also
/// [`PIP_INDEX_URL`].
pub const PACKAGE_INDEX: &str = "MUNINN_PACKAGE_INDEX";
/// pip's own variable for the same, which a company's machines often have set.
pub const PIP_INDEX_URL: &str = "PIP_INDEX_URL";
/// The log filter, in the syntax of `tracing_subscriber::EnvFilter`; default `info`.
pub const LOG: &str = "MUNINN_LOG";
/// How log lines are written: `text`, the default, or `json`, one object a line.
pub const LOG_FORMAT: &str = "MUNINN_LOG_FORMAT";
/// `0` or `false`: do not look for model servers on loopback.
pub const DISCOVER: &str = "MUNINN_DISCOVER";
/// Set to anything: no colours.
pub const NO_COLOR: &str = "NO_COLOR";

/// The plain-HTTP proxy variables, read to decide whether a direct connection is allowed.
pub const HTTP_PROXIES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
