//! Deadlines with cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A deadline with an optional cancellation flag.
///
/// Long operations check the deadline every few milliseconds. When the deadline has passed, they return their partial
/// result.
#[derive(Debug, Clone)]
pub struct Until {
    at: Instant,
    cancelled: Option<CancelFlag>,
}

/// A cancellation flag for all operations whose [`Until`] has it. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Sets the flag. It cannot be reset.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Until {
    /// Creates a deadline at a point in time.
    pub fn at(at: Instant) -> Self {
        Self { at, cancelled: None }
    }

    /// Creates a deadline after a duration from now.
    pub fn within(time: Duration) -> Self {
        Self::at(Instant::now() + time)
    }

    /// Adds a cancellation flag.
    pub fn or(self, cancelled: CancelFlag) -> Self {
        Self { cancelled: Some(cancelled), ..self }
    }

    /// Returns the earlier of this deadline and `at`, with the same cancellation flag.
    pub fn no_later_than(&self, at: Instant) -> Self {
        Self { at: self.at.min(at), cancelled: self.cancelled.clone() }
    }

    /// Returns whether the deadline has passed or the work is cancelled.
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || Instant::now() >= self.at
    }

    /// Returns whether the work is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(CancelFlag::is_cancelled)
    }

    /// Returns the remaining time; zero if the work is cancelled.
    pub fn left(&self) -> Duration {
        if self.is_cancelled() {
            return Duration::ZERO;
        }
        self.at.saturating_duration_since(Instant::now())
    }

    /// Returns the deadline as a point in time.
    pub fn instant(&self) -> Instant {
        self.at
    }
}

impl From<Instant> for Until {
    fn from(at: Instant) -> Self {
        Self::at(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_is_over_at_the_deadline_or_on_cancellation() {
        let (cancelled, hour) = (CancelFlag::default(), Duration::from_secs(3_600));
        let until = Until::within(hour).or(cancelled.clone());
        let sooner = until.no_later_than(Instant::now());
        assert!(!until.is_over() && until.left() > hour / 2);
        assert!(sooner.is_over() && !sooner.is_cancelled());
        cancelled.cancel();
        assert!(until.is_over() && until.left().is_zero() && sooner.is_cancelled());
    }
}
