//! From what was written to what holds: precedence, defaults, checks.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::backends::{backends, routes};
use super::explore::explore;
use super::hosts::hosts;
use super::keys::keys;
use super::memory::{embedder, memory, memory_write, reconciler, summarizer};
use super::raw::{self, RepositoryFile, UserFile};
use super::{
    CircuitConfig, Config, ConfigError, ContextConfig, LimitsConfig, MemoryConfig, MemoryWrite, TestConfig, env_vars,
    files, paths,
};

const DEFAULT_LISTEN: &str = "127.0.0.1:4747";

/// What flags say; they win over the environment, which wins over the file.
#[derive(Debug, Default, Clone)]
pub struct Overrides {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
}

/// Reads the user's configuration and settles every value.
///
/// # Errors
/// [`ConfigError`] with the file or variable, the key, and what would be right.
pub fn load(overrides: &Overrides) -> Result<Config, ConfigError> {
    let named = overrides
        .config
        .clone()
        .or_else(|| std::env::var_os(env_vars::CONFIG).map(PathBuf::from));
    let path = match &named {
        Some(path) => path.clone(),
        None => paths::config_file()?,
    };
    let text = files::read(&path)?;
    if text.is_none() && named.is_some() {
        return Err(ConfigError::Missing { path });
    }
    let file: UserFile = files::parse(&path, text.as_deref().unwrap_or_default())?;
    let origin = path.display().to_string();
    let limits = limits(&file.limits);
    if limits.total_body_bytes < limits.body_bytes {
        let message = format!(
            "is {}, and one body alone may have {} (limits.body_bytes)",
            limits.total_body_bytes, limits.body_bytes
        );
        return Err(wrong(&origin, "limits.total_body_bytes", message));
    }
    let backends = backends(&origin, &file.backends, &limits)?;
    Ok(Config {
        file: text.is_some().then(|| path.clone()),
        listen: listen(overrides, &file, &origin)?,
        allowed_hosts: hosts(&origin, file.allowed_hosts.as_deref().unwrap_or_default())?,
        keys: keys(&origin, &file.keys, &backends)?,
        roots: roots(&origin, file.roots.as_deref().unwrap_or_default())?,
        discover: discover(&file),
        routes: routes(&origin, &file.routes, &backends)?,
        explore: explore(&origin, &file.explore, &backends)?,
        embedder: embedder(&origin, file.memory.embedder.as_ref(), &backends)?,
        summarizer: summarizer(&origin, file.memory.summarizer.as_ref(), &backends)?,
        reconciler: reconciler(&origin, file.memory.reconciler.as_ref(), &backends)?,
        backends,
        context: context(&origin, &file.context)?,
        memory: memory(&origin, &file.memory)?,
        limits,
        test: TestConfig {
            discovery_ports: file.test.discovery_ports,
        },
    })
}

/// Lays a repository's `.muninn/config.toml` over the user's context and memory settings.
///
/// # Errors
/// [`ConfigError::NotForRepositories`] where it asks for more than context and memory, [`ConfigError::Parse`] where it
/// is wrong. The caller goes on with the user's own settings: a repository must not be able to stop a gateway.
pub fn repository(config: &Config, root: &Path) -> Result<(ContextConfig, MemoryConfig), ConfigError> {
    let path = root.join(".muninn").join("config.toml");
    let Some(text) = files::read(&path)? else {
        return Ok((config.context.clone(), config.memory.clone()));
    };
    refuse_foreign_keys(&path, &text)?;
    let file: RepositoryFile = files::parse(&path, &text)?;
    let origin = path.display().to_string();
    let mut settled = context(&origin, &file.context)?;
    let user = &config.context;
    let asked = &file.context;
    // A repository may ask for less time and fewer tokens than its user allows, never for more.
    settled.enabled = user.enabled && asked.enabled.unwrap_or(true);
    settled.deadline = user
        .deadline
        .min(asked.deadline_ms.map_or(user.deadline, Duration::from_millis));
    settled.tokens_with_tools = user.tokens_with_tools.min(asked.tokens_with_tools.unwrap_or(u32::MAX));
    settled.tokens_without_tools = user
        .tokens_without_tools
        .min(asked.tokens_without_tools.unwrap_or(u32::MAX));
    settled.tokens_per_conversation = user
        .tokens_per_conversation
        .min(asked.tokens_per_conversation.unwrap_or(u32::MAX));
    settled.threshold = asked.threshold.or(user.threshold);
    let asked = file
        .memory
        .write
        .as_deref()
        .map(|word| memory_write(&origin, word))
        .transpose()?;
    // What a user wants written nowhere is.
    let write = match config.memory.write {
        MemoryWrite::Off => MemoryWrite::Off,
        write => asked.unwrap_or(write),
    };
    let mut memory = config.memory.clone();
    memory.write = write;
    memory.max_main_bytes = file.memory.max_main_bytes.unwrap_or(memory.max_main_bytes);
    memory.store.default_branch = file.memory.default_branch.or(memory.store.default_branch);
    Ok((settled, memory))
}

