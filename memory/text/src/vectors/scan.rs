//! The inner loop: the distance of each row of bits from the query's, and the nearest rows.
//!
//! Some processors count differing bits with one instruction per word, but a portable program must not assume this.
//! `pulp` detects the processor's instructions once and runs the loop compiled for them, without unsafe code in this
//! crate.

/// A distance in bits, at most the number of bits of a row.
type Distance = u16;

/// Returns the positions of the `keep` wanted rows nearest to the query, in ascending order. Of rows with equal
/// distance, the first ones are taken. Each row has `query.len()` words.
pub(super) fn nearest(query: &[u64], rows: &[u64], keep: usize, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut distances = Vec::with_capacity(rows.len() / query.len().max(1));
    fastest(
        #[inline(always)]
        || match query.len() {
            4 => measure::<4>(query, rows, &mut distances),
            6 => measure::<6>(query, rows, &mut distances),
            _ => measure_any(query, rows, &mut distances),
        },
    );
    select(&distances, query.len() * 64, keep, wanted)
}

/// Runs a loop with the best instructions of this processor. Only code that is inlined into the loop uses them, so mark
/// it `#[inline(always)]`.
#[cfg(target_arch = "x86_64")]
pub(super) fn fastest(run: impl FnOnce()) {
    match pulp::x86::V3::try_new() {
        Some(processor) => pulp::Simd::vectorize(processor, run),
        None => run(),
    }
}

/// On other architectures, counting bits is part of the basic instruction set.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn fastest(run: impl FnOnce()) {
    run();
}

/// Like [`measure_any`], for a width that is known at compile time, so that the loop over words is unrolled.
#[inline(always)]
fn measure<const WORDS: usize>(query: &[u64], rows: &[u64], distances: &mut Vec<Distance>) {
    let Ok(query) = <[u64; WORDS]>::try_from(query) else {
        return;
    };
    distances.extend(rows.as_chunks::<WORDS>().0.iter().map(|row| distance(&query, row)));
}

#[inline(always)]
fn measure_any(query: &[u64], rows: &[u64], distances: &mut Vec<Distance>) {
    distances.extend(rows.chunks_exact(query.len().max(1)).map(|row| distance(query, row)));
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "rows have far fewer than 65,536 bits")]
fn distance(query: &[u64], row: &[u64]) -> Distance {
    let differing = query.iter().zip(row).map(|(a, b)| (a ^ b).count_ones());
    differing.sum::<u32>() as Distance
}

/// Counts the rows at each distance to find the largest accepted distance. It needs no sorting and no heap.
fn select(distances: &[Distance], bits: usize, keep: usize, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut counts = vec![0usize; bits + 1];
    for (_, distance) in (0u32..).zip(distances).filter(|(at, _)| wanted(*at)) {
        counts[usize::from(*distance)] += 1;
    }
    let mut nearer = 0;
    let mut limit = 0;
    while limit < counts.len() && nearer + counts[limit] <= keep {
        nearer += counts[limit];
        limit += 1;
    }
    // Of the rows at the limit, only this many are taken.
    let mut at_limit = keep - nearer;
    let mut chosen = Vec::with_capacity(keep.min(distances.len()));
    for (at, distance) in (0u32..).zip(distances) {
        let distance = usize::from(*distance);
        let fits = distance < limit || (distance == limit && at_limit > 0);
        if fits && wanted(at) {
            at_limit -= usize::from(distance == limit);
            chosen.push(at);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Selects the same rows by sorting.
    fn sorted(query: &[u64], rows: &[u64], keep: usize, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut all: Vec<(u32, u32)> = (0u32..)
            .zip(rows.chunks_exact(query.len()))
            .map(|(at, row)| (query.iter().zip(row).map(|(a, b)| (a ^ b).count_ones()).sum(), at))
            .filter(|(_, at)| wanted(*at))
            .collect();
        all.sort_unstable();
        let mut chosen: Vec<u32> = all.into_iter().take(keep).map(|(_, at)| at).collect();
        chosen.sort_unstable();
        chosen
    }

    #[test]
    fn counting_finds_what_sorting_finds() {
        let mut random = 7u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for words in [1, 4, 5, 6] {
            let query: Vec<u64> = (0..words).map(|_| next()).collect();
            // The rows differ in few bits, so that many have equal distances.
            let rows: Vec<u64> =
                (0..500).flat_map(|_| query.clone()).map(|word| word ^ (next() & next() & next() & 3)).collect();
            for keep in [0, 1, 7, 100, 499, 500, 900] {
                for every in [1, 3] {
                    let wanted = |at: u32| at.is_multiple_of(every);
                    let found = nearest(&query, &rows, keep, wanted);
                    assert_eq!(found, sorted(&query, &rows, keep, wanted), "{words} {keep} {every}");
                }
            }
        }
        assert!(nearest(&[1; 4], &[], 10, |_| true).is_empty());
    }
}
