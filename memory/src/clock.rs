//! What time it is, as a value: whoever needs it has a clock passed in, so that a test says what time it is.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ulid::{Generator, Ulid};

/// Tells the time, and gives ids that follow it. Clones are one clock.
///
/// What takes how long is measured with [`std::time::Instant`], which no clock can set.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` where the system's time counts.
    fixed: Option<Mutex<Timestamp>>,
    ids: Mutex<Generator>,
}

impl Clock {
    /// The system's clock; all that ask for it share one.
    #[must_use]
    pub fn system() -> Self {
        static SYSTEM: LazyLock<Clock> = LazyLock::new(|| Clock::new(None));
        SYSTEM.clone()
    }

    /// A clock that stands still, until [`Self::advance`].
    #[must_use]
    pub fn fixed(at: Timestamp) -> Self {
        Self::new(Some(Mutex::new(at)))
    }

    fn new(fixed: Option<Mutex<Timestamp>>) -> Self {
        let ids = Mutex::new(Generator::new());
        Self(Arc::new(Inner { fixed, ids }))
    }

    /// Sets a fixed clock, and all its clones, forward. The system's stays as it is.
    pub fn advance(&self, by: Duration) {
        if let Some(fixed) = &self.0.fixed {
            let mut now = fixed.lock().unwrap_or_else(PoisonError::into_inner);
            *now = now.checked_add(by).unwrap_or(Timestamp::MAX);
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0.fixed {
            None => Timestamp::now(),
            Some(fixed) => *fixed.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// The day, of UTC.
    #[must_use]
    pub fn today(&self) -> Date {
        self.now().to_zoned(TimeZone::UTC).date()
    }

    /// An id of now, above all that this clock has given, so that what it names sorts as it came about.
    pub(crate) fn id(&self) -> Ulid {
        let now = SystemTime::from(self.now());
        let mut ids = self.0.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.generate_from_datetime(now)
            .unwrap_or_else(|_| Ulid::from_datetime(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_goes_on_for_all_its_clones_when_it_is_told_to() {
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
