//! Background work: threads that no request waits for, under one owner.
//!
//! Each task has a name. One token tells all of them to end, and a stop waits for them for a bounded time. A panic in a
//! task is logged and counted; a task that goes on for as long as the process does is run again, and given up when it
//! keeps panicking.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// A task that panicked more often than this is given up.
const MOST_PANICS: u32 = 4;

/// The owner of a process's background work. Clones share the tasks.
#[derive(Clone, Default)]
pub struct Supervisor(Arc<Inner>);

#[derive(Default)]
struct Inner {
    stop: CancellationToken,
    tasks: Mutex<BTreeMap<&'static str, Tally>>,
    ended: Condvar,
}

#[derive(Default)]
struct Tally {
    running: usize,
    /// Those of them that end with what owns them, and not by the token.
    owned: usize,
    panics: u32,
    is_off: bool,
}

/// How the tasks of a name are doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TaskReport {
    /// The name.
    pub name: &'static str,
    /// What they do now.
    pub state: TaskState,
    /// How often one has panicked.
    pub panics: u32,
}

/// What the tasks of a name do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// At least one runs.
    Running,
    /// They have done what they had to do.
    Done,
    /// Given up, because it kept panicking: what it did is not done until a restart.
    Off,
}

/// One task that was started.
#[derive(Debug)]
pub struct Task(Arc<(Mutex<bool>, Condvar)>);

