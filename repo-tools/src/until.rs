//! When work is to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When work is to end: at a time, or before it, as soon as nobody waits for the result any more.
///
/// Whatever may take long looks at it every few milliseconds, and returns what it has by then.
#[derive(Debug, Clone)]
pub struct Until {
    at: Instant,
    cancelled: Option<CancelFlag>,
}

/// Says that nobody waits any more, to all who were given an [`Until`] with it. Clones share one word.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Says so, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was said.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Until {
    /// At a time.
    pub fn at(at: Instant) -> Self {
        Self { at, cancelled: None }
    }

    /// So long from now.
    pub fn within(time: Duration) -> Self {
        Self::at(Instant::now() + time)
    }

    /// At the same time, or when `cancelled` says so.
    pub fn or(self, cancelled: CancelFlag) -> Self {
        Self {
            cancelled: Some(cancelled),
            ..self
        }
    }

    /// The same, and no later than this.
    pub fn no_later_than(&self, at: Instant) -> Self {
        Self {
            at: self.at.min(at),
            cancelled: self.cancelled.clone(),
        }
    }

    /// Whether to stop now.
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || Instant::now() >= self.at
    }

    /// Whether nobody waits any more.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.as_ref().is_some_and(CancelFlag::is_cancelled)
    }

    /// The time that is left; none where nobody waits any more.
    pub fn left(&self) -> Duration {
        if self.is_cancelled() {
            return Duration::ZERO;
        }
        self.at.saturating_duration_since(Instant::now())
    }

    /// The time at which it is over at the latest.
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
    fn over_when_the_time_is_or_when_nobody_waits() {
        let (cancelled, hour) = (CancelFlag::default(), Duration::from_secs(3_600));
        let until = Until::within(hour).or(cancelled.clone());
        let sooner = until.no_later_than(Instant::now());
        assert!(!until.is_over() && until.left() > hour / 2);
        assert!(sooner.is_over() && !sooner.is_cancelled());
        cancelled.cancel();
        assert!(until.is_over() && until.left().is_zero() && sooner.is_cancelled());
    }
}
