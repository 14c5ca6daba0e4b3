//! An application that answers one call and ends, for hooks without a process that already holds the index.
//!
//! It reads the stored index of an earlier process, as far as its time allows, and never builds one: reading a hundred
//! thousand lines takes seconds, and a prompt waits. Without a stored index, context comes from paths and a bounded grep.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use muninn_config::{Config, ConfigError, paths};
use muninn_context_engine::tokens;
use muninn_text::model::block_on;

use super::local::{LocalReply, LocalRequest};
use super::turn::millis;
use super::{App, Workspace};

/// The share of a call's time, one divided by this number, in which it waits for the stored index.
const WAIT_DIVISOR: u32 = 2;
/// The time for learning and writing after the reply.
const FINISHING: Duration = Duration::from_secs(2);

impl App {
    /// Opens the repository of a directory for one call. The records of earlier processes are left to a process with more
    /// time.
    ///
    /// # Errors
    /// As [`App::open`].
    pub fn open_once(config: Config, directory: &Path) -> Result<App, ConfigError> {
        App::opened(config, directory, 0, &paths::state_dir()?, false)
    }

    /// Answers one call. `deliver` gets the reply within `time`, or later if planning takes longer; learning follows it.
    ///
    /// # Errors
    /// If no runtime can be started.
    pub fn answer_once(
        self: &Arc<Self>,
        request: LocalRequest,
        time: Duration,
        deliver: impl FnOnce(LocalReply),
    ) -> std::io::Result<()> {
        let started = Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        self.load_stored_index(started + time / WAIT_DIVISOR);
        let loaded = millis(started.elapsed());
        deliver(runtime.block_on(self.answer_local(request)));
        let answered = millis(started.elapsed());
        self.learner.close(Instant::now() + FINISHING);
        if let Some(store) = &self.store {
            block_on(store.flush());
        }
        let finished = millis(started.elapsed());
        tracing::debug!(loaded, answered, finished, "the times of a call, in milliseconds");
        Ok(())
    }

    /// Reads the stored index in the background, and waits for it until `until`.
    fn load_stored_index(self: &Arc<Self>, until: Instant) {
        let (done, wait) = sync_channel(2);
        let loads: [fn(&App); 2] = [
            |app| app.workspace.load_stored(),
            // A map is priced in tokens. The tables take as long as the index.
            |app| {
                tokens::warm();
                if let Some(store) = &app.store
                    && let Err(error) = app.workspace.load_balance(&**store)
                {
                    tracing::debug!(%error, "the balance of maps is unknown");
                }
            },
        ];
        let mut waiting = 0;
        for load in loads {
            let (app, done) = (Arc::clone(self), done.clone());
            let started = self.supervisor.run("load", move || {
                load(&app);
                done.send(()).ok();
            });
            waiting += usize::from(started.is_ok());
        }
        drop(done);
        for _ in 0..waiting {
            if wait.recv_timeout(until.saturating_duration_since(Instant::now())).is_err() {
                tracing::debug!("the stored index is not used: it takes longer than the call may wait");
                return;
            }
        }
    }
}

impl Workspace {
    pub(super) fn load_stored(&self) {
        if self.engine.as_ref().is_some_and(|engine| engine.has_stored_index())
            && let Err(error) = self.refresh(&())
        {
            tracing::warn!(%error, "the stored index cannot be used");
        }
    }
}