impl Supervisor {
    /// What tells the tasks to end.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Runs `work` on a thread of its own until it returns, and again when it panicked.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn keep(&self, name: &'static str, work: impl FnMut() + Send + 'static) -> io::Result<Task> {
        self.spawn(name, false, self.again_and_again(name, work))
    }

    /// The same for a task that ends with what it works for, once that is dropped: no stop waits for it.
    ///
    /// # Errors
    /// Those of [`Supervisor::keep`].
    pub fn keep_owned(&self, name: &'static str, work: impl FnMut() + Send + 'static) -> io::Result<Task> {
        self.spawn(name, true, self.again_and_again(name, work))
    }

    /// Runs `work` on a thread of its own, once.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn run(&self, name: &'static str, work: impl FnOnce() + Send + 'static) -> io::Result<Task> {
        let supervisor = self.clone();
        self.spawn(name, false, move || {
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                supervisor.panicked(name, false);
            }
        })
    }

    /// How the tasks are doing, by name.
    #[must_use]
    pub fn report(&self) -> Vec<TaskReport> {
        let state = |tally: &Tally| match (tally.is_off, tally.running) {
            (true, _) => TaskState::Off,
            (false, 0) => TaskState::Done,
            (false, _) => TaskState::Running,
        };
        let tasks = self.tasks();
        let report = tasks.iter().map(|(name, tally)| TaskReport {
            name,
            state: state(tally),
            panics: tally.panics,
        });
        report.collect()
    }

    /// Tells all tasks to end and waits for them until then. Returns the names of those that have not ended.
    pub fn drain(&self, until: Instant) -> Vec<&'static str> {
        self.0.stop.cancel();
        let patience = until.saturating_duration_since(Instant::now());
        let is_waited_for = |tally: &Tally| tally.running > tally.owned;
        let waited = self
            .0
            .ended
            .wait_timeout_while(self.tasks(), patience, |tasks| tasks.values().any(is_waited_for));
        let (tasks, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let left = tasks.iter().filter(|(_, tally)| is_waited_for(tally));
        left.map(|(name, _)| *name).collect()
    }

    fn again_and_again<W: FnMut() + Send>(&self, name: &'static str, mut work: W) -> impl FnOnce() + Send + use<W> {
        let supervisor = self.clone();
        move || {
            while catch_unwind(AssertUnwindSafe(&mut work)).is_err() && supervisor.panicked(name, true) {}
        }
    }

    fn spawn(&self, name: &'static str, is_owned: bool, work: impl FnOnce() + Send + 'static) -> io::Result<Task> {
        let running = Running::new(self, name, is_owned);
        let task = Task(Arc::clone(&running.done));
        let thread = std::thread::Builder::new().name(format!("muninn-{name}"));
        thread.spawn(move || {
            let _running = running;
            work();
        })?;
        Ok(task)
    }

    /// Counts a panic. Returns whether a task that is to go on is run again.
    fn panicked(&self, name: &'static str, is_to_go_on: bool) -> bool {
        let mut tasks = self.tasks();
        let tally = tasks.entry(name).or_default();
        tally.panics += 1;
        let again = is_to_go_on && tally.panics <= MOST_PANICS;
        tally.is_off |= is_to_go_on && !again;
        match tally.is_off {
            true => tracing::error!(
                panics = tally.panics,
                "the task {name} keeps panicking and is off until a restart"
            ),
            false => tracing::error!(panics = tally.panics, "the task {name} panicked"),
        }
        again
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<&'static str, Tally>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts as one that runs until it is dropped.
struct Running {
    supervisor: Supervisor,
    name: &'static str,
    is_owned: bool,
    done: Arc<(Mutex<bool>, Condvar)>,
}

impl Running {
    fn new(supervisor: &Supervisor, name: &'static str, is_owned: bool) -> Running {
        let mut tasks = supervisor.tasks();
        let tally = tasks.entry(name).or_default();
        tally.running += 1;
        tally.owned += usize::from(is_owned);
        drop(tasks);
        Running {
            supervisor: supervisor.clone(),
            name,
            is_owned,
            done: Arc::default(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(tally) = self.supervisor.tasks().get_mut(self.name) {
            tally.running -= 1;
            tally.owned -= usize::from(self.is_owned);
        }
        self.supervisor.0.ended.notify_all();
        let (done, changed) = &*self.done;
        *done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }
}

impl Task {
    /// Waits for its end.
    pub fn wait(&self) {
        let (done, changed) = &*self.0;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        drop(changed.wait_while(done, |done| !*done));
    }

    /// Waits for its end until then; returns whether it came.
    #[must_use]
    pub fn wait_until(&self, until: Instant) -> bool {
        let (done, changed) = &*self.0;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = until.saturating_duration_since(Instant::now());
        let waited = changed.wait_timeout_while(done, patience, |done| !*done);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_task_that_panics_is_run_again_and_keeps_what_it_has() {
        let supervisor = Supervisor::default();
        let (sender, jobs) = channel::<u32>();
        let (done, results) = channel();
        let task = supervisor.keep("adding", move || {
            for job in &jobs {
                assert_ne!(job, 2, "as a test does");
                done.send(job).unwrap();
            }
        });
        (1..=3).for_each(|job| sender.send(job).unwrap());
        assert_eq!((results.recv(), results.recv()), (Ok(1), Ok(3)));
        let report = |state| TaskReport {
            name: "adding",
            state,
            panics: 1,
        };
        assert_eq!(supervisor.report(), [report(TaskState::Running)]);
        drop(sender);
        assert!(task.unwrap().wait_until(soon()));
        assert_eq!(supervisor.report(), [report(TaskState::Done)]);
    }

    #[test]
    fn a_task_that_keeps_panicking_is_given_up_and_one_that_runs_once_is_not_run_again() {
        let supervisor = Supervisor::default();
        supervisor.keep("broken", || panic!("as a test does")).unwrap().wait();
        supervisor.run("once", || panic!("as a test does")).unwrap().wait();
        let found: Vec<_> = supervisor
            .report()
            .iter()
            .map(|one| (one.name, one.state, one.panics))
            .collect();
        assert_eq!(
            found,
            [
                ("broken", TaskState::Off, MOST_PANICS + 1),
                ("once", TaskState::Done, 1)
            ]
        );
    }

    #[test]
    fn a_drain_waits_for_those_that_listen_and_names_the_others() {
        let supervisor = Supervisor::default();
        let stop = supervisor.stopping().clone();
        let listens = move || {
            while !stop.is_cancelled() {
                std::thread::yield_now();
            }
        };
        let listening = supervisor.run("listens", listens).unwrap();
        let (_held, waits) = channel::<()>();
        let (_owner, queue) = channel::<()>();
        supervisor
            .run("deaf", move || {
                let _held = waits.recv();
            })
            .unwrap();
        supervisor
            .keep_owned("owned", move || {
                let _owned = queue.recv();
            })
            .unwrap();
        assert!(!listening.wait_until(Instant::now()));
        let left = supervisor.drain(Instant::now());
        assert!(left.contains(&"deaf"), "{left:?}");
        listening.wait();
        assert_eq!(supervisor.drain(Instant::now()), ["deaf"]);
    }
}
