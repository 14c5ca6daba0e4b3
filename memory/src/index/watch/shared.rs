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
    turned: Condvar,
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
    /// What the caretaker has to do.
    work: Work,
    /// Whether it is at it.
    busy: bool,
    /// Whether all watches were ever set and none has to be set anew.
    stands: bool,
    /// How often that ceased.
    upheavals: u64,
    stopped: bool,
}

/// What there is to do for the caretaker.
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
            stands: false,
            upheavals: 0,
            stopped: false,
        };
        Self {
            root: worktree.root().to_owned(),
            common_dir: worktree.common_dir().to_owned(),
            state: Mutex::new(state),
            turned: Condvar::new(),
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
        self.turned.notify_all();
        result
    }

    /// Gives up: everything may have changed from now on.
    pub(super) fn fail(&self, error: WatchError) {
        // Only the first reason is kept; the others follow from it.
        let _kept = self.failure.set(error);
        self.stop();
    }

    /// Ends the caretaker.
    pub(super) fn stop(&self) {
        self.update(|state| {
            state.stopped = true;
            state.stands = false;
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
        state.stands.then_some(state.upheavals)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Watches another directory for marks, and everything else anew.
    pub(super) fn renew(&self, marks: PathBuf) {
        self.update(|state| {
            state.marks = marks;
            state.everything_anew();
        });
    }

    pub(super) fn take(&self) -> Changes {
        let mut state = self.lock();
        if state.stands {
            self.turned.notify_all();
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
        while !(state.stopped || state.stands && state.seen != Changes::None) {
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.stopped
    }

    /// Waits until a mark has arrived and nothing that came before it is left to do. In vain if there is an upheaval
    /// meanwhile: a queue that runs over loses marks too.
    pub(super) fn wait_for(&self, mark: u64, upheavals: u64, deadline: Instant) -> bool {
        let settled = |state: &State| state.newest_mark >= mark && state.work.is_empty() && !state.busy;
        let calm = |state: &State| state.stands && state.upheavals == upheavals;
        let mut state = self.wait(deadline, |state| settled(state) || !calm(state));
        let in_time = calm(&state) && settled(&state);
        if !in_time {
            state.seen = Changes::Everything;
        }
        in_time
    }

    pub(super) fn wait_standing(&self, deadline: Instant) -> bool {
        self.wait(deadline, |state| state.stands || state.stopped).stands
    }

    fn wait(&self, deadline: Instant, done: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.turned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// Waits for work, and takes all that there is; `None` when it is over.
    pub(super) fn next_work(&self) -> Option<Work> {
        let mut state = self.lock();
        while state.work.is_empty() && !state.stopped {
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
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
            self.everything_anew();
        }
    }

    /// Nothing that is known about directories can be relied upon.
    pub(super) fn everything_anew(&mut self) {
        self.seen = Changes::Everything;
        self.stands = false;
        self.upheavals += 1;
        self.work = Work {
            all: true,
            ..Work::default()
        };
    }

    /// The caretaker has finished. After `all`, everything may have changed, because nobody listened before.
    pub(super) fn finish(&mut self, all: bool) {
        self.busy = false;
        if all && !self.stopped {
            self.seen = Changes::Everything;
            self.stands = !self.work.all;
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
