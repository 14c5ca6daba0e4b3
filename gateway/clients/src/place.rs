//! Where each client keeps its settings, and which settings connect it to Muninn.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::{Edit, Format};

/// The name of Muninn's entry in every client.
const NAME: &str = "muninn";

/// The plugin of opencode, which runs the program that this line names.
const OPENCODE_PLUGIN: &str = include_str!("../../../plugins/opencode/muninn.ts");
const OPENCODE_PROGRAM: &str = "const MUNINN = \"muninn\"";

/// A program that can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    ClaudeCode,
    Codex,
    Opencode,
    Cursor,
    #[serde(rename = "vscode")]
    #[value(name = "vscode")]
    VsCode,
}

impl Client {
    /// Every client.
    pub const ALL: [Client; 5] = [Client::ClaudeCode, Client::Codex, Client::Opencode, Client::Cursor, Client::VsCode];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Opencode => "opencode",
            Client::Cursor => "cursor",
            Client::VsCode => "vscode",
        }
    }

    /// Whether it runs hooks, and reads the address of its API from a file.
    pub fn is_agent(self) -> bool {
        matches!(self, Client::ClaudeCode | Client::Codex | Client::Opencode)
    }
}

/// Whose settings are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Yours, for every repository
    User,
    /// Those of this repository
    Project,
}

/// What connects a client to Muninn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The MCP server: tools
    Mcp,
    /// The hooks: context in each prompt, and learning
    Hooks,
    /// The base URL: requests go through `muninn serve`
    Gateway,
}

/// The directories in which clients keep their settings.
#[derive(Debug)]
pub struct Directories {
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    pub config: PathBuf,
    /// `$CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// `$CODEX_HOME`.
    pub codex: Option<PathBuf>,
}

/// A file and its settings.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) format: Format,
    pub(crate) edits: Vec<Edit>,
}

/// A client's own command that registers an MCP server.
#[derive(Debug)]
pub struct ClientCommand {
    pub program: &'static str,
    pub arguments: Vec<String>,
    /// The file that it changes, and the keys of the entry.
    pub path: PathBuf,
    pub keys: Vec<String>,
}

/// Everything that connects one client.
#[derive(Debug)]
pub struct Setup {
    pub client: Client,
    pub(crate) scope: Scope,
    pub root: Option<PathBuf>,
    pub parts: Vec<Part>,
    pub(crate) files: Vec<Target>,
    pub command: Option<ClientCommand>,
}

