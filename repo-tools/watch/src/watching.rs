use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_base::Supervisor;

use super::change::{Changes, Scope, WatchError};
use super::marks::Marks;
use super::setter::WatchSetter;
use super::shared::Shared;
use super::shares;
use super::watcher::Watcher;

/// Maximum number of watched directories. Each takes about 1 kB of kernel memory.
const MAX_DIRECTORIES: usize = 100_000;

impl Watcher {
    /// Starts watching. `home` is the parent of the mark directory; without it the system's temporary directory is
    /// used. Returns at once: watches are set in the background, and until then everything can have changed.
    ///
    /// # Errors
    /// [`WatchError`] if the system cannot watch these directories. Later failures are returned by [`Watcher::failure`].
    pub fn start(scope: Scope, home: Option<&Path>, supervisor: &Supervisor) -> Result<Self, WatchError> {
        Self::start_bounded(scope, home, supervisor, MAX_DIRECTORIES)
    }

    fn start_bounded(
        scope: Scope,
        home: Option<&Path>,
        supervisor: &Supervisor,
        max_directories: usize,
    ) -> Result<Self, WatchError> {
        #[cfg(target_os = "linux")]
        shares::refuse(scope.root())?;
        let (marks, directory) = Marks::new(home).map_err(|source| WatchError::Marks { source })?;
        let shared = Arc::new(Shared::new(scope, directory));
        let setter = WatchSetter::new(&shared, max_directories)?;
        let setter = supervisor.run("watch", move || setter.run()).map_err(|source| WatchError::Thread { source })?;
        Ok(Self { shared, marks, setter: Some(setter) })
    }

    /// Takes the changes since the last call; costs a lock. Changes are returned once: the caller must apply them
    /// before another question uses the same snapshot.
    ///
    /// A change is visible once its event has been read; [`Watcher::settle`] waits for that.
    pub fn changes(&self) -> Changes {
        self.shared.take()
    }

    /// Blocks until there are changes. Returns false when watching has stopped.
    pub fn wait(&self) -> bool {
        self.shared.wait_for_changes()
    }

    /// Restores [`Changes::Everything`], for a caller that took the changes and then could not walk.
    pub fn put_back(&self) {
        self.shared.put_back();
    }

    /// Waits until all changes have been taken; false after the deadline.
    pub fn wait_taken(&self, deadline: Instant) -> bool {
        self.shared.wait_taken(deadline)
    }

    /// Stops watching, wakes waiting callers, and removes the mark directory.
    pub fn stop(&self) {
        self.shared.stop();
        self.marks.remove();
    }

    /// Ensures that the next [`Watcher::changes`] includes everything that happened before this call.
    ///
    /// Renames a file in the watched mark directory and waits for the event: events arrive in order, so all earlier
    /// events have arrived as well. The wait is usually well under a millisecond. Returns `false` after the deadline,
    /// or if watches are incomplete; then `changes` returns everything. On Windows the order of events of two
    /// directories is very likely, but not guaranteed.
    pub fn settle(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let Some(resets) = self.shared.resets_if_complete() else {
            return false;
        };
        match self.marks.set() {
            Ok(mark) => self.shared.wait_for(mark, resets, deadline),
            Err(_) => {
                // System services delete temporary directories that were not used for some days.
                match self.marks.renew() {
                    Ok(directory) => self.shared.renew(directory),
                    Err(source) => self.shared.fail(WatchError::Marks { source }),
                }
                false
            }
        }
    }

    /// Waits until all watches are set; false after the deadline, or if watching failed.
    pub fn wait_ready(&self, patience: Duration) -> bool {
        self.shared.wait_ready(Instant::now() + patience)
    }

    /// Why watching stopped, if it did.
    pub fn failure(&self) -> Option<&WatchError> {
        self.shared.failure()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(setter) = self.setter.take() {
            setter.wait();
        }
    }
}

#[cfg(test)]
mod tests;
