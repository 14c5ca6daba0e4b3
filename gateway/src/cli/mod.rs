//! The command line: one file per command, and the edge where errors become messages and exit codes.
//!
//! Data goes to stdout (with `--json` as one JSON value), everything else to stderr.

mod ask;
mod completions;
mod config;
mod daemon;
mod doctor;
mod editor;
mod error;
mod explore;
mod hook;
mod hook_deadline;
mod index;
mod init;
mod install;
mod journal;
mod key;
mod knowledge;
mod local_calls;
mod man;
mod mcp;
mod memory;
mod model;
mod output;
mod personal;
mod progress;
mod reconcile;
mod remind;
mod repo;
mod run;
mod scan;
mod serve;
mod signals;
mod stats;
mod status;
#[cfg(test)]
mod tests;
mod why;
mod wiki;
mod worklog;

use std::ffi::OsString;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use muninn_base::{Clock, with_causes};
use muninn_config::{Config, Overrides, env_vars, load, paths};
use muninn_core::Workspace;
use muninn_repo_tools::Worktree;

use clap::builder::{StyledStr, Styles};
use clap::{ArgMatches, Args, FromArgMatches as _};

pub use error::{CliError, Exit};

/// Flags of every command.
#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Use the repository of DIR [default: current directory]
    #[arg(long, global = true, help_heading = "Global options", value_name = "DIR", env = env_vars::ROOT, hide_env_values = true)]
    root: Option<PathBuf>,
    /// Read this user configuration file
    #[arg(long, global = true, help_heading = "Global options", value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A command's exit code, or its error.
type CommandResult = Result<ExitCode, CliError>;

/// Runs a command with the arguments that clap parsed.
type RunCommand = Box<dyn Fn(&ArgMatches, &Common) -> CommandResult>;

/// A command: its arguments, and the function that runs it.
struct Entry {
    command: clap::Command,
    run: RunCommand,
}

fn entry<C: Args + 'static>(name: &'static str, run: fn(C, &Common) -> CommandResult) -> Entry {
    Entry {
        command: C::augment_args(clap::Command::new(name)),
        run: Box::new(move |matches, common| run(C::from_arg_matches(matches)?, common)),
    }
}

type Groups = [(&'static str, Vec<Entry>); 6];

/// Every command, grouped by purpose, in the order of `muninn --help`.
fn groups() -> Groups {
    [
        (
            "Start here",
            vec![
                entry("init", init::Init::run),
                entry("install", install::Install::run),
                entry("uninstall", install::Uninstall::run),
                entry("serve", serve::Serve::run),
                entry("run", run::Run::run),
                entry("ask", ask::Ask::run),
                entry("mcp", mcp::Mcp::run),
            ],
        ),
        (
            "Ask and explain",
            vec![
                entry("explore", explore::Explore::run),
                entry("why", why::Why::run),
                entry("stats", stats::Stats::run),
            ],
        ),
        (
            "Look into the repository",
            vec![
                entry("grep", repo::Grep::run),
                entry("read", repo::Read::run),
                entry("tree", repo::Tree::run),
                entry("symbols", repo::Symbols::run),
                entry("outline", repo::Outline::run),
                entry("definition", repo::Definition::run),
                entry("references", repo::References::run),
                entry("callers", repo::Callers::run),
                entry("index", index::Index::run),
            ],
        ),
        (
            "Memory",
            vec![
                entry("remember", memory::Remember::run),
                entry("recall", memory::Recall::run),
                entry("history", memory::History::run),
                entry("forget", memory::Forget::run),
                entry("flush", memory::Flush::run),
                entry("knowledge", knowledge::KnowledgeCommand::run),
                entry("wiki", wiki::WikiCommand::run),
                entry("journal", journal::JournalCommand::run),
                entry("worklog", worklog::WorklogCommand::run),
                entry("personal", personal::PersonalCommand::run),
                entry("remind", remind::RemindCommand::run),
            ],
        ),
        (
            "Team chores",
            vec![
                entry("reconcile", reconcile::Reconcile::run),
                entry("conflicts", reconcile::Conflicts::run),
                entry("resolve", reconcile::Resolve::run),
                entry("scan", scan::Scan::run),
            ],
        ),
        (
            "Administration",
            vec![
                entry("status", status::Status::run),
                entry("doctor", doctor::Doctor::run),
                entry("config", config::ConfigCommand::run),
                entry("daemon", daemon::DaemonCommand::run),
                entry("key", key::KeyCommand::run),
                entry("model", model::ModelCommand::run),
                entry("hook", hook::Hook::run),
                entry("completions", completions::Completions::run),
                entry("man", man::Man::run),
            ],
        ),
    ]
}

/// The command line as clap parses and documents it.
fn command(groups: &Groups) -> clap::Command {
    let notes = "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 wrong configuration, 4 not found. A search without \
                 matches exits with 1.\nConfiguration: `muninn config check` prints the path of muninn.toml.\n\n";
    let examples = examples(&[
        ("muninn ask \"Where are requests retried?\"", "Ask about this repository"),
        ("muninn run -- claude", "Start Claude Code with context from this repository"),
        ("muninn why --last", "Show what the latest request was given"),
    ]);
    let commands = groups.iter().flat_map(|(_, entries)| entries).map(|entry| entry.command.clone());
    Common::augment_args(clap::Command::new("muninn"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("A gateway between coding agents and models that adds context from your repository and memory")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .help_template(help_template(groups))
        .after_help(StyledStr::from(format!("{notes}{}", examples.ansi())))
        .subcommands(commands)
}

/// The layout of `muninn --help`. clap has one list of subcommands; this one has a heading for each group.
fn help_template(groups: &Groups) -> String {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (group, entries) in groups {
        template.push_str(&format!("{header}{group}:{header:#}\n"));
        for Entry { command, .. } in entries {
            let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string));
            template.push_str(&format!("  {literal}{name:<11}{literal:#}  {}\n", about.unwrap_or_default()));
        }
        template.push('\n');
    }
    template + &format!("{header}Options:{header:#}\n{{options}}{{after-help}}")
}

/// The last section of a command's help: command lines, each with a remark below.
fn examples(lines: &[(&str, &str)]) -> StyledStr {
    let styles = Styles::styled();
    let header = styles.get_header();
    let lines = lines.iter().map(|(line, remark)| format!("\n  {line}\n      {remark}"));
    StyledStr::from(format!("{header}Examples:{header:#}{}", lines.collect::<String>()))
}

/// Runs a command line and returns the process's exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Before clap, which exits with 2 on a wrong argument: that code blocks the user's prompt.
    if arguments.get(1).is_some_and(|name| name == "hook")
        && let Some(code) = hook::run_arguments(&arguments[2..])
    {
        return code;
    }
    let groups = groups();
    let matches = match command(&groups).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version come this way too, and go to stdout with code 0. A closed pipe is no error.
            error.print().ok();
            return ExitCode::from(if error.use_stderr() { Exit::Usage } else { Exit::Success } as u8);
        }
    };
    // Of two TLS back ends, the one that builds with no more than a C compiler. A second call in a process has no effect.
    rustls::crypto::ring::default_provider().install_default().ok();
    let done = match (dispatch(&groups, &matches), output::write_error()) {
        (Ok(_), Some(error)) => Err(CliError::new(Exit::Failure, format!("cannot write to stdout: {error}"))
            .hint("the command itself succeeded; only its output is incomplete")),
        (done, _) => done,
    };
    done.unwrap_or_else(|error| {
        error.print();
        ExitCode::from(error.exit as u8)
    })
}

