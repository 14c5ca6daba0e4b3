//! Resolving a configuration: precedence, defaults and checks.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use muninn_base::Links;
use muninn_context_engine::DEFAULT_THRESHOLD;

use super::backends::{backends, routes};
use super::explore::explore;
use super::hosts::hosts;
use super::invalid::{invalid, invalid_setting};
use super::journal::journal;
use super::keys::keys;
use super::memory::{embedder, memory, memory_write, reconciler, summarizer};
use super::personal::personal;
use super::raw::{self, RepositoryFile, UserFile};
use super::wiki::wiki;
use super::{
    CircuitConfig, Config, ConfigError, ContextConfig, HooksConfig, LimitsConfig, McpConfig, MemoryConfig, MemoryWrite,
    TestConfig, WorklogConfig, env_vars, files, paths,
};

/// The longest idle time of a daemon: a year, so that no sum of times overflows.
const MOST_IDLE_MINUTES: u64 = 366 * 24 * 60;
const DEFAULT_LISTEN: &str = "127.0.0.1:4747";

/// The values of flags. Flags override the environment, which overrides the file.
#[derive(Debug, Default, Clone)]
pub struct Overrides {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
}

/// Reads the user's configuration and resolves every value.
pub fn load(overrides: &Overrides) -> Result<Config, ConfigError> {
    let named = overrides.config.clone().or_else(|| std::env::var_os(env_vars::CONFIG).map(PathBuf::from));
    let path = match &named {
        Some(path) => path.clone(),
        None => paths::config_file()?,
    };
    let text = files::read(&path, Links::Follow)?;
    if text.is_none() && named.is_some() {
        return Err(ConfigError::Missing { path });
    }
    let written = text.as_deref().unwrap_or_default();
    let file: UserFile = files::parse(&path, written)?;
    let config = resolved(overrides, file, (&path, text.is_some()));
    config.map_err(|error| files::with_line(error, &path, written))
}

/// The settings of a file at a path; `is_there`: whether there is one.
fn resolved(overrides: &Overrides, file: UserFile, (path, is_there): (&Path, bool)) -> Result<Config, ConfigError> {
    let origin = path.display().to_string();
    let limits = limits(&file.limits);
    if limits.total_body_bytes < limits.body_bytes {
        let message = format!(
            "is {}, but one body alone may have {} (limits.body_bytes)",
            limits.total_body_bytes, limits.body_bytes
        );
        return Err(invalid(&origin, "limits.total_body_bytes", message));
    }
    let backends = backends(&origin, &file.backends, &limits)?;
    let keys = keys(&origin, &file.keys, &backends)?;
    Ok(Config {
        file: is_there.then(|| path.to_owned()),
        listen: listen(overrides, &file, &origin)?,
        allowed_hosts: hosts(&origin, file.allowed_hosts.as_deref().unwrap_or_default())?,
        personal: personal(&origin, &file.personal, &keys)?,
        needs_key: !keys.is_empty(),
        keys,
        roots: roots(&origin, file.roots.as_deref().unwrap_or_default())?,
        discover: discover(&file),
        routes: routes(&origin, &file.routes, &backends)?,
        explore: explore(&origin, &file.explore, &backends)?,
        embedder: embedder(&origin, file.memory.embedder.as_ref(), &backends)?,
        summarizer: summarizer(&origin, file.memory.summarizer.as_ref(), &backends)?,
        reconciler: reconciler(&origin, file.memory.reconciler.as_ref(), &backends)?,
        journal: journal(&origin, &file.journal, &backends)?,
        backends,
        context: context(&origin, &file.context)?,
        memory: memory(&origin, &file.memory)?,
        mcp: McpConfig {
            tools: file.mcp.tools.unwrap_or_default(),
            http: file.mcp.http.unwrap_or(true),
            write: file.mcp.write.unwrap_or(true),
        },
        hooks: HooksConfig {
            enabled: file.hooks.enabled.unwrap_or(true),
            deadline: Duration::from_millis(file.hooks.deadline_ms.unwrap_or(1_000)),
            daemon_idle: Duration::from_mins(file.hooks.daemon_idle_minutes.unwrap_or(30).min(MOST_IDLE_MINUTES)),
        },
        wiki: wiki(&origin, &file.wiki)?,
        worklog: WorklogConfig {
            enabled: file.worklog.enabled.unwrap_or_default(),
            track: file.worklog.track.unwrap_or_default(),
        },
        limits,
        test: TestConfig { discovery_ports: file.test.discovery_ports },
    })
}

