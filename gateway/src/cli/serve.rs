//! `muninn serve`: the gateway, until it is told to stop.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use muninn_context_engine::tokens;

use super::{CliError, Common, output};
use crate::server::{Server, Shared};

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
        let config = common.configuration(self.listen)?;
        let stopped = StopSignal::install()?;
        let server = Server::start(config, &common.directory()?)?;
        output::line(&format!("listening on http://{}", server.address()));
        index_in_background(server.shared());
        stopped.wait();
        tracing::info!("stopping: open requests may end first");
        server.shut_down();
        Ok(ExitCode::SUCCESS)
    }
}

/// Starts the first look at the repository; until it is done, paths and a bounded grep answer.
pub(crate) fn index_in_background(shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let indexing = std::thread::Builder::new().name("muninn-index".into()).spawn(move || {
        tokens::warm();
        match shared.repository.refresh(&()) {
            Ok(Some(report)) => {
                let (files, chunks, memories) = (report.files, report.chunks, report.memories);
                tracing::info!(files, chunks, memories, ms = report.millis, "index ready");
                for note in report.notes {
                    tracing::warn!("{note}");
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "there is no index; paths and grep answer"),
        }
    });
    if let Err(error) = indexing {
        tracing::warn!(%error, "there is no thread for the index");
    }
}

/// SIGTERM and SIGINT, caught from before the socket is bound.
pub(crate) struct StopSignal {
    runtime: tokio::runtime::Runtime,
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

impl StopSignal {
    pub(crate) fn install() -> Result<StopSignal, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            let _inside = runtime.enter();
            [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]
        };
        Ok(StopSignal {
            runtime,
            #[cfg(unix)]
            signals,
        })
    }

    #[cfg(unix)]
    pub(crate) fn wait(self) {
        let [mut terminate, mut interrupt] = self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
    }

    #[cfg(not(unix))]
    pub(crate) fn wait(self) {
        let _failed = self.runtime.block_on(tokio::signal::ctrl_c());
    }
}
