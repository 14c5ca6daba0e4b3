//! The daemon's process, and the socket of a gateway.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_config::HooksConfig;
use muninn_core::App;
use muninn_doors::daemon::{ConfigFile, End, Server};
use muninn_doors::socket::{ClaimError, Listener};

use super::super::signals::{Request, Signals};
use super::super::{CliError, Common, Exit, log, output};
use super::control::describe;
use super::place::DaemonPlace;

/// The time that the learner and the store get at the end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// The idle time of a daemon that the user starts although hooks start none.
const DEFAULT_IDLE: Duration = Duration::from_mins(30);

/// Why the process wakes up.
enum Event {
    Signal(Request),
    Ended(End),
}

impl From<Request> for Event {
    fn from(request: Request) -> Event {
        Event::Signal(request)
    }
}

/// `muninn daemon run`. `stay`: whether it goes on although nobody calls.
pub(super) fn run(common: &Common, stay: bool) -> Result<ExitCode, CliError> {
    close_inherited_files();
    log::to_state("daemon.log", "info,rmcp=off");
    // The standard streams of a started daemon are closed, and a panic must not go unseen.
    std::panic::set_hook(Box::new(|panic| tracing::error!("a thread panicked: {panic}")));
    let place = DaemonPlace::of(common)?;
    let file = ConfigFile::new(&place.config, place.is_named);
    let config = common.configuration(None)?;
    let idle = (!stay).then(|| idle_time(&config.hooks));
    let mut signals = Signals::install()?;
    let listener = Listener::claim(&place.place).map_err(refused)?;
    let socket = place.place.socket();
    let app = Arc::new(App::for_local_programs(config)?);
    let mut server = Server::daemon(&app, listener, file, idle)?;
    output::line(&format!("listening on {}", socket.display()));
    tracing::info!("listening on {}", socket.display());
    app.keep_reminders();
    app.index_local_in_background(&common.directory()?);
    let end = loop {
        match signals.wait_unless(async { Event::Ended(server.ended().await) }) {
            Event::Signal(Request::Stop) => break None,
            Event::Signal(Request::Reload) => server.follow(),
            Event::Ended(end) => break Some(end),
        }
    };
    server.shut_down();
    app.close(Instant::now() + STOP_TIMEOUT);
    // The connection of a `stop` is open until here: its client waits for the end.
    drop(end);
    Ok(ExitCode::SUCCESS)
}

/// Closes the files that the starting program left open: a daemon would hold a lock of it for half an hour. To be called
/// before this process opens any.
fn close_inherited_files() {
    let Ok(entries) = std::fs::read_dir("/dev/fd") else {
        return;
    };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    let open = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    for descriptor in open.filter(|descriptor| *descriptor > 2) {
        // The descriptor of the directory is closed already.
        nix::unistd::close(descriptor).ok();
    }
}

fn idle_time(hooks: &HooksConfig) -> Duration {
    match hooks.daemon_idle {
        Duration::ZERO => DEFAULT_IDLE,
        idle => idle,
    }
}

fn refused(error: ClaimError) -> CliError {
    match &error {
        ClaimError::Taken(place) => CliError::new(Exit::Failure, describe(place).unwrap_or(error.to_string())),
        _ => CliError::new(Exit::Failure, error.to_string()),
    }
}

/// Answers hooks in a gateway's process, if no other process does. A gateway works without.
pub(in crate::cli) fn listen_beside(common: &Common, app: &Arc<App>) -> Option<Server> {
    let place = DaemonPlace::of(common).inspect_err(|error| tracing::debug!("hooks are not answered: {error}")).ok()?;
    match Listener::claim(&place.place) {
        Ok(listener) => Server::beside_gateway(app, listener)
            .inspect_err(|error| tracing::warn!(%error, "hooks are not answered"))
            .ok(),
        Err(ClaimError::Taken(_)) => {
            tracing::debug!("hooks are answered by another process");
            None
        }
        Err(error) => {
            tracing::warn!("hooks are not answered: {error}");
            None
        }
    }
}
