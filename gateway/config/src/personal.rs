//! `[personal]`: one person's memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use muninn_repo_tools::is_remote;
use serde::Deserialize;

use super::invalid::invalid;
use super::{ConfigError, KeyConfig};

/// Personal memory. `Personal` documents the keys.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonalConfig {
    pub enabled: bool,
    pub path: Option<PathBuf>,
    pub git_remote: Option<String>,
    pub key: Option<String>,
    pub max_tokens: u32,
    pub signals: bool,
    pub signals_days: u32,
    /// The agents that reminders may run, by name; only those that are enabled.
    pub agents: BTreeMap<String, AgentConfig>,
}

/// An agent that reminders may run. `PersonalAgent` documents the keys.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    pub client: AgentClient,
    pub allow_from_tools: bool,
    pub program: String,
    pub model: Option<String>,
    pub allowed_tools: Vec<String>,
    pub permission_mode: Option<String>,
    pub max_turns: u32,
    pub max_budget_usd: Option<f64>,
    pub timeout: Duration,
    pub max_runs_per_hour: u32,
    pub environment: Vec<String>,
}

/// A client that runs without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentClient {
    /// `claude -p`.
    Claude,
    /// `codex exec`.
    Codex,
    /// `opencode run`.
    Opencode,
}

/// Personal memory: files of one person, outside of every repository.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
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
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
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

impl AgentClient {
    fn named(name: &str) -> Option<AgentClient> {
        match name {
            "claude" => Some(AgentClient::Claude),
            "codex" => Some(AgentClient::Codex),
            "opencode" => Some(AgentClient::Opencode),
            _ => None,
        }
    }

    /// Its name, and that of its program.
    pub fn name(self) -> &'static str {
        match self {
            AgentClient::Claude => "claude",
            AgentClient::Codex => "codex",
            AgentClient::Opencode => "opencode",
        }
    }
}

pub(super) fn personal(origin: &str, raw: &Personal, keys: &[KeyConfig]) -> Result<PersonalConfig, ConfigError> {
    let path = raw.path.as_ref().map(PathBuf::from);
    if path.as_ref().is_some_and(|path| !path.is_absolute()) {
        return Err(invalid(origin, "personal.path", "it must be absolute"));
    }
    if raw.git_remote.as_deref().is_some_and(|remote| !is_address(remote)) {
        let message = "write an address such as `git@host:me/memory.git`, or an absolute path; a name of a remote would be looked up in the directory itself";
        return Err(invalid(origin, "personal.git_remote", message));
    }
    if let Some(name) = &raw.key
        && !keys.iter().any(|key| key.name == *name)
    {
        return Err(invalid(origin, "personal.key", format!("there is no key `{name}`")));
    }
    Ok(PersonalConfig {
        enabled: raw.enabled.unwrap_or(true),
        path,
        git_remote: raw.git_remote.clone(),
        key: raw.key.clone(),
        max_tokens: raw.max_tokens.unwrap_or(300),
        signals: raw.signals.unwrap_or(false),
        signals_days: raw.signals_days.unwrap_or(90),
        agents: agents(origin, &raw.agents)?,
    })
}

/// Whether a text is the address of a repository: neither a name that git looks up nor one of a program (`ext::`).
fn is_address(remote: &str) -> bool {
    let helper = remote.split_once("::").map(|(helper, _)| helper);
    let names_program = helper.is_some_and(|helper| helper.chars().all(|c| c.is_ascii_alphanumeric()));
    let is_somewhere = Path::new(remote).is_absolute() || remote.contains(':');
    is_remote(remote) && is_somewhere && !names_program
}

fn agents(origin: &str, raw: &BTreeMap<String, PersonalAgent>) -> Result<BTreeMap<String, AgentConfig>, ConfigError> {
    let mut agents = BTreeMap::new();
    for (name, raw) in raw {
        let agent = agent(name, raw)
            .map_err(|(setting, message)| invalid(origin, format!("personal.agents.{name}.{setting}"), message))?;
        if raw.enabled == Some(true) {
            agents.insert(name.clone(), agent);
        }
    }
    Ok(agents)
}