/// Applies a repository's `.muninn/config.toml` to the user's context and memory settings.
///
/// After an error the caller continues with the user's settings, because a repository must not stop the gateway.
pub fn repository(config: &Config, root: &Path) -> Result<(ContextConfig, MemoryConfig, WorklogConfig), ConfigError> {
    let path = root.join(".muninn").join("config.toml");
    let Some(text) = files::read(&path, Links::Refuse)? else {
        let mut context = config.context.clone();
        context.choose_for(root);
        return Ok((context, config.memory.clone(), config.worklog));
    };
    refuse_reserved_keys(&path, &text)?;
    let file: RepositoryFile = files::parse(&path, &text)?;
    let origin = path.display().to_string();
    let user = &config.context;
    let mut resolved = ContextConfig {
        holdout: user.holdout,
        always: user.always.clone(),
        never: user.never.clone(),
        ..context(&origin, &file.context).map_err(|error| files::with_line(error, &path, &text))?
    };
    let raw = &file.context;
    // A repository can lower the time and the tokens that the user allows, but not raise them. It can raise the
    // threshold, but not lower it.
    resolved.enabled = user.enabled && raw.enabled.unwrap_or(true);
    resolved.deadline = user.deadline.min(raw.deadline_ms.map_or(user.deadline, Duration::from_millis));
    resolved.tokens_with_tools = user.tokens_with_tools.min(raw.tokens_with_tools.unwrap_or(u32::MAX));
    resolved.tokens_without_tools = user.tokens_without_tools.min(raw.tokens_without_tools.unwrap_or(u32::MAX));
    resolved.tokens_per_conversation =
        user.tokens_per_conversation.min(raw.tokens_per_conversation.unwrap_or(u32::MAX));
    let least = user.threshold.unwrap_or(DEFAULT_THRESHOLD);
    resolved.threshold = raw.threshold.map(|threshold| threshold.max(least)).or(user.threshold);
    resolved.choose_for(root);
    let repository_write = file.memory.write.as_deref().map(|value| memory_write(&origin, value)).transpose()?;
    // The user's `off` takes precedence over the repository's value.
    let write = match config.memory.write {
        MemoryWrite::Off => MemoryWrite::Off,
        write => repository_write.unwrap_or(write),
    };
    let mut memory = config.memory.clone();
    memory.write = write;
    memory.max_main_bytes = file.memory.max_main_bytes.unwrap_or(memory.max_main_bytes);
    memory.store.default_branch = file.memory.default_branch.or(memory.store.default_branch);
    let worklog = WorklogConfig { track: file.worklog.track.unwrap_or(config.worklog.track), ..config.worklog };
    Ok((resolved, memory, worklog))
}

/// Refuses keys that are reserved for the user's file. It runs before the file's types are checked, so that the error
/// names the reason.
fn refuse_reserved_keys(path: &Path, text: &str) -> Result<(), ConfigError> {
    let Ok(table) = text.parse::<toml::Table>() else {
        return Ok(());
    };
    // In the order of the keys of a table, which is sorted.
    const RESERVED: [&str; 22] = [
        "allowed_hosts", "backends", "discover", "explore", "hooks", "journal", "keys", "limits", "listen", "mcp",
        "personal", "roots", "routes", "test", "wiki", "memory.embedder", "memory.summarizer", "memory.reconciler",
        "worklog.enabled", "context.holdout", "context.always", "context.never",
    ];
    for key in RESERVED {
        let is_set = match key.split_once('.') {
            None => table.contains_key(key),
            Some((section, key)) => table.get(section).is_some_and(|section| section.get(key).is_some()),
        };
        if is_set {
            return Err(ConfigError::NotForRepositories { path: path.to_owned(), key: key.to_owned() });
        }
    }
    Ok(())
}

fn listen(overrides: &Overrides, file: &UserFile, origin: &str) -> Result<SocketAddr, ConfigError> {
    let from_environment = std::env::var(env_vars::LISTEN).ok();
    let in_file = || format!("{origin}: listen");
    let (setting, value) = match (&overrides.listen, &from_environment, &file.listen) {
        (Some(flag), _, _) => ("--listen".to_owned(), flag.as_str()),
        (None, Some(variable), _) => (env_vars::LISTEN.to_owned(), variable.as_str()),
        (None, None, Some(written)) => (in_file(), written.as_str()),
        (None, None, None) => (in_file(), DEFAULT_LISTEN),
    };
    let value = value.strip_prefix("localhost:").map_or(value.to_owned(), |port| format!("127.0.0.1:{port}"));
    let address: SocketAddr = value.parse().map_err(|_| {
        invalid_setting(&setting, format!("`{value}` is not an address; write for instance `{DEFAULT_LISTEN}`"))
    })?;
    if !address.ip().is_loopback() && file.keys.is_empty() {
        return Err(invalid_setting(
            setting,
            format!(
                "other machines can reach {address}, and there is no access key: only loopback addresses are allowed without a key. Create one with `muninn key new NAME`"
            ),
        ));
    }
    Ok(address)
}

