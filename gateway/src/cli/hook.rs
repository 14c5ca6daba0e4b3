//! `muninn hook EVENT`: answers an event of a coding agent.
//!
//! The exit code is 0 whatever happens, because a hook that fails can block the user's prompt. So this command reads its
//! arguments itself: clap exits with 2 on a wrong one. A fault prints nothing and leaves one line in `hook.log` in the
//! state directory.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use muninn_config::{Config, env_vars};
use muninn_core::{App, LocalReply, LocalRequest};
use muninn_doors::hooks::{self, Event};
use muninn_session::transcript::Client;

#[cfg(unix)]
use super::daemon::{DaemonPlace, wait};
use super::hook_deadline::Deadline;
use super::{CliError, Common, examples, log, output};
#[cfg(unix)]
use muninn_doors::socket::CallError;

/// Answer an event of a coding agent; `muninn install` sets it up
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn hook UserPromptSubmit", "For Claude Code: reads the event from stdin, prints context as JSON"),
    ("muninn hook SessionEnd --client codex", "Learns from a session of Codex"),
]))]
pub(crate) struct Hook {
    /// The event: SessionStart, UserPromptSubmit, PreCompact or SessionEnd; others are ignored
    #[arg(value_name = "EVENT")]
    event: Option<String>,
    /// The client: claude-code, codex or opencode [default: claude-code]
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Further arguments are ignored
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    ignored: Vec<OsString>,
}

impl Hook {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        let Hook { event, client, ignored: _ } = self;
        Ok(Arguments { event: event.unwrap_or_default(), client, common: common.clone() }.run())
    }
}

/// The arguments of a hook. Unknown ones are ignored.
struct Arguments {
    event: String,
    client: Option<String>,
    common: Common,
}

/// Runs the command for arguments behind `hook`; `None` if they ask for help.
pub(super) fn run_arguments(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        return None;
    }
    Some(Arguments::parse(arguments).run())
}

impl Arguments {
    fn parse(arguments: &[OsString]) -> Arguments {
        let mut parsed = Arguments {
            event: String::new(),
            client: None,
            common: Common { root: std::env::var_os(env_vars::ROOT).map(PathBuf::from), config: None },
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let text = argument.to_string_lossy();
            let (name, joined) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(OsString::from(value))),
                _ => (&*text, None),
            };
            let mut value = || joined.clone().or_else(|| rest.next().cloned());
            match name {
                "--client" => parsed.client = value().map(|name| name.to_string_lossy().into_owned()),
                "--config" => parsed.common.config = value().map(PathBuf::from),
                "--root" => parsed.common.root = value().map(PathBuf::from),
                name if !name.starts_with('-') && parsed.event.is_empty() => parsed.event = name.to_owned(),
                _ => {}
            }
        }
        parsed
    }

    /// Never fails.
    fn run(self) -> ExitCode {
        // Without the thread there is no deadline, so there is no answer either.
        let Ok(deadline) = Deadline::start() else {
            return ExitCode::SUCCESS;
        };
        log::to_state("hook.log", "warn");
        std::panic::set_hook(Box::new(|panic| tracing::error!("a hook panicked: {panic}")));
        let answered = catch_unwind(AssertUnwindSafe(|| self.answer(&deadline)));
        if let Ok(Err(error)) = answered {
            tracing::error!("{error}");
        }
        ExitCode::SUCCESS
    }

    fn answer(&self, deadline: &Deadline) -> Result<(), CliError> {
        let is_ours = std::env::var_os(env_vars::REMINDER).is_some();
        let Some(event) = Event::of(&self.event).filter(|_| !is_ours) else {
            return Ok(());
        };
        let config = self.common.configuration(None)?;
        if !config.hooks.enabled {
            return Ok(());
        }
        deadline.set(config.hooks.deadline);
        let client = self.client.as_deref().map(str::parse::<Client>).transpose();
        let client = client.map_err(|error| failure(&error))?.unwrap_or_default();
        let input = hooks::read(std::io::stdin().lock()).map_err(|error| failure(&error))?;
        let directory = || self.common.directory().ok();
        let Some(request) = hooks::request(event, client, &input, directory) else {
            return Ok(());
        };
        run(&self.common, config, request, |reply| {
            deadline.delivered();
            if let Some(answer) = hooks::answer(event, client, reply) {
                output::json(&answer);
            }
        })
    }
}

/// Has the daemon answer a call, or a gateway that listens for hooks. Without either it is answered in this process, which
/// then starts a daemon for the next one. `deliver` gets the reply before anything is learned from the conversation.
#[cfg(unix)]
fn run(
    common: &Common,
    config: Config,
    request: LocalRequest,
    deliver: impl FnOnce(LocalReply),
) -> Result<(), CliError> {
    let place = DaemonPlace::of(common)?;
    let starts_daemon = match wait(place.call(&request, config.hooks.deadline))? {
        Ok(reply) => {
            deliver(reply);
            return Ok(());
        }
        Err(error @ CallError::Late) => return Err(failure(&error)),
        Err(CallError::NoDaemon | CallError::OtherVersion(_)) => !config.hooks.daemon_idle.is_zero(),
        Err(error) => {
            tracing::warn!("{error}; the hook is answered without it");
            false
        }
    };
    let directory = request.directory().clone();
    // Not before the reply: two processes would open the repository at the same time.
    answer_alone(config, request, |reply| {
        deliver(reply);
        if starts_daemon && let Err(error) = place.start_detached(&directory) {
            tracing::warn!("cannot start a daemon: {error}");
        }
    })
}

#[cfg(not(unix))]
fn run(_: &Common, config: Config, request: LocalRequest, deliver: impl FnOnce(LocalReply)) -> Result<(), CliError> {
    answer_alone(config, request, deliver)
}

/// Answers a call in this process.
fn answer_alone(config: Config, request: LocalRequest, deliver: impl FnOnce(LocalReply)) -> Result<(), CliError> {
    let time = config.hooks.deadline;
    let app = Arc::new(App::open_once(config, request.directory())?);
    app.answer_once(request, time, deliver)?;
    Ok(())
}

fn failure(error: &(dyn std::error::Error + 'static)) -> CliError {
    CliError::new(super::Exit::Failure, muninn_base::with_causes(error))
}
