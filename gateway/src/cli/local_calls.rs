//! The calls of `muninn mcp`: the daemon answers them, or a gateway that listens for hooks, so that the index is in memory
//! once for all clients. Where neither can, this process opens the repository itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_config::Config;
use muninn_core::{App, LocalReply, LocalRequest, ToolReply, ToolRequest};
use tokio::sync::OnceCell;

#[cfg(unix)]
use super::daemon::DaemonPlace;
use super::{CliError, Common, Exit};
#[cfg(unix)]
use muninn_doors::socket::CallError;

/// The longest wait for the daemon's reply. Each tool has a shorter bound of its own.
#[cfg(unix)]
const CALL_TIMEOUT: Duration = Duration::from_mins(10);

/// The calls of one client.
pub(super) struct LocalCalls {
    common: Common,
    config: Config,
    directory: PathBuf,
    /// The application of this process, once a call needed it. It answers all later calls.
    own: OnceCell<Arc<App>>,
}

impl LocalCalls {
    pub(super) fn new(common: &Common, config: Config, directory: PathBuf) -> LocalCalls {
        LocalCalls { common: common.clone(), config, directory, own: OnceCell::new() }
    }

    /// Answers a call.
    pub(super) async fn answer(self: &Arc<Self>, request: ToolRequest) -> ToolReply {
        // The keys of backends can be in this process's environment, and are not in the daemon's.
        let needs_keys = request.calls_model();
        let request = LocalRequest::Tools { directory: self.directory.clone(), request };
        #[cfg(unix)]
        if !needs_keys
            && self.own.get().is_none()
            && let Some(reply) = self.ask_daemon(&request).await
        {
            return reply;
        }
        match self.own().await {
            Ok(app) => tools_reply(app.answer_local(request).await),
            Err(error) => ToolReply::Refused(error.to_string()),
        }
    }

    /// Ends the application of this process, if it has one.
    pub(super) fn close(&self, stop_by: Instant) {
        if let Some(app) = self.own.get() {
            app.close(stop_by);
        }
    }

    async fn own(self: &Arc<Self>) -> Result<&Arc<App>, CliError> {
        let calls = Arc::clone(self);
        let open = move || {
            let app = Arc::new(App::open(calls.config.clone(), &calls.directory, 0)?);
            app.index_in_background();
            Ok(app)
        };
        let opened = self.own.get_or_try_init(|| async {
            let opening = tokio::task::spawn_blocking(open).await;
            opening.unwrap_or_else(|error| Err(CliError::new(Exit::Failure, error.to_string())))
        });
        opened.await
    }

    /// The daemon's reply; it is started if none runs. `None` if this process has to answer.
    #[cfg(unix)]
    async fn ask_daemon(self: &Arc<Self>, request: &LocalRequest) -> Option<ToolReply> {
        let place = DaemonPlace::of(&self.common).ok()?;
        let mut answered = place.call(request, CALL_TIMEOUT).await;
        if answered.as_ref().is_err_and(|error| can_repeat(request, error)) && self.launch().await {
            answered = place.call(request, CALL_TIMEOUT).await;
        }
        match answered {
            Ok(reply) => Some(tools_reply(reply)),
            Err(error) if can_repeat(request, &error) => {
                tracing::warn!("{error}; this process opens the repository itself");
                None
            }
            Err(error) => Some(ToolReply::Refused(error.to_string())),
        }
    }

    /// Starts a daemon. Returns whether one listens.
    #[cfg(unix)]
    async fn launch(self: &Arc<Self>) -> bool {
        if self.config.hooks.daemon_idle.is_zero() {
            return false;
        }
        let calls = Arc::clone(self);
        let launching = tokio::task::spawn_blocking(move || {
            let place = DaemonPlace::of(&calls.common)?;
            place.launch(&calls.directory)
        });
        match launching.await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::warn!("{error}; this process opens the repository itself");
                false
            }
            Err(_) => false,
        }
    }
}

/// Whether a call can be made again after an error. If a daemon was killed, a call that writes may have been carried out.
#[cfg(unix)]
fn can_repeat(request: &LocalRequest, error: &CallError) -> bool {
    let reads = match request {
        LocalRequest::Tools { request, .. } => request.only_reads(),
        _ => false,
    };
    match error {
        CallError::NoDaemon | CallError::OtherVersion(_) | CallError::Place(_) => true,
        CallError::Io(_) => reads,
        CallError::Failed(_) | CallError::Late => false,
    }
}

fn tools_reply(reply: LocalReply) -> ToolReply {
    match reply {
        LocalReply::Tools(reply) => reply,
        LocalReply::Context(_) | LocalReply::Hold(_) | LocalReply::Nothing => {
            ToolReply::Refused("the call failed inside Muninn".to_owned())
        }
    }
}
