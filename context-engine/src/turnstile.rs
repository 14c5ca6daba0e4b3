//! A value that one thread at a time has, and others wait for no longer than they can.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Like a mutex, with a deadline.
pub(crate) struct Turnstile<T> {
    /// `None` while somebody has it.
    value: Mutex<Option<T>>,
    freed: Condvar,
}

/// The value, until this is dropped.
pub(crate) struct Turn<'a, T> {
    turnstile: &'a Turnstile<T>,
    value: Option<T>,
}

impl<T> Turnstile<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(Some(value)),
            freed: Condvar::new(),
        }
    }

    /// Waits for a turn until the deadline.
    pub(crate) fn take_until(&self, deadline: Instant) -> Option<Turn<'_, T>> {
        let mut value = self.lock();
        while value.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.freed.wait_timeout(value, left);
            value = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(self.turn(&mut value))
    }

    /// Waits for a turn, however long that takes.
    pub(crate) fn take(&self) -> Turn<'_, T> {
        let mut value = self.lock();
        while value.is_none() {
            value = self.freed.wait(value).unwrap_or_else(PoisonError::into_inner);
        }
        self.turn(&mut value)
    }

    fn turn(&self, value: &mut Option<T>) -> Turn<'_, T> {
        Turn {
            turnstile: self,
            value: value.take(),
        }
    }

    /// Nothing can panic while it is locked.
    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Turn<'_, T> {
    /// Does something with the value.
    pub(crate) fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.value.as_mut().map(work)
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        *self.turnstile.lock() = self.value.take();
        self.turnstile.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_no_longer_than_it_takes() {
        let turnstile = Turnstile::new(0);
        let mut first = turnstile.take();
        assert!(turnstile.take_until(Instant::now()).is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| turnstile.take().with(|value| *value));
            first.with(|value| *value = 7);
            drop(first);
            assert_eq!(second.join().unwrap(), Some(7));
        });
        assert!(turnstile.take_until(Instant::now()).is_some());
    }

    #[test]
    fn a_turn_that_panics_gives_the_value_back() {
        let turnstile = Turnstile::new(1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _turn = turnstile.take();
            panic!("meant");
        }));
        assert!(panicked.is_err());
        assert!(turnstile.take_until(Instant::now()).is_some());
    }
}
