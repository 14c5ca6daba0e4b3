//! The command line: one file per command, and the edge where errors become words and exit codes.
//!
//! Data goes to stdout (with `--json` as one JSON value), everything else to stderr.

mod ask;
mod config;
mod doctor;
mod error;
mod explore;
mod index;
mod init;
mod key;
mod knowledge;
mod memory;
mod model;
mod output;
mod progress;
mod reconcile;
mod repo;
mod run;
mod scan;
mod serve;
mod status;
mod why;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use muninn_memory::Clock;
use muninn_repo_tools::Worktree;

use crate::app::Workspace;
use crate::config::{Config, Overrides, env_vars, load, paths};
pub use error::{CliError, Exit};
use muninn_repo_tools::with_causes;

/// A gateway between a coding agent and any model: it adds what matters from your repository and its memory.
#[derive(Parser)]
#[command(
    name = "muninn",
    version,
    about,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 wrong configuration, 4 not found. A search that finds nothing exits with 1.\nFiles: muninn.toml in the user's configuration directory (`muninn config check` prints where)."
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// The directory whose repository is meant [default: the current one]
    #[arg(long, global = true, value_name = "DIR", env = env_vars::ROOT)]
    root: Option<PathBuf>,
    /// The user's configuration file
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Set up .muninn/ in this repository and print how to point each client here
    Init(init::Init),
    /// Run the gateway
    Serve(serve::Serve),
    /// Run a command with a gateway of its own: muninn run -- claude
    Run(run::Run),
    /// Ask one question about this repository, through a gateway of its own
    Ask(ask::Ask),
    /// Have a model explore this repository for a question, and print the places that answer it
    Explore(explore::Explore),
    /// Bring the index up to date
    Index(index::Index),
    // What these do is said at their own types.
    Grep(repo::Grep),
    Read(repo::Read),
    Tree(repo::Tree),
    Symbols(repo::Symbols),
    Outline(repo::Outline),
    Definition(repo::Definition),
    References(repo::References),
    Callers(repo::Callers),
    Remember(memory::Remember),
    Recall(memory::Recall),
    Forget(memory::Forget),
    Flush(memory::Flush),
    Reconcile(reconcile::Reconcile),
    Conflicts(reconcile::Conflicts),
    Resolve(reconcile::Resolve),
    /// What was added to a request, from where, why, and at what cost
    Why(why::Why),
    /// Where everything is, and how it is doing
    Status(status::Status),
    /// Check backends, repository, port and state, and say what to do
    Doctor(doctor::Doctor),
    // Said at its own type.
    Scan(scan::Scan),
    /// Look at the configuration
    Config(config::ConfigCommand),
    /// Fetch the better embedding model, and look at what is there
    Model(model::ModelCommand),
    /// Write, look over and import what the team knows
    Knowledge(knowledge::KnowledgeCommand),
    /// Make access keys, for a gateway that others use too
    Key(key::KeyCommand),
}

/// Runs a command line and returns the process's exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, and go to stdout with code 0.
            let _closed_pipe = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage } else { Exit::Success } as u8);
        }
    };
    // Of two TLS back ends, the one that builds with no more than a C compiler. Only the first call in a process counts.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
    let common = cli.common;
    let done = match cli.command {
        Command::Init(command) => command.run(&common),
        Command::Serve(command) => command.run(&common),
        Command::Run(command) => command.run(&common),
        Command::Ask(command) => command.run(&common),
        Command::Explore(command) => command.run(&common),
        Command::Index(command) => command.run(&common),
        Command::Grep(command) => command.run(&common),
        Command::Read(command) => command.run(&common),
        Command::Tree(command) => command.run(&common),
        Command::Symbols(command) => command.run(&common),
        Command::Outline(command) => command.run(&common),
        Command::Definition(command) => command.run(&common),
        Command::References(command) => command.run(&common),
        Command::Callers(command) => command.run(&common),
        Command::Remember(command) => command.run(&common),
        Command::Recall(command) => command.run(&common),
        Command::Forget(command) => command.run(&common),
        Command::Flush(command) => command.run(&common),
        Command::Reconcile(command) => command.run(&common),
        Command::Conflicts(command) => command.run(&common),
        Command::Resolve(command) => command.run(&common),
        Command::Why(command) => command.run(&common),
        Command::Status(command) => command.run(&common),
        Command::Doctor(command) => command.run(&common),
        Command::Scan(command) => command.run(&common),
        Command::Config(command) => command.run(&common),
        Command::Model(command) => command.run(&common),
        Command::Knowledge(command) => command.run(&common),
        Command::Key(command) => command.run(&common),
    };
    let done = match (done, output::cut_short()) {
        (Ok(_), Some(why)) => Err(CliError::new(Exit::Failure, format!("writing to stdout: {why}"))
            .hint("what the command does is done; only what it says of it is cut short")),
        (done, _) => done,
    };
    done.unwrap_or_else(|error| {
        error.print();
        ExitCode::from(error.exit as u8)
    })
}

impl Common {
    /// The directory that is meant; it must exist.
    fn directory(&self) -> Result<PathBuf, CliError> {
        match &self.root {
            Some(root) if root.is_dir() => Ok(root.clone()),
            Some(root) => Err(CliError::new(
                Exit::NotFound,
                format!("{} is not a directory", root.display()),
            )),
            None => std::env::current_dir()
                .map_err(|error| CliError::new(Exit::Failure, format!("there is no current directory: {error}"))),
        }
    }

    /// The worktree that the directory is in.
    fn worktree(&self) -> Result<Worktree, CliError> {
        Worktree::discover(&self.directory()?).map_err(|error| {
            CliError::new(Exit::NotFound, with_causes(&error))
                .hint("run it inside a git repository, or name one with --root DIR")
        })
    }

    /// The workspace that the directory is in; one without a repository says so itself.
    fn workspace(&self) -> Result<Workspace, CliError> {
        self.workspace_of(&self.configuration(None)?)
    }

    /// The same by a configuration that was read already.
    fn workspace_of(&self, config: &Config) -> Result<Workspace, CliError> {
        let (directory, state_dir) = (self.directory()?, paths::state_dir()?);
        Ok(Workspace::open(&directory, config, &state_dir, Self::clock()))
    }

    /// What tells commands the time.
    fn clock() -> Clock {
        Clock::system()
    }

    fn configuration(&self, listen: Option<String>) -> Result<Config, CliError> {
        Ok(load(&Overrides {
            config: self.config.clone(),
            listen,
        })?)
    }
}