fn discover(file: &UserFile) -> bool {
    match std::env::var(env_vars::DISCOVER).ok().as_deref() {
        Some("0" | "false" | "off") => false,
        Some(_) => true,
        None => file.discover.unwrap_or(true),
    }
}

fn roots(origin: &str, written: &[String]) -> Result<Vec<PathBuf>, ConfigError> {
    let canonical = |root: &String| {
        Path::new(root).canonicalize().map_err(|error| invalid(origin, "roots", format!("`{root}`: {error}")))
    };
    written.iter().map(canonical).collect()
}

fn context(origin: &str, raw: &raw::Context) -> Result<ContextConfig, ConfigError> {
    if raw.threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold)) {
        return Err(invalid(origin, "context.threshold", "must be between 0 and 1"));
    }
    let holdout = raw.holdout.unwrap_or(0.0);
    if !(0.0..=1.0).contains(&holdout) {
        return Err(invalid(origin, "context.holdout", "must be between 0 and 1"));
    }
    // A repository that is gone must not stop the gateway.
    let directories = |written: &[String]| {
        let resolved = written.iter().map(|path| Path::new(path).canonicalize().unwrap_or_else(|_| path.into()));
        resolved.collect()
    };
    Ok(ContextConfig {
        enabled: raw.enabled.unwrap_or(true),
        deadline: Duration::from_millis(raw.deadline_ms.unwrap_or(150)),
        tokens_with_tools: raw.tokens_with_tools.unwrap_or(2_000),
        tokens_without_tools: raw.tokens_without_tools.unwrap_or(4_000),
        tokens_per_conversation: raw.tokens_per_conversation.unwrap_or(8_000),
        threshold: raw.threshold,
        holdout,
        always: directories(&raw.always),
        never: directories(&raw.never),
    })
}

fn limits(raw: &raw::Limits) -> LimitsConfig {
    let millis = |written: Option<u64>, default: u64| Duration::from_millis(written.unwrap_or(default));
    let body_bytes = raw.body_bytes.unwrap_or(32 << 20);
    LimitsConfig {
        body_bytes,
        // If only `body_bytes` is raised, one such body must still fit.
        total_body_bytes: raw.total_body_bytes.unwrap_or(body_bytes.max(512 << 20)),
        connect_timeout: millis(raw.connect_timeout_ms, 10_000),
        first_byte_timeout: millis(raw.first_byte_timeout_ms, 600_000),
        stream_idle_timeout: millis(raw.stream_idle_timeout_ms, 300_000),
        // The cooldown is short enough that a restarted local server is probed within seconds.
        circuit: CircuitConfig {
            failures: raw.circuit_failures.unwrap_or(5),
            cooldown: millis(raw.circuit_cooldown_ms, 2_000),
            longest_cooldown: millis(raw.circuit_cooldown_max_ms, 30_000),
        },
        header_timeout: millis(raw.header_timeout_ms, 75_000),
        idle_timeout: millis(raw.idle_timeout_ms, 60_000),
        keep_alive: millis(raw.keep_alive_ms, 10_000),
        drain_timeout: millis(raw.drain_timeout_ms, 30_000),
        ledger_days: raw.ledger_days.unwrap_or(30),
        ledger_megabytes: raw.ledger_megabytes.unwrap_or(512),
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        limits(&raw::Limits::default())
    }
}

