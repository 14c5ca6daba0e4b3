//! The time that Muninn added to the newest requests.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

/// The number of requests that are kept.
const NEWEST: usize = 1_000;

/// The added times of the newest requests.
#[derive(Default)]
pub(super) struct RecentTimes(Mutex<VecDeque<Duration>>);

/// What Muninn added to the newest requests, until it sent them to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AddedTimes {
    /// The number of requests, at most 1,000.
    pub requests: usize,
    /// The median, in milliseconds.
    pub p50_ms: f64,
    /// The 99th percentile, in milliseconds.
    pub p99_ms: f64,
}

impl RecentTimes {
    pub(super) fn note(&self, added: Duration) {
        let mut times = self.0.lock();
        if times.len() == NEWEST {
            times.pop_front();
        }
        times.push_back(added);
    }

    /// The percentiles (nearest rank); `None` before the first request.
    pub(super) fn summary(&self) -> Option<AddedTimes> {
        let mut times = Vec::from(self.0.lock().clone());
        times.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100);
            times.get(rank.checked_sub(1)?).map(|time| (time.as_secs_f64() * 1e6).round() / 1e3)
        };
        Some(AddedTimes { requests: times.len(), p50_ms: percentile(50)?, p99_ms: percentile(99)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_newest_requests() {
        let times = RecentTimes::default();
        assert_eq!(times.summary(), None);
        times.note(Duration::from_micros(1_234));
        assert_eq!(times.summary(), Some(AddedTimes { requests: 1, p50_ms: 1.234, p99_ms: 1.234 }));
        for ms in (1..=1_000).rev() {
            times.note(Duration::from_millis(ms));
        }
        assert_eq!(times.summary(), Some(AddedTimes { requests: 1_000, p50_ms: 500.0, p99_ms: 990.0 }));
    }
}
