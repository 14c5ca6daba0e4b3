//! An index of vectors in memory, searched by similarity.
//!
//! A scan over all numbers of a million vectors is too slow for a question. Therefore each vector is also stored as its
//! signs, 32 bytes for 256 dimensions: similar vectors have mostly equal signs. The signs are imprecise, so the
//! thousand vectors with the nearest signs are compared by their bytes.

use std::ops::Range;

use super::{scan, small};

/// Maximum number of vectors whose bytes are in memory, 51 MB at 256 dimensions. If there are more vectors, the caller
/// must provide the bytes.
pub const MOST_BYTES_HELD: usize = 200_000;

/// Flat arrays of vectors, numbered from 0 without gaps.
#[derive(Debug, Clone)]
pub struct VectorIndex {
    dimensions: usize,
    bits: Vec<u64>,
    /// The bytes of all vectors; `None` after the number of vectors has exceeded `most_bytes`.
    bytes: Option<Vec<i8>>,
    most_bytes: usize,
}

impl VectorIndex {
    /// Creates an empty index that stores the bytes of at most `most_bytes` vectors; see [`MOST_BYTES_HELD`].
    pub fn new(dimensions: usize, most_bytes: usize) -> Self {
        Self { dimensions: dimensions.max(1), bits: Vec::new(), bytes: Some(Vec::new()), most_bytes }
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.bits.len() / small::words(self.dimensions)
    }

    /// Returns whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Appends vectors of `dimensions` bytes each, and returns their numbers. Trailing bytes that form no whole vector
    /// are dropped.
    pub fn push(&mut self, vectors: &[i8]) -> Range<u32> {
        let first = number(self.len());
        for vector in vectors.chunks_exact(self.dimensions) {
            small::push_bits(vector, &mut self.bits);
        }
        let whole = vectors.len() / self.dimensions * self.dimensions;
        if self.len() > self.most_bytes {
            self.bytes = None;
        } else if let Some(bytes) = &mut self.bytes {
            bytes.extend_from_slice(&vectors[..whole]);
        }
        first..number(self.len())
    }

    /// Keeps the vectors in these ranges and numbers them from 0. The ranges must be sorted and must not overlap.
    pub fn retain(&mut self, ranges: &[Range<u32>]) {
        keep(&mut self.bits, ranges, small::words(self.dimensions));
        if let Some(bytes) = &mut self.bytes {
            keep(bytes, ranges, self.dimensions);
        }
    }

    /// Returns the numbers of the `keep` vectors whose signs are most similar to the query's, unordered.
    pub fn nearest(&self, query: &[f32], keep: usize) -> Vec<u32> {
        self.nearest_of(query, keep, |_| true)
    }

    /// Like [`Self::nearest`], among the wanted vectors.
    pub fn nearest_of(&self, query: &[f32], keep: usize, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut signs = Vec::with_capacity(small::words(self.dimensions));
        small::push_bits(query, &mut signs);
        if signs.len() != small::words(self.dimensions) {
            return Vec::new();
        }
        scan::nearest(&signs, &self.bits, keep, wanted)
    }

    /// Returns the bytes of a vector, if they are in memory.
    pub fn bytes(&self, number: u32) -> Option<&[i8]> {
        let start = number as usize * self.dimensions;
        self.bytes.as_ref()?.get(start..start + self.dimensions)
    }

    /// Returns the cosine of a query of unit length and each of the given vectors; 0 for a vector whose bytes are not
    /// in memory.
    pub fn cosines(&self, query: &[f32], numbers: impl Iterator<Item = u32>) -> Vec<f32> {
        let mut cosines = Vec::with_capacity(numbers.size_hint().0);
        // The closure contains only loops and branches: a function that an iterator adapter calls would be compiled
        // separately, without the processor's special instructions.
        scan::fastest(
            #[inline(always)]
            || {
                for number in numbers {
                    cosines.push(match self.bytes(number) {
                        Some(bytes) => small::cosine(query, bytes),
                        None => 0.0,
                    });
                }
            },
        );
        cosines
    }

    /// Returns whether the bytes are in memory.
    pub fn holds_bytes(&self) -> bool {
        self.bytes.is_some()
    }

    /// Returns the `keep` vectors most similar to the query, best first, with their cosines. They are selected from the
    /// `wide` vectors with the most similar signs. `fetch` writes the bytes of a vector that are not in memory; a
    /// vector that it cannot provide is omitted.
    pub fn search(
        &self,
        query: &[f32],
        wide: usize,
        keep: usize,
        mut fetch: impl FnMut(u32, &mut Vec<i8>) -> bool,
    ) -> Vec<(u32, f32)> {
        let mut fetched = Vec::with_capacity(self.dimensions);
        let score = |number: u32| {
            let bytes = match self.bytes(number) {
                Some(bytes) => bytes,
                None => {
                    fetched.clear();
                    if !fetch(number, &mut fetched) {
                        return None;
                    }
                    &fetched
                }
            };
            Some((number, small::cosine(query, bytes)))
        };
        let mut scored: Vec<(u32, f32)> = self.nearest(query, wide).into_iter().filter_map(score).collect();
        scored.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scored.truncate(keep);
        scored
    }
}

