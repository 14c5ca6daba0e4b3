use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum as _};
use etcetera::BaseStrategy as _;
use muninn_clients::{Change, Client, Directories, FileError, Journal, Part, PlaceError, Scope, Setup};
use muninn_config::{Config, env_vars, paths};

use super::super::{CliError, Common, Exit, examples, output};
use super::targets::{Target, write};
use super::{programs, show};

/// Connect a coding agent or an editor to Muninn
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn install claude-code", "MCP server and hooks, for every repository"),
    ("muninn install codex --with mcp,hooks,gateway", "And send its requests through the gateway"),
    ("muninn install vscode --scope project --dry-run", "Only show what would change in this repository"),
]))]
pub(crate) struct Install {
    #[command(flatten)]
    target: Target,
    /// What to connect [default: mcp,hooks where the client has hooks, else mcp]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,...")]
    with: Vec<Part>,
}

impl Install {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let config = common.configuration(None)?;
        let root = self.target.root(common)?;
        let mut journal = self.target.journal()?;
        let binary = programs::own_path()?;
        let old = journal.find(self.target.client, self.target.scope, root.as_deref()).cloned();
        let parts = self.parts(old.as_ref().map_or(&[], |old| &old.parts));
        let setup = Setup::new(
            self.target.client,
            root.as_deref(),
            &parts,
            &directories()?,
            &binary,
            &url(&config),
            config.worklog.enabled,
        )?;
        if parts.contains(&Part::Hooks) {
            programs::probe_hook(&binary)?;
        }
        let plan = journal.plan(&setup)?;
        if plan.changes.iter().all(Change::is_empty) {
            output::line(&format!("{} is connected already; nothing was changed", self.target.client.name()));
            return Ok(ExitCode::SUCCESS);
        }
        let command = setup.command.as_ref().filter(|command| programs::is_usable(command, &plan, old.as_ref()));
        for change in &plan.changes {
            let command = command.filter(|command| command.path == change.file.path);
            show::change(change, command);
        }
        if !self.target.confirm("install")? {
            return Ok(ExitCode::SUCCESS);
        }
        let install = write(&mut journal, plan, &setup, command, old)?;
        for (file, backup) in install.files.iter().filter_map(|file| Some((file, journal.backup_path(file)?))) {
            output::line(&format!("changed {}, backup {}", file.path.display(), backup.display()));
        }
        for file in install.files.iter().filter(|file| file.backup.is_none()) {
            output::line(&format!("created {}", file.path.display()));
        }
        for note in notes(&setup, &config) {
            output::line(&note);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The parts that were named, or the default ones, together with those that are installed.
    fn parts(&self, installed: &[Part]) -> Vec<Part> {
        let client = self.target.client;
        let named: &[Part] = match (&self.with[..], client.is_agent()) {
            ([], true) => &[Part::Mcp, Part::Hooks],
            ([], false) => &[Part::Mcp],
            (named, _) => named,
        };
        let wanted = |part: &Part| named.contains(part) || installed.contains(part);
        Part::value_variants().iter().copied().filter(wanted).collect()
    }
}

impl Target {
    pub(crate) fn root(&self, common: &Common) -> Result<Option<PathBuf>, CliError> {
        match self.scope {
            Scope::User => Ok(None),
            Scope::Project => Ok(Some(common.worktree()?.root().to_owned())),
        }
    }

    pub(crate) fn journal(&self) -> Result<Journal, CliError> {
        Ok(Journal::open(&paths::state_dir()?, !self.dry_run)?)
    }

    /// Whether the changes that were shown are to be written.
    pub(crate) fn confirm(&self, verb: &str) -> Result<bool, CliError> {
        if self.dry_run {
            output::line("dry run: nothing was changed");
            return Ok(false);
        }
        if self.yes || show::ask()? {
            return Ok(true);
        }
        output::line(&format!("nothing was changed; `muninn {verb} {} --yes` does not ask", self.client.name()));
        Ok(false)
    }
}

/// What the user has to know or do after an install.
fn notes(setup: &Setup, config: &Config) -> Vec<String> {
    let has = |part| setup.parts.contains(&part);
    let mut notes = Vec::new();
    if setup.client == Client::Codex && has(Part::Hooks) {
        notes.push("Codex runs a hook only after you trusted it once: enter /hooks in Codex".to_owned());
    }
    if setup.client == Client::Codex && setup.root.is_some() {
        notes.push("Codex reads the settings of a repository only after you trusted the repository".to_owned());
    }
    if setup.client == Client::ClaudeCode && setup.root.is_some() && has(Part::Mcp) {
        notes.push("Claude Code asks once whether to use the servers in .mcp.json".to_owned());
    }
    if setup.root.is_some() {
        notes.push("the settings contain the path of muninn on this machine: think before you commit them".to_owned());
    }
    if has(Part::Gateway) {
        notes.push(format!("the client now needs a running gateway on {}: start `muninn serve`", config.listen));
        if !config.keys.is_empty() {
            notes.push("the gateway requires an access key: give the client one, see `muninn key --help`".to_owned());
        }
    }
    notes
}

/// The address under which clients on this machine reach the gateway.
fn url(config: &Config) -> String {
    let mut address = config.listen;
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    format!("http://{address}")
}

fn directories() -> Result<Directories, CliError> {
    let strategy = etcetera::base_strategy::Xdg::new()
        .map_err(|error| CliError::new(Exit::Config, format!("there is no home directory: {error}")))?;
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    Ok(Directories {
        home: strategy.home_dir().to_owned(),
        config: strategy.config_dir(),
        claude: named(env_vars::CLAUDE_CONFIG_DIR),
        codex: named(env_vars::CODEX_HOME),
    })
}

impl From<FileError> for CliError {
    fn from(error: FileError) -> Self {
        CliError::new(Exit::Failure, format!("{error}; nothing was changed"))
    }
}

impl From<PlaceError> for CliError {
    fn from(error: PlaceError) -> Self {
        let hint = match error {
            PlaceError::NoHooks(_) => "leave out `hooks`",
            PlaceError::NoGateway(_) => "leave out `gateway`",
            PlaceError::CodexProvider => "leave out `--scope project`",
        };
        CliError::new(Exit::Usage, error.to_string()).hint(hint)
    }
}
