//! The requests under way at a backend.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the requests under way. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Load(Arc<AtomicUsize>);

/// A request under way: it counts until this is dropped.
#[derive(Debug)]
pub struct UnderWay(Load);

impl Load {
    pub(crate) fn begin(&self) -> UnderWay {
        self.0.fetch_add(1, Ordering::Relaxed);
        UnderWay(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
