//! `muninn serve`: runs the gateway until SIGTERM or SIGINT. SIGHUP reloads the configuration.

use std::process::ExitCode;

use clap::Args;

use super::{CliError, Common, examples, mcp, output};
use crate::app::App;
use crate::config::Config;
use crate::http::Server;

/// Run the gateway until it is stopped; SIGHUP reloads its configuration
#[derive(Args)]
#[command(after_help = examples(&[
    ("muninn serve", "Listen on 127.0.0.1:4747, with context from this repository"),
    ("muninn serve --listen 127.0.0.1:8080", "Listen on another port"),
    ("muninn serve --config team.toml", "With another configuration"),
]))]
pub(crate) struct Serve {
    /// The address to listen on; port 0 takes any free port [default: 127.0.0.1:4747]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

impl Serve {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("info,rmcp=warn");
        let config = common.configuration(self.listen.clone())?;
        let mut signals = Signals::install()?;
        let mounts = mcp::mounts(&config)?;
        let server = Server::start(config, &common.directory()?, mounts)?;
        output::line(&format!("listening on http://{}", server.address()));
        server.app().index_in_background();
        while signals.next() == Request::Reload {
            reload(server.app(), common.configuration(self.listen.clone()));
        }
        tracing::info!("stopping; open requests are finished first");
        server.shut_down();
        Ok(ExitCode::SUCCESS)
    }
}

/// Applies a configuration that was read again, or logs why the old one stays. An error never ends the server.
fn reload(app: &App, read: Result<Config, CliError>) {
    match read.and_then(|config| Ok(app.reload(config)?)) {
        Ok(kept) => {
            for line in kept {
                tracing::warn!("{line}");
            }
            tracing::info!("the configuration was reloaded");
        }
        Err(error) => tracing::error!("{error}; the previous configuration stays in force"),
    }
}

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Stop,
    #[cfg_attr(not(unix), expect(dead_code, reason = "no signal requests it"))]
    Reload,
}

/// SIGTERM, SIGINT and SIGHUP, handled from before the socket is bound. On systems without signals, Ctrl-C stops the
/// server, and the configuration cannot be reloaded.
struct Signals {
    runtime: tokio::runtime::Runtime,
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 3],
}

impl Signals {
    fn install() -> Result<Signals, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            let _guard = runtime.enter();
            [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
            ]
        };
        Ok(Signals {
            runtime,
            #[cfg(unix)]
            signals,
        })
    }

    /// Waits for the next signal.
    #[cfg(unix)]
    fn next(&mut self) -> Request {
        let [terminate, interrupt, hang_up] = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => Request::Stop,
                _ = interrupt.recv() => Request::Stop,
                _ = hang_up.recv() => Request::Reload,
            }
        })
    }

    #[cfg(not(unix))]
    fn next(&mut self) -> Request {
        self.runtime.block_on(tokio::signal::ctrl_c()).ok();
        Request::Stop
    }
}