/// Names the first key that is not a repository's to set, before types are even looked at.
fn refuse_foreign_keys(path: &Path, text: &str) -> Result<(), ConfigError> {
    let Ok(table) = text.parse::<toml::Table>() else {
        return Ok(());
    };
    const USERS_ONLY: [&str; 10] = [
        "backends",
        "routes",
        "keys",
        "explore",
        "listen",
        "allowed_hosts",
        "roots",
        "discover",
        "limits",
        "test",
    ];
    let foreign = table.keys().find(|key| USERS_ONLY.contains(&key.as_str())).cloned();
    let of_memory = || {
        let memory = table.get("memory")?.as_table()?;
        let key = ["embedder", "summarizer", "reconciler"]
            .into_iter()
            .find(|key| memory.contains_key(*key))?;
        Some(format!("memory.{key}"))
    };
    match foreign.or_else(of_memory) {
        Some(key) => Err(ConfigError::NotForRepositories {
            path: path.to_owned(),
            key,
        }),
        None => Ok(()),
    }
}

/// A word that a setting does not know.
#[derive(Debug, Error)]
#[error("`{word}` is unknown; write {known}")]
pub(super) struct UnknownWord {
    word: String,
    /// The words that it knows, as a sentence lists them.
    known: &'static str,
}

impl UnknownWord {
    pub(super) fn new(word: &str, known: &'static str) -> UnknownWord {
        UnknownWord {
            word: word.to_owned(),
            known,
        }
    }
}

/// `message` says what is wrong and what would be right: words, or the error of a check.
pub(super) fn wrong(origin: &str, key: impl Into<String>, message: impl Display) -> ConfigError {
    wrong_setting(format!("{origin}: {}", key.into()), message)
}

