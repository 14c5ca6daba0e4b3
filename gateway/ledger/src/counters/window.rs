//! Exact rate limits: at most the limit within any sixty seconds.
//!
//! A window keeps the times of the last minute's requests, at most as many as the limit: a few kilobytes for each key.
//! A token bucket would need less memory, but admits up to twice the limit within a minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The window of a limit.
pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// The times of a key's uses within the last minute, oldest first.
#[derive(Debug, Default)]
pub(super) struct Window(VecDeque<Instant>);

impl Window {
    /// Counts a request at `now`, or returns the time until the next one is admitted.
    pub(super) fn count(&mut self, limit: u32, now: Instant) -> Result<(), Duration> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let used = &mut self.0;
        // Two threads may take the lock in another order than they read the clock.
        let now = used.back().map_or(now, |last| now.max(*last));
        while used.front().is_some_and(|first| now.duration_since(*first) >= MINUTE) {
            used.pop_front();
        }
        if used.len() < limit {
            used.push_back(now);
            return Ok(());
        }
        // After the limit was lowered, the window may hold more than `limit` times.
        let blocking = used[used.len() - limit];
        Err(MINUTE - now.duration_since(blocking))
    }

    /// Forgets the newest request.
    pub(super) fn take_back(&mut self) {
        self.0.pop_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_lowered_limit_holds_at_once() {
        let mut window = Window::default();
        let start = Instant::now();
        for second in 0..5 {
            assert_eq!(window.count(5, start + Duration::from_secs(second)), Ok(()));
        }
        let later = start + Duration::from_secs(5);
        assert_eq!(window.count(2, later), Err(Duration::from_secs(58)));
        assert_eq!(window.count(6, later), Ok(()));
    }

    proptest! {
        #[test]
        fn no_sixty_seconds_see_more_than_the_limit(
            limit in 1_u32..8,
            gaps in proptest::collection::vec(0_u64..30_000, 1..80),
        ) {
            let mut window = Window::default();
            let mut now = Instant::now();
            let mut admitted: Vec<Instant> = Vec::new();
            for gap in gaps {
                now += Duration::from_millis(gap);
                let recent = |at: &&Instant| now.duration_since(**at) < MINUTE;
                let before = admitted.iter().filter(recent).count();
                match window.count(limit, now) {
                    Ok(()) => {
                        prop_assert!(before < limit as usize, "one too many");
                        admitted.push(now);
                    }
                    Err(wait) => {
                        prop_assert_eq!(before, limit as usize, "refused too early");
                        // The wait is exact to the nanosecond.
                        let then = now + wait;
                        let still = admitted.iter().filter(|at| then.duration_since(**at) < MINUTE).count();
                        prop_assert!(still < limit as usize);
                        let just_before = then - Duration::from_nanos(1);
                        let full = admitted.iter().filter(|at| just_before.duration_since(**at) < MINUTE).count();
                        prop_assert_eq!(full, limit as usize);
                    }
                }
            }
        }
    }
}
