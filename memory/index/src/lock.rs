use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even if it is poisoned: the guarded value is either replaced as a whole, or is a cache.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
