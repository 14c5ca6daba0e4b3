//! The clock, passed as a value so that tests control the time.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use ulid::{Generator, Ulid};

/// A clock that also generates ids in order of time. Clones share one clock.
///
/// Durations are measured with [`std::time::Instant`], which no clock can set.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` for the system time.
    fixed: Option<Mutex<Timestamp>>,
    ids: Mutex<Generator>,
}

impl Clock {
    /// The system clock; all callers share one.
    pub fn system() -> Self {
        static SYSTEM: LazyLock<Clock> = LazyLock::new(|| Clock::new(None));
        SYSTEM.clone()
    }

    /// A fixed clock, moved by [`Self::advance`].
    pub fn fixed(at: Timestamp) -> Self {
        Self::new(Some(Mutex::new(at)))
    }

    fn new(fixed: Option<Mutex<Timestamp>>) -> Self {
        let ids = Mutex::new(Generator::new());
        Self(Arc::new(Inner { fixed, ids }))
    }

    /// Moves a fixed clock and its clones forward. The system clock is unaffected.
    pub fn advance(&self, by: Duration) {
        if let Some(fixed) = &self.0.fixed {
            let mut now = fixed.lock();
            *now = now.checked_add(by).unwrap_or(Timestamp::MAX);
        }
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        match &self.0.fixed {
            None => Timestamp::now(),
            Some(fixed) => *fixed.lock(),
        }
    }

    /// The current UTC date.
    pub fn today(&self) -> Date {
        self.now().to_zoned(TimeZone::UTC).date()
    }

    /// A new id, greater than all ids of this clock, so that ids sort by creation.
    pub fn id(&self) -> Ulid {
        let now = SystemTime::from(self.now());
        let mut ids = self.0.ids.lock();
        ids.generate_from_datetime(now).unwrap_or_else(|_| Ulid::from_datetime(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_clock_advances_with_all_clones() {
        let clock = Clock::fixed("2026-01-31T23:59:59.5Z".parse().unwrap());
        let other = clock.clone();
        assert_eq!((clock.now(), clock.today().day()), (other.now(), 31));
        clock.advance(Duration::from_millis(500));
        assert_eq!(other.now().to_string(), "2026-02-01T00:00:00Z");
        assert_eq!(other.today().to_string(), "2026-02-01");
    }

    #[test]
    fn ids_follow_the_clock_and_each_other() {
        let clock = Clock::fixed("2026-01-31T00:00:00Z".parse().unwrap());
        let ids = [clock.id(), clock.id()];
        assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
        assert_eq!(SystemTime::from(clock.now()), ids[0].datetime());
        assert!(Clock::system().id() < Clock::system().id(), "of one process");
    }
}