/// The agent, or the setting that is wrong and why.
fn agent(name: &str, raw: &PersonalAgent) -> Result<AgentConfig, (&'static str, String)> {
    let client = AgentClient::named(raw.client.as_deref().unwrap_or(name));
    let client = client.ok_or_else(|| ("client", "write `claude`, `codex` or `opencode`".to_owned()))?;
    // A limit that the client does not have would be none.
    let has = |clients: &[AgentClient]| clients.contains(&client);
    let (claude, modes) = ([AgentClient::Claude], [AgentClient::Claude, AgentClient::Codex]);
    for (setting, is_set, clients) in [
        ("allowed_tools", raw.allowed_tools.is_some(), &claude[..]),
        ("max_turns", raw.max_turns.is_some(), &claude),
        ("max_budget_usd", raw.max_budget_usd.is_some(), &claude),
        ("permission_mode", raw.permission_mode.is_some(), &modes),
    ] {
        if is_set && !has(clients) {
            return Err((setting, format!("`{}` has no such setting", client.name())));
        }
    }
    let program = raw.program.clone().unwrap_or_else(|| client.name().to_owned());
    let is_path = program.contains(['/', '\\']);
    if program.is_empty() || (is_path && !Path::new(&program).is_absolute()) {
        return Err(("program", "write a name on the PATH, or an absolute path".to_owned()));
    }
    let budget = raw.max_budget_usd;
    if budget.is_some_and(|budget| !budget.is_finite() || budget <= 0.0) {
        return Err(("max_budget_usd", "it must be greater than 0".to_owned()));
    }
    for (setting, value) in [
        ("timeout_seconds", raw.timeout_seconds),
        ("max_turns", raw.max_turns.map(u64::from)),
        ("max_runs_per_hour", raw.max_runs_per_hour.map(u64::from)),
    ] {
        if value == Some(0) {
            return Err((setting, "it must be greater than 0".to_owned()));
        }
    }
    Ok(AgentConfig {
        client,
        allow_from_tools: raw.allow_from_tools.unwrap_or(false),
        program,
        model: raw.model.clone(),
        allowed_tools: raw.allowed_tools.clone().unwrap_or_default(),
        permission_mode: raw.permission_mode.clone(),
        max_turns: raw.max_turns.unwrap_or(10),
        max_budget_usd: budget,
        timeout: Duration::from_secs(raw.timeout_seconds.unwrap_or(600)),
        max_runs_per_hour: raw.max_runs_per_hour.unwrap_or(12),
        environment: raw.environment.clone().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_text;

    #[test]
    fn settings_are_read_or_named() {
        let of = |text: &str| load_text(text).map(|config| config.personal);
        let default = PersonalConfig {
            enabled: true,
            path: None,
            git_remote: None,
            key: None,
            max_tokens: 300,
            signals: false,
            signals_days: 90,
            agents: BTreeMap::new(),
        };
        assert_eq!(of("").unwrap(), default);
        let found = of("[personal]\npath = \"/me\"\nmax_tokens = 5\n").unwrap();
        assert_eq!((found.path, found.max_tokens), (Some(PathBuf::from("/me")), 5));
        for (text, named) in [
            ("[personal]\npath = \"me\"\n", "personal.path"),
            ("[personal]\ngit_remote = \"origin\"\n", "personal.git_remote"),
            ("[personal]\ngit_remote = \"../x\"\n", "personal.git_remote"),
            ("[personal]\ngit_remote = \"ext::sh -c x\"\n", "personal.git_remote"),
            ("[personal]\ngit_remote = \"fd::17\"\n", "personal.git_remote"),
            ("[personal]\ngit_remote = \"--upload-pack=a:b\"\n", "personal.git_remote"),
            ("[personal]\ngit_remote = \"\"\n", "personal.git_remote"),
            ("[personal]\nkey = \"ann\"\n", "personal.key"),
            ("[personal]\nkeys = \"ann\"\n", "keys"),
            ("[personal.agents.gemini]\n", "personal.agents.gemini.client"),
            ("[personal.agents.codex]\nmax_turns = 3\n", "personal.agents.codex.max_turns"),
            ("[personal.agents.opencode]\npermission_mode = \"plan\"\n", "permission_mode"),
            ("[personal.agents.claude]\nprogram = \"./claude\"\n", "program"),
            ("[personal.agents.claude]\nmax_budget_usd = 0.0\n", "max_budget_usd"),
            ("[personal.agents.claude]\ntimeout_seconds = 0\n", "timeout_seconds"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn only_enabled_agents_are_kept() {
        let text = "[personal.agents.claude]\nenabled = true\nallowed_tools = [\"Read\"]\n[personal.agents.codex]\n\
            [personal.agents.cheap]\nclient = \"codex\"\nenabled = true\nmodel = \"small\"\n";
        let agents = load_text(text).unwrap().personal.agents;
        assert_eq!(agents.keys().collect::<Vec<_>>(), ["cheap", "claude"]);
        assert_eq!((&*agents["cheap"].program, agents["cheap"].client), ("codex", AgentClient::Codex));
        assert_eq!(agents["claude"].timeout, Duration::from_secs(600));
        assert!(!agents["claude"].allow_from_tools);
    }
}