/// The same for a value that a flag or an environment variable holds, which names the setting by itself.
fn wrong_setting(setting: impl Into<String>, message: impl Display) -> ConfigError {
    ConfigError::Value {
        setting: setting.into(),
        message: message.to_string(),
    }
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
    let value = value
        .strip_prefix("localhost:")
        .map_or(value.to_owned(), |port| format!("127.0.0.1:{port}"));
    let address: SocketAddr = value.parse().map_err(|_| {
        wrong_setting(
            &setting,
            format!("`{value}` is not an address; write for instance `{DEFAULT_LISTEN}`"),
        )
    })?;
    if !address.ip().is_loopback() && file.keys.is_empty() {
        return Err(wrong_setting(
            setting,
            format!(
                "{address} can be reached from other machines, and there is no access key: only loopback addresses are allowed without one. `muninn key new NAME` makes one"
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
        Path::new(root)
            .canonicalize()
            .map_err(|error| wrong(origin, "roots", format!("`{root}`: {error}")))
    };
    written.iter().map(canonical).collect()
}

fn context(origin: &str, raw: &raw::Context) -> Result<ContextConfig, ConfigError> {
    if raw.threshold.is_some_and(|threshold| !(0.0..=1.0).contains(&threshold)) {
        return Err(wrong(origin, "context.threshold", "must lie between 0 and 1"));
    }
    Ok(ContextConfig {
        enabled: raw.enabled.unwrap_or(true),
        deadline: Duration::from_millis(raw.deadline_ms.unwrap_or(150)),
        tokens_with_tools: raw.tokens_with_tools.unwrap_or(2_000),
        tokens_without_tools: raw.tokens_without_tools.unwrap_or(4_000),
        tokens_per_conversation: raw.tokens_per_conversation.unwrap_or(8_000),
        threshold: raw.threshold,
    })
}

fn limits(raw: &raw::Limits) -> LimitsConfig {
    let millis = |written: Option<u64>, default: u64| Duration::from_millis(written.unwrap_or(default));
    let body_bytes = raw.body_bytes.unwrap_or(32 << 20);
    LimitsConfig {
        body_bytes,
        // Whoever only raises the bound on one body means that it is accepted.
        total_body_bytes: raw.total_body_bytes.unwrap_or(body_bytes.max(512 << 20)),
        connect_timeout: millis(raw.connect_timeout_ms, 10_000),
        first_byte_timeout: millis(raw.first_byte_timeout_ms, 600_000),
        stream_idle_timeout: millis(raw.stream_idle_timeout_ms, 300_000),
        // Lenient enough that a local server which is being restarted is asked again within seconds.
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn load_text(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("muninn.toml");
        std::fs::write(&file, text).unwrap();
        load(&Overrides {
            config: Some(file),
            listen: None,
        })
    }

    #[test]
    fn a_flag_is_named_once() {
        let error = load(&Overrides {
            config: None,
            listen: Some("here".to_owned()),
        });
        let said = error.unwrap_err().to_string();
        assert!(said.starts_with("--listen: `here` is not an address"), "{said}");
        let said = load_text("listen = \"here\"").unwrap_err().to_string();
        assert!(said.contains("muninn.toml: listen: `here` is not an address"), "{said}");
    }

    #[test]
    fn only_loopback_is_listened_on() {
        let error = load_text("listen = \"0.0.0.0:80\"").unwrap_err();
        assert!(error.to_string().contains("only loopback"), "{error}");
        assert!(load_text("listen = \"[::1]:0\"").is_ok());
        assert!(load_text("listen = \"localhost:0\"").is_ok());
    }

    #[test]
    fn one_body_fits_into_the_memory_of_all() {
        let error = load_text("[limits]\nbody_bytes = 2000\ntotal_body_bytes = 1000\n").unwrap_err();
        assert!(error.to_string().contains("limits.total_body_bytes"), "{error}");
        let config = load_text("[limits]\nbody_bytes = 2000\ntotal_body_bytes = 2000\n").unwrap();
        assert_eq!(config.limits.total_body_bytes, 2000);
        let config = load_text("[limits]\nbody_bytes = 600000000\n").unwrap();
        assert_eq!(config.limits.total_body_bytes, 600_000_000);
        assert_eq!(load_text("").unwrap().limits.total_body_bytes, 512 << 20);
    }

    #[test]
    fn a_route_to_nowhere_names_what_there_is() {
        let error = load_text(
            "[[backends]]\nname = \"a\"\nurl = \"http://x\"\ndialect = \"openai\"\n[[routes]]\nmodel = \"*\"\nbackend = \"b\"\n",
        )
        .unwrap_err();
        assert!(
            error.to_string().contains("routes[0].backend") && error.to_string().contains("there is: a"),
            "{error}"
        );
    }

    #[test]
    fn a_repository_may_set_context_and_memory_and_nothing_else() {
        let config = load_text("").unwrap();
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".muninn");
        std::fs::create_dir(&folder).unwrap();
        let set = |text: &str| {
            std::fs::write(folder.join("config.toml"), text).unwrap();
            repository(&config, root.path())
        };
        let (context, memory) =
            set("[context]\ntokens_with_tools = 500\ndeadline_ms = 99999\n[memory]\nwrite = \"repo\"\n").unwrap();
        assert_eq!(context.tokens_with_tools, 500);
        assert_eq!(
            context.deadline, config.context.deadline,
            "a repository cannot ask for more time"
        );
        assert_eq!(memory.write, MemoryWrite::Repo);
        for key in ["record = \"text\"", "sync = \"append\"", "idle_ms = 1"] {
            let error = set(&format!("[memory]\n{key}\n")).unwrap_err().to_string();
            assert!(error.contains(key.split(' ').next().unwrap()), "{error}");
        }
        set("[memory]\nwrite = \"repo\"\n").unwrap();
        let off = load_text("[memory]\nwrite = \"off\"\nrecord = \"text\"\nsync = \"append\"\n").unwrap();
        let (_, memory) = repository(&off, root.path()).unwrap();
        assert_eq!((memory.write, memory.with_text), (MemoryWrite::Off, true), "off is off");
        for (key, text) in [
            (
                "backends",
                "[[backends]]\nname = \"evil\"\nurl = \"http://evil\"\ndialect = \"openai\"\n",
            ),
            ("routes", "[[routes]]\nmodel = \"*\"\nbackend = \"evil\"\n"),
            ("keys", "keys = [\"x\"]\n"),
            ("explore", "[explore]\nmode = \"off\"\n"),
            ("listen", "listen = \"0.0.0.0:80\"\n"),
            ("allowed_hosts", "allowed_hosts = [\"evil.example\"]\n"),
            ("roots", "roots = [\"/\"]\n"),
            (
                "memory.summarizer",
                "[memory.summarizer]\nbackend = \"evil\"\nmodel = \"m\"\n",
            ),
            (
                "memory.reconciler",
                "[memory.reconciler]\nbackend = \"evil\"\nmodel = \"m\"\n",
            ),
        ] {
            let error = set(text).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{key}` may not be set by a repository")),
                "{error}"
            );
        }
    }
}