fn dispatch(groups: &Groups, matches: &ArgMatches) -> CommandResult {
    let common = Common::from_arg_matches(matches)?;
    let (name, arguments) = matches.subcommand().unwrap_or(("", matches));
    let mut entries = groups.iter().flat_map(|(_, entries)| entries);
    match entries.find(|entry| entry.command.get_name() == name) {
        Some(entry) => (entry.run)(arguments, &common),
        None => Err(CliError::new(Exit::Usage, format!("there is no command `{name}`"))),
    }
}

impl Common {
    /// The directory to work in; it must exist.
    fn directory(&self) -> Result<PathBuf, CliError> {
        match &self.root {
            Some(root) if root.is_dir() => Ok(root.clone()),
            Some(root) => Err(CliError::new(Exit::NotFound, format!("{} is not a directory", root.display()))),
            None => std::env::current_dir()
                .map_err(|error| CliError::new(Exit::Failure, format!("cannot find the current directory: {error}"))),
        }
    }

    /// The worktree that contains the directory.
    fn worktree(&self) -> Result<Worktree, CliError> {
        Worktree::discover(&self.directory()?).map_err(|error| CliError::no_repository(with_causes(&error)))
    }

    /// The workspace that contains the directory. Without a repository, [`Workspace::problem`] is set.
    fn workspace(&self) -> Result<Workspace, CliError> {
        self.workspace_with(&self.configuration(None)?)
    }

    /// Opens the workspace with a configuration that was read before.
    fn workspace_with(&self, config: &Config) -> Result<Workspace, CliError> {
        let (directory, state_dir) = (self.directory()?, paths::state_dir()?);
        Ok(Workspace::open(&directory, config, &state_dir, Self::clock()))
    }

    /// The clock of every command.
    fn clock() -> Clock {
        Clock::system()
    }

    fn configuration(&self, listen: Option<String>) -> Result<Config, CliError> {
        Ok(load(&Overrides { config: self.config.clone(), listen })?)
    }
}

/// Asks a question at the terminal. Anything but a yes is a no.
fn is_confirmed(question: &str) -> std::io::Result<bool> {
    write!(anstream::stderr(), "{question} [y/N]: ").ok();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The text of a file; `-` is standard input.
fn read_text(from: &Path) -> Result<String, CliError> {
    let read = match from.as_os_str() == "-" {
        true => {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut std::io::stdin(), &mut text).map(|_| text)
        }
        false => std::fs::read_to_string(from),
    };
    read.map_err(|error| CliError::new(Exit::Failure, format!("cannot read {}: {error}", from.display())))
}
