//! Supervised background threads.
//!
//! Each task has a name. One cancellation token stops all tasks, and the shutdown waits for them for a limited time. A
//! panic in a task is logged and counted. A permanent task is restarted after a panic. After five panics it is not
//! restarted.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex, MutexGuard};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// Maximum number of panics after which a permanent task is restarted.
const MAX_RESTARTS: u32 = 4;

/// The owner of a process's background threads. Clones share the tasks.
#[derive(Clone, Default)]
pub struct Supervisor(Arc<Inner>);

#[derive(Default)]
struct Inner {
    stop: CancellationToken,
    tasks: Mutex<BTreeMap<&'static str, TaskCounts>>,
    ended: Condvar,
}

/// The counts of the tasks with one name.
#[derive(Default)]
struct TaskCounts {
    running: usize,
    /// The number of running tasks that end with their owner instead of on cancellation.
    owned: usize,
    panics: u32,
    is_off: bool,
}

/// The state of the tasks with one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TaskReport {
    pub name: &'static str,
    pub state: TaskState,
    /// The number of panics.
    pub panics: u32,
}

/// The state of the tasks with one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// At least one task is running.
    Running,
    /// All tasks have ended.
    Done,
    /// The task panicked repeatedly and is not restarted until the process restarts.
    Off,
}

/// A handle of a started task.
#[derive(Debug)]
pub struct Task(Arc<(Mutex<bool>, Condvar)>);

impl Supervisor {
    /// Returns the token that tells the tasks to end.
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// Runs `work` on its own thread until it returns, and restarts it after a panic.
    pub fn keep(&self, name: &'static str, work: impl FnMut() + Send + 'static) -> io::Result<Task> {
        self.spawn(name, false, self.restarting(name, work))
    }

    /// Like [`Supervisor::keep`], for a task that ends when its owner is dropped. [`Supervisor::drain`] does not wait
    /// for it.
    pub fn keep_owned(&self, name: &'static str, work: impl FnMut() + Send + 'static) -> io::Result<Task> {
        self.spawn(name, true, self.restarting(name, work))
    }

    /// Runs `work` on its own thread, once.
    pub fn run(&self, name: &'static str, work: impl FnOnce() + Send + 'static) -> io::Result<Task> {
        let supervisor = self.clone();
        self.spawn(name, false, move || {
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                supervisor.panicked(name, false);
            }
        })
    }

    /// Returns the state of all tasks, by name.
    pub fn report(&self) -> Vec<TaskReport> {
        let state = |counts: &TaskCounts| match (counts.is_off, counts.running) {
            (true, _) => TaskState::Off,
            (false, 0) => TaskState::Done,
            (false, _) => TaskState::Running,
        };
        let tasks = self.tasks();
        let report =
            tasks.iter().map(|(name, counts)| TaskReport { name, state: state(counts), panics: counts.panics });
        report.collect()
    }

    /// Tells all tasks to end and waits for them until `deadline`. Returns the names of the tasks that are still
    /// running.
    pub fn drain(&self, deadline: Instant) -> Vec<&'static str> {
        self.0.stop.cancel();
        let is_busy = |counts: &TaskCounts| counts.running > counts.owned;
        let mut tasks = self.tasks();
        self.0.ended.wait_while_until(&mut tasks, |tasks| tasks.values().any(is_busy), deadline);
        let busy = tasks.iter().filter(|(_, counts)| is_busy(counts));
        busy.map(|(name, _)| *name).collect()
    }

    fn restarting<W: FnMut() + Send>(&self, name: &'static str, mut work: W) -> impl FnOnce() + Send + use<W> {
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

    /// Counts a panic. Returns whether a permanent task is restarted.
    fn panicked(&self, name: &'static str, is_permanent: bool) -> bool {
        let mut tasks = self.tasks();
        let counts = tasks.entry(name).or_default();
        counts.panics += 1;
        let restart = is_permanent && counts.panics <= MAX_RESTARTS;
        counts.is_off |= is_permanent && !restart;
        if counts.is_off {
            tracing::error!(panics = counts.panics, "the task {name} keeps panicking and is off until a restart");
        } else {
            tracing::error!(panics = counts.panics, "the task {name} panicked");
        }
        restart
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<&'static str, TaskCounts>> {
        self.0.tasks.lock()
    }
}

