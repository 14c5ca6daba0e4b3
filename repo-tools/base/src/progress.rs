//! Progress of long work.

/// Progress of long work. Called from the threads that do it.
pub trait Progress: Sync {
    /// `done` of `total` parts.
    fn advance(&self, done: usize, total: usize);
}

impl Progress for () {
    fn advance(&self, _done: usize, _total: usize) {}
}
