//! A folder that may be watched, so that its files need not be looked at each time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use muninn_base::Supervisor;

use super::{Changes, Scope, Watcher};

/// The time that the system has for reporting changes. Then all files are looked at. A test waits as long as it takes.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 20 });

pub struct WatchedFolder {
    root: PathBuf,
    /// The directory of the watcher's marks.
    home: PathBuf,
    /// The owner of the watcher's threads; without one, the folder is not watched.
    supervisor: Option<Supervisor>,
    watching: Watching,
}

#[derive(Default)]
enum Watching {
    #[default]
    NotYet,
    By(Watcher),
    /// The system cannot watch this folder.
    Impossible,
}

impl WatchedFolder {
    /// The folder `root`, which is not watched yet.
    pub fn new(root: &Path, home: &Path, supervisor: Option<&Supervisor>) -> WatchedFolder {
        WatchedFolder {
            root: root.to_owned(),
            home: home.to_owned(),
            supervisor: supervisor.cloned(),
            watching: Watching::NotYet,
        }
    }

    /// Watches it, if it is not watched yet and can be.
    pub fn watch(&mut self) {
        let (Watching::NotYet, Some(supervisor)) = (&self.watching, &self.supervisor) else {
            return;
        };
        self.watching = match Watcher::start(Scope::Folder(self.root.clone()), Some(&self.home), supervisor) {
            Ok(watcher) => Watching::By(watcher),
            Err(_) => Watching::Impossible,
        };
    }

    /// Waits until all directories are watched; `false` if they never are.
    pub fn wait_ready(&self, patience: Duration) -> bool {
        matches!(&self.watching, Watching::By(watcher) if watcher.wait_ready(patience))
    }

    /// Whether certainly nothing has changed since the last call.
    pub fn saw_no_change(&mut self) -> bool {
        let Watching::By(watcher) = &self.watching else {
            return false;
        };
        if watcher.failure().is_some() {
            self.watching = Watching::Impossible;
            return false;
        }
        let is_settled = watcher.settle(PATIENCE);
        // Changes are reported once, so they are taken in any case: a look follows.
        watcher.changes() == Changes::None && is_settled
    }
}
