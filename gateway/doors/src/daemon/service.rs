//! What a server answers with.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use muninn_config::{Overrides, load};
use muninn_core::{App, LocalRequest};
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};

/// The application behind a socket.
pub(super) trait Service: Send + Sync + 'static {
    /// The reply to a request, both as JSON. Dropping the future cancels the work.
    ///
    /// # Errors
    /// If the request is not understood.
    fn call(&self, request: &RawValue) -> impl Future<Output = serde_json::Result<Box<RawValue>>> + Send;

    /// The roots of the open worktrees.
    fn worktrees(&self) -> Vec<PathBuf>;

    /// Whether the process has work although nobody calls.
    fn is_needed(&self) -> bool;

    /// Takes over what has changed, now and then and when the user asks for it.
    fn follow(&self);
}

/// The application of this process.
pub(super) struct AppService {
    pub(super) app: Arc<App>,
    /// The configuration file, if the process follows its changes.
    pub(super) config: Option<ConfigFile>,
}

impl Service for AppService {
    async fn call(&self, request: &RawValue) -> serde_json::Result<Box<RawValue>> {
        let request: LocalRequest = serde_json::from_str(request.get())?;
        self.follow();
        let _refresh = RefreshOnDrop { app: &self.app, directory: request.directory().clone() };
        to_raw_value(&self.app.answer_local(request).await)
    }

    fn worktrees(&self) -> Vec<PathBuf> {
        let open = self.app.workspaces.all().into_iter();
        open.filter(|workspace| workspace.problem.is_none()).map(|workspace| workspace.root.clone()).collect()
    }

    fn is_needed(&self) -> bool {
        self.app.has_reminders()
    }

    fn follow(&self) {
        if let Some(config) = &self.config {
            config.follow(&self.app);
        }
    }
}

/// Brings the index of a call's worktree up to date once the call has ended or its client has left: the next one profits.
struct RefreshOnDrop<'a> {
    app: &'a App,
    directory: PathBuf,
}

impl Drop for RefreshOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(root) = self.app.workspaces.root_at(&self.directory) {
            self.app.keep_index_fresh(&root.to_string_lossy());
        }
    }
}

/// The user's configuration file and the state of it that is in force. Nobody tells a daemon that the file has changed.
pub struct ConfigFile {
    /// The file, if the user named one.
    named: Option<PathBuf>,
    path: PathBuf,
    seen: Mutex<Option<Stamp>>,
}

/// The time of a file's last change, and its length.
type Stamp = (SystemTime, u64);

impl ConfigFile {
    /// The file at `path`, before it is read; `named`: whether the user named it.
    pub fn new(path: &Path, named: bool) -> ConfigFile {
        ConfigFile { named: named.then(|| path.to_owned()), path: path.to_owned(), seen: Mutex::new(stamp(path)) }
    }

    /// Applies the file if it has changed. An error leaves the previous configuration in force.
    fn follow(&self, app: &App) {
        let now = stamp(&self.path);
        let mut seen = self.seen.lock();
        if *seen == now {
            return;
        }
        *seen = now;
        let read = load(&Overrides { config: self.named.clone(), listen: None });
        match read.and_then(|config| app.reload_for_local_programs(config)) {
            Ok(kept) => {
                tracing::info!("the configuration was reloaded");
                kept.iter().for_each(|line| tracing::warn!("{line}"));
            }
            Err(error) => tracing::error!("{error}; the previous configuration stays in force"),
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = path.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