/// Loads a text as the user's file.
#[cfg(any(test, feature = "fixture"))]
#[expect(clippy::unwrap_used, reason = "only tests call it")]
pub fn load_text(text: &str) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("muninn.toml");
    std::fs::write(&file, text).unwrap();
    load(&Overrides { config: Some(file), listen: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_flag_is_reported_without_a_file() {
        let error = load(&Overrides { config: None, listen: Some("here".to_owned()) });
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("--listen: `here` is not an address"), "{message}");
        let message = load_text("listen = \"here\"").unwrap_err().to_string();
        assert!(message.contains("muninn.toml: listen: `here` is not an address"), "{message}");
    }

    #[test]
    fn without_keys_only_loopback_addresses_are_valid() {
        let error = load_text("listen = \"0.0.0.0:80\"").unwrap_err();
        assert!(error.to_string().contains("only loopback"), "{error}");
        assert!(load_text("listen = \"[::1]:0\"").is_ok());
        assert!(load_text("listen = \"localhost:0\"").is_ok());
    }

    #[test]
    fn total_body_bytes_holds_at_least_one_body() {
        let error = load_text("[limits]\nbody_bytes = 2000\ntotal_body_bytes = 1000\n").unwrap_err();
        assert!(error.to_string().contains("limits.total_body_bytes"), "{error}");
        let config = load_text("[limits]\nbody_bytes = 2000\ntotal_body_bytes = 2000\n").unwrap();
        assert_eq!(config.limits.total_body_bytes, 2000);
        let config = load_text("[limits]\nbody_bytes = 600000000\n").unwrap();
        assert_eq!(config.limits.total_body_bytes, 600_000_000);
        assert_eq!(load_text("").unwrap().limits.total_body_bytes, 512 << 20);
    }

    #[test]
    fn a_route_to_an_unknown_backend_lists_the_configured_ones() {
        let error = load_text(
            "[[backends]]\nname = \"a\"\nurl = \"http://x\"\ndialect = \"openai\"\n[[routes]]\nmodel = \"*\"\nbackend = \"b\"\n",
        )
        .unwrap_err();
        assert!(
            error.to_string().contains("routes[0].backend") && error.to_string().contains("known backends: a"),
            "{error}"
        );
    }

    #[test]
    fn the_user_chooses_always_or_never_for_a_repository() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let of = |list: &str| {
            let config = load_text(&format!("[context]\n{list} = [{:?}, \"/gone\"]\n", root.display().to_string()));
            repository(&config.unwrap(), &root).unwrap().0
        };
        let chosen = || [of("always"), of("never")].map(|context| (context.enabled, context.threshold));
        assert_eq!(chosen(), [(true, Some(0.0)), (false, None)]);
        std::fs::create_dir(root.join(".muninn")).unwrap();
        std::fs::write(root.join(".muninn/config.toml"), "[context]\nthreshold = 0.9\n").unwrap();
        assert_eq!(chosen(), [(true, Some(0.0)), (false, Some(0.9))], "before the repository's own file");
        assert!(load_text("[context]\nholdout = 1.5\n").is_err());
    }

    #[test]
    fn a_repository_can_set_only_context_and_memory() {
        let config = load_text("").unwrap();
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".muninn");
        std::fs::create_dir(&folder).unwrap();
        let set = |text: &str| {
            std::fs::write(folder.join("config.toml"), text).unwrap();
            repository(&config, root.path())
        };
        let (context, memory, _) =
            set("[context]\ntokens_with_tools = 500\ndeadline_ms = 99999\n[memory]\nwrite = \"repo\"\n").unwrap();
        assert_eq!(context.tokens_with_tools, 500);
        assert_eq!(context.deadline, config.context.deadline, "a repository cannot raise the deadline");
        assert_eq!(memory.write, MemoryWrite::Repo);
        for (threshold, resolved) in [("0.0", DEFAULT_THRESHOLD), ("0.9", 0.9)] {
            let (context, _, _) = set(&format!("[context]\nthreshold = {threshold}\n")).unwrap();
            assert_eq!(context.threshold, Some(resolved), "a repository can only raise the threshold");
        }
        for key in ["holdout = 0.5", "always = []", "never = []"] {
            let error = set(&format!("[context]\n{key}\n")).unwrap_err().to_string();
            assert!(error.contains("context.") && error.contains(key.split(' ').next().unwrap()), "{error}");
        }
        for key in ["record = \"text\"", "sync = \"append\"", "idle_ms = 1"] {
            let error = set(&format!("[memory]\n{key}\n")).unwrap_err().to_string();
            assert!(error.contains(key.split(' ').next().unwrap()), "{error}");
        }
        set("[memory]\nwrite = \"repo\"\n").unwrap();
        let off = load_text("[memory]\nwrite = \"off\"\nrecord = \"text\"\nsync = \"append\"\n").unwrap();
        let (_, memory, _) = repository(&off, root.path()).unwrap();
        assert_eq!((memory.write, memory.with_text), (MemoryWrite::Off, true), "the user's `off` wins");
        for (key, text) in [
            ("backends", "[[backends]]\nname = \"evil\"\nurl = \"http://evil\"\ndialect = \"openai\"\n"),
            ("routes", "[[routes]]\nmodel = \"*\"\nbackend = \"evil\"\n"),
            ("keys", "keys = [\"x\"]\n"),
            ("explore", "[explore]\nmode = \"off\"\n"),
            ("hooks", "[hooks]\nenabled = true\n"),
            ("wiki", "[wiki]\npath = \"/\"\n"),
            ("journal", "[journal]\npath = \"/\"\n"),
            ("worklog.enabled", "[worklog]\nenabled = true\n"),
            ("listen", "listen = \"0.0.0.0:80\"\n"),
            ("allowed_hosts", "allowed_hosts = [\"evil.example\"]\n"),
            ("roots", "roots = [\"/\"]\n"),
            ("memory.summarizer", "[memory.summarizer]\nbackend = \"evil\"\nmodel = \"m\"\n"),
            ("memory.reconciler", "[memory.reconciler]\nbackend = \"evil\"\nmodel = \"m\"\n"),
        ] {
            let error = set(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{key}` may not be set by a repository")), "{error}");
        }
    }
}
