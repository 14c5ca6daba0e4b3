use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::{StyledStr, Styles};
use clap::{ArgMatches, Args, FromArgMatches as _};

use super::common::{CommandResult, Common, examples};
use super::error::{CliError, Exit};
use super::{
    ask, completions, config, daemon, doctor, explore, hook, index, init, install, journal, key, knowledge, man, mcp,
    memory, model, output, personal, reconcile, remind, repo, scan, serve, stats, status, why, wiki, worklog,
};

/// Runs a command with the arguments that clap parsed.
pub(crate) type RunCommand = Box<dyn Fn(&ArgMatches, &Common) -> CommandResult>;

/// A command: its arguments, and the function that runs it.
pub(crate) struct Entry {
    command: clap::Command,
    run: RunCommand,
}

pub(crate) fn entry<C: Args + 'static>(name: &'static str, run: fn(C, &Common) -> CommandResult) -> Entry {
    Entry {
        command: C::augment_args(clap::Command::new(name)),
        run: Box::new(move |matches, common| run(C::from_arg_matches(matches)?, common)),
    }
}

pub(crate) type Groups = [(&'static str, Vec<Entry>); 6];

/// Every command, grouped by purpose, in the order of `muninn --help`.
pub(crate) fn groups() -> Groups {
    [
        (
            "Start here",
            vec![
                entry("init", init::Init::run),
                entry("install", install::Install::run),
                entry("uninstall", install::Uninstall::run),
                entry("serve", serve::Serve::run),
                entry("run", super::run::Run::run),
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
                entry("link", memory::Link::run),
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
                entry("completions", |of: completions::Completions, _| of.run(command(&groups()))),
                entry("man", |of: man::Man, _| of.run(command(&groups()))),
            ],
        ),
    ]
}

/// The command line as clap parses and documents it.
pub(crate) fn command(groups: &Groups) -> clap::Command {
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
pub(crate) fn help_template(groups: &Groups) -> String {
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

pub(crate) fn dispatch(groups: &Groups, matches: &ArgMatches) -> CommandResult {
    let common = Common::from_arg_matches(matches)?;
    let (name, arguments) = matches.subcommand().unwrap_or(("", matches));
    let mut entries = groups.iter().flat_map(|(_, entries)| entries);
    match entries.find(|entry| entry.command.get_name() == name) {
        Some(entry) => (entry.run)(arguments, &common),
        None => Err(CliError::new(Exit::Usage, format!("there is no command `{name}`"))),
    }
}

#[cfg(test)]
mod tests;