/// A combination that a client does not offer.
#[derive(Debug, Error, PartialEq)]
pub enum PlaceError {
    #[error("{0} has no hooks")]
    NoHooks(&'static str),
    #[error("{0} has no file for the address of its API")]
    NoGateway(&'static str),
    #[error("Codex reads its provider from the user's file only")]
    CodexProvider,
}

/// The events for which Muninn's hook does something. The client starts a process for each.
const EVENTS: [&str; 5] = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PreCompact", "SessionEnd"];
/// Those of the worklog.
const WORKLOG_EVENTS: [&str; 2] = ["PostToolUse", "PostToolUseFailure"];
/// The tools whose calls Muninn looks at, by their events. Each call costs a process, and another one with a worklog.
const TOOL_EVENTS: [&str; 3] = ["PreToolUse", "PostToolUse", "PostToolUseFailure"];
const TOOLS: &str = "Bash|Edit|Write|MultiEdit|NotebookEdit|apply_patch";

impl Setup {
    /// The settings that connect a client. `root` is the repository of [`Scope::Project`], `binary` the absolute path of
    /// Muninn, `url` the address of the gateway. `with_worklog` is whether hooks keep the worklog.
    ///
    /// # Errors
    /// If the client does not offer a part.
    pub fn new(
        client: Client,
        root: Option<&Path>,
        parts: &[Part],
        directories: &Directories,
        binary: &str,
        url: &str,
        with_worklog: bool,
    ) -> Result<Setup, PlaceError> {
        let has = |part| parts.contains(&part);
        if has(Part::Hooks) && !client.is_agent() {
            return Err(PlaceError::NoHooks(client.name()));
        }
        if has(Part::Gateway) && !client.is_agent() {
            return Err(PlaceError::NoGateway(client.name()));
        }
        if has(Part::Gateway) && client == Client::Codex && root.is_some() {
            return Err(PlaceError::CodexProvider);
        }
        let places = Places { directories, root };
        let mut setup = Setup {
            client,
            scope: if root.is_some() { Scope::Project } else { Scope::User },
            root: root.map(Path::to_owned),
            parts: parts.to_vec(),
            files: Vec::new(),
            command: None,
        };
        if has(Part::Mcp) {
            setup.add_server(&places, binary);
        }
        if has(Part::Hooks) {
            setup.add_hooks(&places, binary, with_worklog);
        }
        if has(Part::Gateway) {
            setup.add_gateway(&places, url);
        }
        Ok(setup)
    }

    fn add(&mut self, path: PathBuf, format: Format, edit: Edit) {
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.edits.push(edit),
            None => self.files.push(Target { path, format, edits: vec![edit] }),
        }
    }

    fn add_server(&mut self, places: &Places<'_>, binary: &str) {
        let (path, format, list) = places.servers(self.client);
        let value = match self.client {
            Client::ClaudeCode | Client::VsCode => json!({"type": "stdio", "command": binary, "args": ["mcp"]}),
            Client::Codex | Client::Cursor => json!({"command": binary, "args": ["mcp"]}),
            Client::Opencode => json!({"type": "local", "command": [binary, "mcp"], "enabled": true}),
        };
        let edit = set(&[list, NAME], value);
        let own = |program, before: &[&str]| ClientCommand {
            program,
            arguments: before.iter().chain(&[NAME, "--", binary, "mcp"]).map(|&word| word.to_owned()).collect(),
            path: path.clone(),
            keys: edit.keys.clone(),
        };
        self.command = match (self.client, self.scope) {
            (Client::ClaudeCode, Scope::User) => Some(own("claude", &["mcp", "add", "--scope", "user"])),
            (Client::ClaudeCode, Scope::Project) => Some(own("claude", &["mcp", "add", "--scope", "project"])),
            (Client::Codex, Scope::User) => Some(own("codex", &["mcp", "add"])),
            _ => None,
        };
        self.add(path, format, edit);
    }

    fn add_hooks(&mut self, places: &Places<'_>, binary: &str, with_worklog: bool) {
        if self.client == Client::Opencode {
            let program = format!("const MUNINN = {}", Value::from(binary));
            let text = OPENCODE_PLUGIN.replacen(OPENCODE_PROGRAM, &program, 1);
            self.add(places.opencode_plugin(), Format::Whole, set(&[], text.into()));
            return;
        }
        let name = self.client.name();
        let of_worklog = WORKLOG_EVENTS.iter().filter(|_| with_worklog);
        for event in EVENTS.iter().chain(of_worklog) {
            let command = if self.client == Client::ClaudeCode {
                let arguments = ["hook", event, "--client", name];
                json!({"type": "command", "command": binary, "args": arguments, "timeout": 5})
            } else {
                // Codex runs a command line.
                let line = format!("{} hook {event} --client {name}", quoted(binary));
                json!({"type": "command", "command": line, "timeout": 5})
            };
            let group = if TOOL_EVENTS.contains(event) {
                json!({"matcher": TOOLS, "hooks": [command]})
            } else {
                json!({"hooks": [command]})
            };
            let edit = Edit { append: true, ..set(&["hooks", event], group) };
            self.add(places.hooks(self.client), Format::Json, edit);
        }
    }

    fn add_gateway(&mut self, places: &Places<'_>, url: &str) {
        match self.client {
            Client::ClaudeCode => {
                let edit = set(&["env", "ANTHROPIC_BASE_URL"], url.into());
                self.add(places.hooks(self.client), Format::Json, edit);
            }
            Client::Codex => {
                let provider = json!({
                    "name": "Muninn",
                    "base_url": format!("{url}/v1"),
                    "env_key": "OPENAI_API_KEY",
                    "wire_api": "responses",
                });
                let (path, format, _) = places.servers(self.client);
                self.add(path.clone(), format, set(&["model_provider"], NAME.into()));
                self.add(path, format, set(&["model_providers", NAME], provider));
            }
            Client::Opencode => {
                let keys = ["provider", "openai", "options", "baseURL"];
                let (path, format, _) = places.servers(self.client);
                self.add(path, format, set(&keys, format!("{url}/v1").into()));
            }
            Client::Cursor | Client::VsCode => {}
        }
    }
}

fn set(keys: &[&str], value: Value) -> Edit {
    Edit { keys: keys.iter().map(|&key| key.to_owned()).collect(), value, append: false }
}

/// A word of a command line, in quotes if it needs them.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if cfg!(windows) {
        format!("\"{word}\"")
    } else if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

