//! What the two threads of a watcher and those who ask it have in common.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use muninn_repo_tools::{RelPath, Worktree};

use super::{Changes, MAX_PATHS, WatchError};

/// Never locked while the file system is asked for anything.
pub(super) struct Shared {
    /// The top of the worktree.
    pub(super) root: PathBuf,
    /// Where `info/exclude` is, or will be.
    pub(super) common_dir: PathBuf,
    state: Mutex<State>,
    /// Whenever a mark arrived, work came or was done, or it is over.
    changed: Condvar,
    failure: OnceLock<WatchError>,
}

/// What is known.
pub(super) struct State {
    seen: Changes,
    /// The directories that are watched, without the root. Only what happens right in one of them counts.
    pub(super) directories: BTreeSet<RelPath>,
    /// Where marks are left.
    pub(super) marks: PathBuf,
    newest_mark: u64,
    /// Work for the setter.
    work: Work,
    /// Whether it is at it.
    busy: bool,
    /// Whether all watches were ever set and none has to be set anew.
    is_complete: bool,
    /// How often that ceased.
    resets: u64,
    stopped: bool,
}

/// Work for the thread that sets watches.
#[derive(Default)]
pub(super) struct Work {
    /// All directories have to be listed and watched, whatever was known before.
    pub(super) all: bool,
    /// These have to be, and those below them.
    pub(super) below: BTreeSet<RelPath>,
}

impl Work {
    fn is_empty(&self) -> bool {
        !self.all && self.below.is_empty()
    }
}

impl Shared {
    pub(super) fn new(worktree: &Worktree, marks: PathBuf) -> Self {
        let state = State {
            seen: Changes::Everything,
            directories: BTreeSet::new(),
            marks,
            newest_mark: 0,
            work: Work {
                all: true,
                ..Work::default()
            },
            busy: false,
            is_complete: false,
            resets: 0,
            stopped: false,
        };
        Self {
            root: worktree.root().to_owned(),
            common_dir: worktree.common_dir().to_owned(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            failure: OnceLock::new(),
        }
    }

    /// A poisoned lock is taken all the same: no writer leaves the state half written.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes whoever waits for that.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    /// Gives up: everything may have changed from now on.
    pub(super) fn fail(&self, error: WatchError) {
        // Only the first reason is kept; the others follow from it.
        let _kept = self.failure.set(error);
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

    /// If all watches stand: for [`Shared::wait_for`], how often they had ceased to.
    pub(super) fn standing(&self) -> Option<u64> {
        let state = self.lock();
        state.is_complete.then_some(state.resets)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Watches another directory for marks, and everything else anew.
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
        self.wait(deadline, |state| state.seen == Changes::None || state.stopped)
            .seen
            == Changes::None
    }

    /// Waits until there is something to take; false when it is over.
    pub(super) fn wait_for_changes(&self) -> bool {
        let mut state = self.lock();
        while !(state.stopped || state.is_complete && state.seen != Changes::None) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.stopped
    }

    /// Waits until a mark has arrived and nothing that came before it is left to do. In vain if there is an upheaval
    /// meanwhile: a queue that runs over loses marks too.
    pub(super) fn wait_for(&self, mark: u64, resets: u64, deadline: Instant) -> bool {
        let settled = |state: &State| state.newest_mark >= mark && state.work.is_empty() && !state.busy;
        let calm = |state: &State| state.is_complete && state.resets == resets;
        let mut state = self.wait(deadline, |state| settled(state) || !calm(state));
        let in_time = calm(&state) && settled(&state);
        if !in_time {
            state.seen = Changes::Everything;
        }
        in_time
    }

    pub(super) fn wait_standing(&self, deadline: Instant) -> bool {
        self.wait(deadline, |state| state.is_complete || state.stopped)
            .is_complete
    }

    fn wait(&self, deadline: Instant, done: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// Waits for work, and takes all that there is; `None` when it is over.
    pub(super) fn next_work(&self) -> Option<Work> {
        let mut state = self.lock();
        while state.work.is_empty() && !state.stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped {
            return None;
        }
        state.busy = true;
        Some(std::mem::take(&mut state.work))
    }
}

impl State {
    /// A mark has arrived.
    pub(super) fn reach(&mut self, mark: u64) {
        self.newest_mark = self.newest_mark.max(mark);
    }

    /// Something at a path, or below it, may have changed.
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

    /// A directory is there that may be a new one.
    pub(super) fn look_below(&mut self, path: RelPath) {
        self.work.below.insert(path);
        if self.work.below.len() > MAX_PATHS {
            self.reset();
        }
    }

    /// Nothing that is known about directories can be relied upon.
    pub(super) fn reset(&mut self) {
        self.seen = Changes::Everything;
        self.is_complete = false;
        self.resets += 1;
        self.work = Work {
            all: true,
            ..Work::default()
        };
    }

    /// The setter has finished its work. After `all`, everything may have changed, because nobody listened before.
    pub(super) fn finish(&mut self, all: bool) {
        self.busy = false;
        if all && !self.stopped {
            self.seen = Changes::Everything;
            self.is_complete = !self.work.all;
        }
    }

    /// A directory is no longer there, nor what was below it.
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
