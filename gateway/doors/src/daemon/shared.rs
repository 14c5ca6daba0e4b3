use std::path::PathBuf;

use tokio::sync::mpsc;

use super::activity::Activity;
use super::end::End;
use super::service::Service;
use crate::socket::{Host, Status, VERSION};

/// What the connections share.
pub(super) struct Shared<S> {
    pub(super) service: S,
    pub(super) host: Host,
    pub(super) activity: Activity,
    pub(crate) ends: mpsc::Sender<End>,
}

impl<S: Service> Shared<S> {
    /// Ends the server. Of several reasons the first one counts.
    pub(super) fn end(&self, end: End) {
        self.ends.try_send(end).ok();
    }

    pub(super) fn status(&self) -> Status {
        let (calls, active) = self.activity.calls();
        let mut worktrees: Vec<PathBuf> = self.service.worktrees();
        worktrees.sort();
        Status {
            host: self.host,
            version: VERSION.to_owned(),
            process: std::process::id(),
            since: self.activity.since().to_string(),
            calls,
            active,
            worktrees,
        }
    }
}