/// Moves the rows of some ranges to the front, and removes all other rows.
fn keep<T: Copy>(rows: &mut Vec<T>, ranges: &[Range<u32>], width: usize) {
    let mut end = 0;
    for range in ranges {
        let from = range.start as usize * width..range.end as usize * width;
        let count = from.len();
        rows.copy_within(from, end);
        end += count;
    }
    rows.truncate(end);
    // Releases the memory of vectors that a checkout of another branch removed.
    rows.shrink_to(end + end / 4);
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the cosine of a query of unit length and each of the vectors, which are stored one after the other.
pub fn cosines(query: &[f32], vectors: &[i8]) -> Vec<f32> {
    let vectors = vectors.chunks_exact(query.len().max(1));
    let mut cosines = Vec::with_capacity(vectors.len());
    scan::fastest(
        #[inline(always)]
        || {
            for vector in vectors {
                cosines.push(small::cosine(query, vector));
            }
        },
    );
    cosines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a vector near an axis of a space with 70 dimensions, so that the nearest vectors are known.
    fn axis(at: usize, tilt: i8) -> Vec<i8> {
        let mut vector = vec![-1i8; 70];
        vector[at] = 127;
        vector[(at + 1) % 70] = tilt;
        vector
    }

    fn query(at: usize) -> Vec<f32> {
        let mut query: Vec<f32> = axis(at, 0).iter().map(|value| f32::from(*value)).collect();
        crate::embed::normalise(&mut query);
        query
    }

    fn none(_: u32, _: &mut Vec<i8>) -> bool {
        panic!("all bytes are held")
    }

    #[test]
    fn the_most_alike_come_first() {
        let mut index = VectorIndex::new(70, 100);
        for at in 0..70 {
            index.push(&axis(at, 9));
        }
        assert_eq!(index.push(&[axis(5, 1), axis(5, 80)].concat()), 70..72);
        let found = index.search(&query(5), 20, 3, none);
        let numbers: Vec<u32> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [70, 5, 71]);
        assert!(found[0].1 > 0.99 && found[0].1 > found[1].1);
        assert!(index.search(&query(5), 0, 3, none).is_empty());
        assert!(index.search(&[1.0; 3], 20, 3, none).is_empty(), "a query of another model");
    }

    #[test]
    fn each_has_its_own_cosine() {
        let all: Vec<Vec<i8>> = (0..5).map(|at| axis(at, 9)).collect();
        let mut index = VectorIndex::new(70, 100);
        index.push(&all.concat());
        let found = index.cosines(&query(3), [4, 3, 7, 0, 3].into_iter());
        let expected = [&all[4], &all[3], &vec![0; 70], &all[0], &all[3]].map(|bytes| small::cosine(&query(3), bytes));
        assert!(expected[1] > 0.99 && expected[0] < 0.1, "{expected:?}");
        assert_eq!(found, expected, "the cosine of the missing vector 7 must be 0");
    }

    #[test]
    fn what_is_removed_is_gone_and_the_rest_is_numbered_anew() {
        let mut index = VectorIndex::new(70, 100);
        for at in 0..10 {
            index.push(&axis(at, 9));
        }
        index.retain(&[1..3, 5..6, 8..10]);
        assert_eq!(index.len(), 5);
        let best = |index: &VectorIndex, at| index.search(&query(at), 5, 1, none)[0].0;
        assert_eq!([1, 2, 5, 8, 9].map(|at| best(&index, at)), [0, 1, 2, 3, 4]);
        assert_eq!(index.push(&axis(40, 9)), 5..6);
        assert_eq!(best(&index, 40), 5);
        index.retain(&[]);
        assert!(index.is_empty());
    }

    #[test]
    fn beyond_the_limit_bytes_are_fetched() {
        let mut index = VectorIndex::new(70, 3);
        let all: Vec<Vec<i8>> = (0..5).map(|at| axis(at, 9)).collect();
        index.push(&all.concat());
        assert!(!index.holds_bytes());
        let mut asked = Vec::new();
        let found = index.search(&query(2), 5, 1, |number, bytes| {
            asked.push(number);
            bytes.extend(&all[number as usize]);
            number != 4
        });
        assert_eq!(found[0].0, 2);
        assert_eq!(asked, [0, 1, 2, 3, 4]);
    }
}
