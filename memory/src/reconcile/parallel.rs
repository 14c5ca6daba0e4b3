//! The same for many, by as many threads as there are processors.

use std::panic::resume_unwind;
use std::thread;

/// What comes of each item, in the order of the items.
pub(super) fn by_all_processors<T: Sync, R: IntoIterator<Item: Send>>(
    items: &[T],
    of_item: impl Fn(&T) -> R + Sync,
) -> Vec<R::Item> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let of_part = |part: &[T]| -> Vec<R::Item> { part.iter().flat_map(&of_item).collect() };
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads).max(1));
        let running: Vec<_> = parts.map(|part| scope.spawn(|| of_part(part))).collect();
        let joined = running.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|made| made.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_kept() {
        for count in [0, 1, 2, 3, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let made = by_all_processors(&items, |item| vec![*item; item % 3]);
            let expected: Vec<usize> = items.iter().flat_map(|item| vec![*item; item % 3]).collect();
            assert_eq!(made, expected, "{count}");
        }
    }
}
