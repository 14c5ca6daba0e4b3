//! The calls of a server, and the time since the last one.

use std::time::Duration;

use jiff::Timestamp;
use muninn_base::Clock;
use parking_lot::{Mutex, MutexGuard};

/// The calls of a server.
pub(super) struct Activity {
    clock: Clock,
    since: Timestamp,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    calls: u64,
    active: usize,
    /// The end of the last call, or the start of the server.
    last: Timestamp,
}

impl Activity {
    pub(super) fn new(clock: Clock) -> Activity {
        let now = clock.now();
        Activity { clock, since: now, state: Mutex::new(State { calls: 0, active: 0, last: now }) }
    }

    /// Counts a call as under way until the guard is dropped.
    pub(super) fn begin(&self) -> ActiveCall<'_> {
        let mut state = self.lock();
        state.active += 1;
        state.calls += 1;
        ActiveCall(self)
    }

    /// The start of the server.
    pub(super) fn since(&self) -> Timestamp {
        self.since
    }

    /// The number of calls so far, and the number of those under way.
    pub(super) fn calls(&self) -> (u64, usize) {
        let state = self.lock();
        (state.calls, state.active)
    }

    /// Whether there has been no call for some time. The time in which a machine sleeps counts. After the clock was set
    /// back, the wait begins anew.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        state.last = state.last.min(now);
        let idle = now.duration_since(state.last);
        state.active == 0 && idle.unsigned_abs() >= time
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// A call under way.
pub(super) struct ActiveCall<'a>(&'a Activity);

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        let now = self.0.clock.now();
        let mut state = self.0.lock();
        state.active -= 1;
        state.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF_AN_HOUR: Duration = Duration::from_mins(30);

    #[test]
    fn idle_time_begins_at_the_end_of_the_last_call() {
        let clock = Clock::fixed("2026-03-01T12:00:00Z".parse().unwrap());
        let activity = Activity::new(clock.clone());
        let is_idle = || activity.is_idle_for(HALF_AN_HOUR);
        clock.advance(HALF_AN_HOUR - Duration::from_secs(1));
        assert!(!is_idle());
        let call = activity.begin();
        clock.advance(HALF_AN_HOUR * 2);
        assert!(!is_idle(), "a call is under way");
        assert_eq!(activity.calls(), (1, 1));
        drop(call);
        assert!(!is_idle());
        clock.advance(HALF_AN_HOUR);
        assert!(is_idle());
        assert_eq!(activity.calls(), (1, 0));
    }
}
