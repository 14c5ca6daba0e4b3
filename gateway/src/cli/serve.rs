//! `muninn serve`: the gateway, until it is told to stop; on SIGHUP it reads its configuration again.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use muninn_context_engine::tokens;

use super::{CliError, Common, output};
use crate::app::App;
use crate::config::Config;
use crate::http::Server;

/// Run the gateway.
#[derive(Args)]
pub(crate) struct Serve {
    /// The address to listen on; port 0 takes any free one [default: 127.0.0.1:4747]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

impl Serve {
    pub(crate) fn run(self, common: &Common) -> Result<ExitCode, CliError> {
        output::log_to_stderr("info");
        let config = common.configuration(self.listen.clone())?;
        let mut signals = Signals::install()?;
        let server = Server::start(config, &common.directory()?)?;
        output::line(&format!("listening on http://{}", server.address()));
        index_in_background(server.app());
        while signals.next() == Wish::Reload {
            reload(server.app(), common.configuration(self.listen.clone()));
        }
        tracing::info!("stopping: open requests may end first");
        server.shut_down();
        Ok(ExitCode::SUCCESS)
    }
}

/// Starts the first look at the repository; until it is done, paths and a bounded grep answer.
pub(crate) fn index_in_background(app: &Arc<App>) {
    let supervisor = app.supervisor.clone();
    let app = Arc::clone(app);
    let indexing = supervisor.run("first-index", move || {
        tokens::warm();
        match app.workspace.refresh(&()) {
            Ok(Some(report)) => {
                let (files, chunks, memories) = (report.files, report.chunks, report.memories);
                tracing::info!(files, chunks, memories, ms = report.millis, "index ready");
                for note in report.notes {
                    tracing::warn!("{note}");
                }
                app.workspace.keep_up();
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "there is no index; paths and grep answer"),
        }
    });
    if let Err(error) = indexing {
        tracing::warn!(%error, "there is no thread for the index");
    }
}

/// Puts a configuration that was read again in force, or says why the old one stays. Nothing in it can end the server.
fn reload(app: &App, read: Result<Config, CliError>) {
    match read.and_then(|config| Ok(app.reload(config)?)) {
        Ok(kept) => {
            for line in kept {
                tracing::warn!("{line}");
            }
            tracing::info!("the configuration was read again and is in force");
        }
        Err(error) => tracing::error!("{error}; the configuration from before stays in force"),
    }
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Stop,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no signal for it"))]
    Reload,
}

/// SIGTERM, SIGINT and SIGHUP, caught from before the socket is bound. Where there are no signals, the interrupt from
/// the keyboard ends the server, and nothing is read again.
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
            let _inside = runtime.enter();
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

    /// Waits for the next one.
    #[cfg(unix)]
    fn next(&mut self) -> Wish {
        let [terminate, interrupt, hang_up] = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => Wish::Stop,
                _ = interrupt.recv() => Wish::Stop,
                _ = hang_up.recv() => Wish::Reload,
            }
        })
    }

    #[cfg(not(unix))]
    fn next(&mut self) -> Wish {
        let _failed = self.runtime.block_on(tokio::signal::ctrl_c());
        Wish::Stop
    }
}
