//! The deadline of a hook. It begins with the process, before any file is opened: a configuration, a repository or a log can
//! be a pipe or on a file system that hangs, and the client would wait.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The deadline until the configuration is read. A busy machine needs a second for that.
const BEFORE_CONFIGURATION: Duration = Duration::from_secs(2);
/// The longest time of the process after its deadline, in which it learns. The client may wait for it.
const FINISHING: Duration = Duration::from_secs(1);
/// The longest time for a line in the log, whose file system may hang too.
const LOGGING: Duration = Duration::from_millis(100);

/// A deadline that ends the process.
#[derive(Clone)]
pub(super) struct Deadline(Arc<Shared>);

struct Shared {
    started: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy)]
struct State {
    time: Duration,
    is_delivered: bool,
}

impl State {
    fn end(self) -> Duration {
        if self.is_delivered { self.time + FINISHING } else { self.time }
    }
}

impl Deadline {
    /// Starts the thread that ends the process.
    pub(super) fn start() -> std::io::Result<Deadline> {
        let deadline = Deadline(Arc::new(Shared {
            started: Instant::now(),
            state: Mutex::new(State { time: BEFORE_CONFIGURATION, is_delivered: false }),
            changed: Condvar::new(),
        }));
        let watched = deadline.clone();
        std::thread::Builder::new().name("deadline".to_owned()).spawn(move || watched.end_process())?;
        Ok(deadline)
    }

    /// Sets the configured time. It counts from the start.
    pub(super) fn set(&self, time: Duration) {
        self.change(|state| state.time = time);
    }

    /// Notes that the answer is printed, or that there is none. The process may go on for a moment.
    pub(super) fn delivered(&self) {
        self.change(|state| state.is_delivered = true);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.state.lock());
        self.0.changed.notify_all();
    }

    fn end_process(&self) {
        let mut state = self.0.state.lock();
        loop {
            let left = state.end().saturating_sub(self.0.started.elapsed());
            if left.is_zero() {
                break;
            }
            self.0.changed.wait_for(&mut state, left);
        }
        let time = state.time.as_millis();
        let (done, wait) = sync_channel(1);
        let logging = std::thread::Builder::new().spawn(move || {
            tracing::error!("a hook took longer than its deadline of {time} ms");
            done.send(()).ok();
        });
        if logging.is_ok() {
            wait.recv_timeout(LOGGING).ok();
        }
        std::process::exit(0);
    }
}
