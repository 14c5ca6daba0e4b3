//! Runs work for many items on several threads, and returns the results in the order of the items.
//!
//! A limited search must be repeatable: the same query on the same tree returns the same result, even if a limit
//! truncates it. Therefore results are accepted in the order of the items, whichever thread finishes first, and the
//! first limit that is reached in that order ends the search.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Maximum number of threads. More threads would only wait for the disk.
const MAX_THREADS: usize = 8;
/// Minimum number of items per thread.
const ITEMS_PER_THREAD: usize = 16;

/// Returns the number of threads for a search over `items` items.
pub fn threads(items: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(MAX_THREADS).min(items.div_ceil(ITEMS_PER_THREAD)).max(1)
}

/// Calls `work` for each item on up to `threads` threads, including the caller's thread. Calls `take` with each result
/// in the order of the items, until `take` returns `Break`. `state` creates the value that a thread reuses from item to
/// item.
pub fn in_order<T: Sync, S, R: Send>(
    items: &[T],
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &T) -> R + Sync,
    take: impl FnMut(&T, R) -> ControlFlow<()> + Send,
) {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let collector = Mutex::new(Collector { waiting: BTreeMap::new(), taken: 0, take });
    let run = || {
        let mut state = state();
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                break;
            };
            let result = work(&mut state, item);
            if collector.lock().add(items, index, result).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    let others = threads.min(items.len()).saturating_sub(1);
    if others == 0 {
        return run();
    }
    std::thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(run);
        }
        run();
    });
}

struct Collector<R, F> {
    /// Results that wait for the result of an earlier item.
    waiting: BTreeMap<usize, R>,
    taken: usize,
    take: F,
}

impl<R, F> Collector<R, F> {
    fn add<T>(&mut self, items: &[T], index: usize, result: R) -> ControlFlow<()>
    where
        F: FnMut(&T, R) -> ControlFlow<()>,
    {
        self.waiting.insert(index, result);
        while let Some(result) = self.waiting.remove(&self.taken) {
            let Some(item) = items.get(self.taken) else {
                break;
            };
            self.taken += 1;
            if (self.take)(item, result).is_break() {
                // All later results are dropped.
                self.taken = usize::MAX;
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_in_order_and_stops_where_it_is_told() {
        let items: Vec<u32> = (0..1000).collect();
        for end in [0, 1, 500, 999, 2000] {
            let mut seen = Vec::new();
            in_order(
                &items,
                8,
                || (),
                |(), item| item * 2,
                |item, double| {
                    assert_eq!(double, item * 2);
                    seen.push(*item);
                    if *item == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                },
            );
            let expected: Vec<u32> = (0..=end.min(999)).collect();
            assert_eq!(seen, expected);
        }
    }
}
