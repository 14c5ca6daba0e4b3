//! The signals that end a server or reload its configuration.

use super::CliError;

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Stop,
    #[cfg_attr(not(unix), expect(dead_code, reason = "no signal requests it"))]
    Reload,
}

/// SIGTERM, SIGINT and SIGHUP, handled from before the socket is bound. On systems without signals, Ctrl-C stops the
/// server, and the configuration cannot be reloaded.
pub(super) struct Signals {
    runtime: tokio::runtime::Runtime,
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 3],
}

impl Signals {
    pub(super) fn install() -> Result<Signals, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        #[cfg(unix)]
        let signals = {
            use tokio::signal::unix::{SignalKind, signal};
            let _guard = runtime.enter();
            [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?]
        };
        Ok(Signals {
            runtime,
            #[cfg(unix)]
            signals,
        })
    }

    /// Waits for the next signal.
    pub(super) fn wait(&mut self) -> Request {
        self.wait_unless(std::future::pending::<Request>())
    }

    /// Waits for the next signal, or for what `other` returns.
    #[cfg(unix)]
    pub(super) fn wait_unless<T: From<Request>>(&mut self, other: impl Future<Output = T>) -> T {
        let [terminate, interrupt, hang_up] = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => Request::Stop.into(),
                _ = interrupt.recv() => Request::Stop.into(),
                _ = hang_up.recv() => Request::Reload.into(),
                other = other => other,
            }
        })
    }

    #[cfg(not(unix))]
    pub(super) fn wait_unless<T: From<Request>>(&mut self, other: impl Future<Output = T>) -> T {
        self.runtime.block_on(async {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => Request::Stop.into(),
                other = other => other,
            }
        })
    }
}