struct Places<'a> {
    directories: &'a Directories,
    root: Option<&'a Path>,
}

impl Places<'_> {
    /// The file of MCP servers, its format, and the key of the list.
    fn servers(&self, client: Client) -> (PathBuf, Format, &'static str) {
        let Directories { home, config, .. } = self.directories;
        match client {
            Client::ClaudeCode => {
                let user = || self.directories.claude.as_deref().unwrap_or(home).join(".claude.json");
                let path = self.root.map_or_else(user, |root| root.join(".mcp.json"));
                (path, Format::Json, "mcpServers")
            }
            Client::Codex => (self.codex().join("config.toml"), Format::Toml, "mcp_servers"),
            Client::Opencode => {
                let folder = self.root.map_or_else(|| config.join("opencode"), Path::to_owned);
                let with_comments = folder.join("opencode.jsonc");
                let path = if with_comments.exists() { with_comments } else { folder.join("opencode.json") };
                (path, Format::Json, "mcp")
            }
            Client::Cursor => {
                let folder = self.root.unwrap_or(home).join(".cursor");
                (folder.join("mcp.json"), Format::Json, "mcpServers")
            }
            Client::VsCode => {
                let user = || {
                    let settings = if cfg!(target_os = "macos") {
                        home.join("Library").join("Application Support")
                    } else if cfg!(windows) {
                        home.join("AppData").join("Roaming")
                    } else {
                        config.clone()
                    };
                    settings.join("Code").join("User")
                };
                let folder = self.root.map_or_else(user, |root| root.join(".vscode"));
                (folder.join("mcp.json"), Format::Json, "servers")
            }
        }
    }

    /// The file of hooks. In a repository, Claude Code's file is the one that it keeps out of git, because the path of
    /// the program is this machine's.
    fn hooks(&self, client: Client) -> PathBuf {
        let Directories { home, claude, .. } = self.directories;
        match (client, self.root) {
            (Client::ClaudeCode, Some(root)) => root.join(".claude").join("settings.local.json"),
            (Client::ClaudeCode, None) => {
                let folder = claude.clone().unwrap_or_else(|| home.join(".claude"));
                folder.join("settings.json")
            }
            _ => self.codex().join("hooks.json"),
        }
    }

    fn codex(&self) -> PathBuf {
        let Directories { home, codex, .. } = self.directories;
        match self.root {
            Some(root) => root.join(".codex"),
            None => codex.clone().unwrap_or_else(|| home.join(".codex")),
        }
    }

    fn opencode_plugin(&self) -> PathBuf {
        let folder = match self.root {
            Some(root) => root.join(".opencode"),
            None => self.directories.config.join("opencode"),
        };
        folder.join("plugin").join("muninn.ts")
    }
}