/// Counts a task as running until it is dropped.
struct Running {
    supervisor: Supervisor,
    name: &'static str,
    is_owned: bool,
    done: Arc<(Mutex<bool>, Condvar)>,
}

impl Running {
    fn new(supervisor: &Supervisor, name: &'static str, is_owned: bool) -> Running {
        let mut tasks = supervisor.tasks();
        let counts = tasks.entry(name).or_default();
        counts.running += 1;
        counts.owned += usize::from(is_owned);
        drop(tasks);
        Running { supervisor: supervisor.clone(), name, is_owned, done: Arc::default() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(counts) = self.supervisor.tasks().get_mut(self.name) {
            counts.running -= 1;
            counts.owned -= usize::from(self.is_owned);
        }
        self.supervisor.0.ended.notify_all();
        let (done, changed) = &*self.done;
        *done.lock() = true;
        changed.notify_all();
    }
}

impl Task {
    /// Waits until the task has ended.
    pub fn wait(&self) {
        let (done, changed) = &*self.0;
        changed.wait_while(&mut done.lock(), |done| !*done);
    }

    /// Waits until the task has ended or `deadline` has passed. Returns whether the task has ended.
    pub fn wait_until(&self, deadline: Instant) -> bool {
        let (done, changed) = &*self.0;
        let mut done = done.lock();
        changed.wait_while_until(&mut done, |done| !*done, deadline);
        *done
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
    fn a_permanent_task_is_restarted_after_a_panic_with_its_state() {
        let supervisor = Supervisor::default();
        let (sender, jobs) = channel::<u32>();
        let (done, results) = channel();
        let task = supervisor.keep("adding", move || {
            for job in &jobs {
                assert_ne!(job, 2, "the task panics on the job 2");
                done.send(job).unwrap();
            }
        });
        (1..=3).for_each(|job| sender.send(job).unwrap());
        assert_eq!((results.recv(), results.recv()), (Ok(1), Ok(3)));
        let report = |state| TaskReport { name: "adding", state, panics: 1 };
        assert_eq!(supervisor.report(), [report(TaskState::Running)]);
        drop(sender);
        assert!(task.unwrap().wait_until(soon()));
        assert_eq!(supervisor.report(), [report(TaskState::Done)]);
    }

    #[test]
    fn a_permanent_task_is_given_up_after_repeated_panics_and_a_single_run_is_not_restarted() {
        let supervisor = Supervisor::default();
        supervisor.keep("broken", || panic!("as a test does")).unwrap().wait();
        supervisor.run("once", || panic!("as a test does")).unwrap().wait();
        let found: Vec<_> = supervisor.report().iter().map(|one| (one.name, one.state, one.panics)).collect();
        assert_eq!(found, [("broken", TaskState::Off, MAX_RESTARTS + 1), ("once", TaskState::Done, 1)]);
    }

    #[test]
    fn drain_waits_for_tasks_and_names_the_blocked_ones() {
        let supervisor = Supervisor::default();
        let stop = supervisor.stopping().clone();
        let listens = move || {
            while !stop.is_cancelled() {
                std::thread::yield_now();
            }
        };
        let listening = supervisor.run("listens", listens).unwrap();
        let (_sender, receiver) = channel::<()>();
        let (_owner, queue) = channel::<()>();
        supervisor.run("blocked", move || receiver.recv().unwrap_or_default()).unwrap();
        supervisor.keep_owned("owned", move || queue.recv().unwrap_or_default()).unwrap();
        assert!(!listening.wait_until(Instant::now()));
        let left = supervisor.drain(Instant::now());
        assert!(left.contains(&"blocked"), "{left:?}");
        listening.wait();
        assert_eq!(supervisor.drain(Instant::now()), ["blocked"]);
    }
}
