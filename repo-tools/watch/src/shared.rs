//! The state shared by a watcher's threads and its callers.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Instant;

use muninn_base::RelPath;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::{Changes, MAX_PATHS, Scope, WatchError};

/// Never locked during file system calls.
pub(super) struct Shared {
    pub(super) scope: Scope,
    state: Mutex<State>,
    /// Signalled when a mark arrives, when work is added or finished, and when watching stops.
    changed: Condvar,
    failure: OnceLock<WatchError>,
}

pub(super) struct State {
    seen: Changes,
    /// Watched directories without the root. Only events directly in one of them count.
    pub(super) directories: BTreeSet<RelPath>,
    /// The mark directory.
    pub(super) marks: PathBuf,
    newest_mark: u64,
    /// Work for the setter.
    work: Work,
    /// Whether the setter is working.
    busy: bool,
    /// Whether all watches are set.
    is_complete: bool,
    /// How often the watches were reset.
    resets: u64,
    stopped: bool,
}

/// Work for the thread that sets watches.
#[derive(Default)]
pub(super) struct Work {
    /// List and watch all directories.
    pub(super) all: bool,
    /// List and watch these directories and those below them.
    pub(super) below: BTreeSet<RelPath>,
}

impl Work {
    fn is_empty(&self) -> bool {
        !self.all && self.below.is_empty()
    }
}

impl Shared {
    pub(super) fn new(scope: Scope, marks: PathBuf) -> Self {
        let state = State {
            seen: Changes::Everything,
            directories: BTreeSet::new(),
            marks,
            newest_mark: 0,
            work: Work { all: true, ..Work::default() },
            busy: false,
            is_complete: false,
            resets: 0,
            stopped: false,
        };
        Self { scope, state: Mutex::new(state), changed: Condvar::new(), failure: OnceLock::new() }
    }

    /// Locks the state, even if it is poisoned: no writer leaves the state inconsistent.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Changes the state, and wakes waiting threads.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Stops watching with an error: from now on everything can have changed.
    pub(super) fn fail(&self, error: WatchError) {
        // The first error is kept; later ones follow from it.
        self.failure.set(error).ok();
        self.stop();
    }

    /// Ends the thread that sets watches.
    pub(super) fn stop(&self) {
        self.update(|state| {
            state.stopped = true;
            state.is_complete = false;
            state.seen = Changes::Everything;
            state.directories.clear();
        });
    }

    pub(super) fn failure(&self) -> Option<&WatchError> {
        self.failure.get()
    }

    /// The number of resets, for [`Shared::wait_for`]; `None` if watches are incomplete.
    pub(super) fn resets_if_complete(&self) -> Option<u64> {
        let state = self.lock();
        state.is_complete.then_some(state.resets)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Changes the mark directory, and sets all watches anew.
    pub(super) fn renew(&self, marks: PathBuf) {
        self.update(|state| {
            state.marks = marks;
            state.reset();
        });
    }

    pub(super) fn take(&self) -> Changes {
        let mut state = self.lock();
        if state.is_complete {
            self.changed.notify_all();
            std::mem::replace(&mut state.seen, Changes::None)
        } else {
            Changes::Everything
        }
    }

    pub(super) fn put_back(&self) {
        self.update(|state| state.seen = Changes::Everything);
    }

    pub(super) fn wait_taken(&self, deadline: Instant) -> bool {
        self.wait(deadline, |state| state.seen == Changes::None || state.stopped).seen == Changes::None
    }

    /// Blocks until there are changes; false when watching stops.
    pub(super) fn wait_for_changes(&self) -> bool {
        let mut state = self.lock();
        while !(state.stopped || state.is_complete && state.seen != Changes::None) {
            self.changed.wait(&mut state);
        }
        !state.stopped
    }

    /// Waits until a mark has arrived and no earlier work is left. Fails after a reset, because an overflowing queue
    /// loses marks too.
    pub(super) fn wait_for(&self, mark: u64, resets: u64, deadline: Instant) -> bool {
        let has_arrived = |state: &State| state.newest_mark >= mark && state.work.is_empty() && !state.busy;
        let was_not_reset = |state: &State| state.is_complete && state.resets == resets;
        let mut state = self.wait(deadline, |state| has_arrived(state) || !was_not_reset(state));
        let in_time = was_not_reset(&state) && has_arrived(&state);
        if !in_time {
            state.seen = Changes::Everything;
        }
        in_time
    }

    pub(super) fn wait_ready(&self, deadline: Instant) -> bool {
        self.wait(deadline, |state| state.is_complete || state.stopped).is_complete
    }

    fn wait(&self, deadline: Instant, done: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while !done(&state) {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state
    }

    /// Blocks for work, and takes all of it; `None` when watching stops.
    pub(super) fn next_work(&self) -> Option<Work> {
        let mut state = self.lock();
        while state.work.is_empty() && !state.stopped {
            self.changed.wait(&mut state);
        }
        if state.stopped {
            return None;
        }
        state.busy = true;
        Some(std::mem::take(&mut state.work))
    }
}

impl State {
    /// Records the arrival of a mark.
    pub(super) fn reach(&mut self, mark: u64) {
        self.newest_mark = self.newest_mark.max(mark);
    }

    /// Records a change at a path or below it.
    pub(super) fn see(&mut self, path: RelPath) {
        if let Changes::None = self.seen {
            self.seen = Changes::Paths(BTreeSet::new());
        }
        if let Changes::Paths(paths) = &mut self.seen {
            paths.insert(path);
            if paths.len() > MAX_PATHS {
                self.seen = Changes::Everything;
            }
        }
    }

    /// Records a possibly new directory.
    pub(super) fn look_below(&mut self, path: RelPath) {
        self.work.below.insert(path);
        if self.work.below.len() > MAX_PATHS {
            self.reset();
        }
    }

    /// Discards all knowledge about directories.
    pub(super) fn reset(&mut self) {
        self.seen = Changes::Everything;
        self.is_complete = false;
        self.resets += 1;
        self.work = Work { all: true, ..Work::default() };
    }

    /// Records that the setter has finished. After `all`, everything can have changed, because events were missed
    /// before.
    pub(super) fn finish(&mut self, all: bool) {
        self.busy = false;
        if all && !self.stopped {
            self.seen = Changes::Everything;
            self.is_complete = !self.work.all;
        }
    }

    /// Removes a directory and everything below it.
    pub(super) fn forget(&mut self, path: &RelPath) {
        if !self.directories.remove(path) {
            return;
        }
        // `0` follows `/`.
        let (first, end) = (format!("{path}/"), format!("{path}0"));
        let bounds = (Bound::Included(first.as_str()), Bound::Excluded(end.as_str()));
        let below: Vec<RelPath> = self.directories.range::<str, _>(bounds).cloned().collect();
        for path in below {
            self.directories.remove(&path);
        }
    }
}
