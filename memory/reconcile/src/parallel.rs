//! Maps items in parallel, with one thread for each processor.

use std::ops::ControlFlow;

use muninn_base::in_order;

/// Maximum number of items that a thread takes at once. Comparing two claims takes microseconds.
const PART: usize = 64;

/// The results of all items, in the order of the items.
pub(super) fn by_all_processors<T: Sync, R: IntoIterator<Item: Send>>(
    items: &[T],
    of_item: impl Fn(&T) -> R + Sync,
) -> Vec<R::Item> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let part = (items.len() / (8 * processors)).clamp(1, PART);
    let parts: Vec<&[T]> = items.chunks(part).collect();
    let of_part = |(): &mut (), part: &&[T]| -> Vec<R::Item> { part.iter().flat_map(&of_item).collect() };
    let mut all = Vec::new();
    in_order(
        &parts,
        processors,
        || (),
        of_part,
        |_, made| {
            all.extend(made);
            ControlFlow::Continue(())
        },
    );
    all
}
