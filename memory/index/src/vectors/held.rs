//! The vectors of blobs in memory, with the numbers that each blob has in the index.

use std::collections::HashMap;
use std::ops::Range;

use muninn_repo_tools::BlobId;
use muninn_text::vectors::VectorIndex;

use super::store::Rows;

/// A blob, and how it was split.
pub(super) type Key = (BlobId, &'static str);

/// A blob's chunks, in line order.
struct Block {
    key: Key,
    numbers: Range<u32>,
    /// The stored rows; `None` if the vectors are not stored.
    rows: Option<Rows>,
}

pub(super) struct Held {
    pub(super) index: VectorIndex,
    /// Sorted by number.
    blocks: Vec<Block>,
    known: HashMap<Key, usize>,
}

impl Held {
    pub(super) fn new(index: VectorIndex) -> Self {
        Self { index, blocks: Vec::new(), known: HashMap::new() }
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.known.contains_key(key)
    }

    /// Adds the vectors of a blob, concatenated. A blob without chunks is recorded as well, with no vectors.
    pub(super) fn push(&mut self, key: Key, vectors: &[i8], rows: Option<Rows>) {
        if self.has(&key) {
            return;
        }
        let numbers = self.index.push(vectors);
        self.known.insert(key, self.blocks.len());
        self.blocks.push(Block { key, numbers, rows });
    }

    /// Removes unwanted blobs once they are a quarter of all blobs. Until then, keeping them is cheaper than moving the
    /// others.
    pub(super) fn forget(&mut self, wanted: impl Fn(&Key) -> bool) {
        let count = |block: &Block| block.numbers.len();
        let unwanted: usize = self.blocks.iter().filter(|block| !wanted(&block.key)).map(count).sum();
        if unwanted * 4 <= self.index.len() {
            return;
        }
        self.blocks.retain(|block| wanted(&block.key));
        let ranges: Vec<Range<u32>> = self.blocks.iter().map(|block| block.numbers.clone()).collect();
        self.index.retain(&ranges);
        let mut next = 0;
        for block in &mut self.blocks {
            let count = block.numbers.end - block.numbers.start;
            block.numbers = next..next + count;
            next += count;
        }
        self.known = (0..).zip(&self.blocks).map(|(at, block)| (block.key, at)).collect();
    }

    /// Returns the blob of a number, the chunk in that blob, and its stored row.
    pub(super) fn owner(&self, number: u32) -> Option<(Key, u32, Option<i64>)> {
        let at = self.blocks.partition_point(|block| block.numbers.end <= number);
        let block = self.blocks.get(at)?;
        let chunk = number.checked_sub(block.numbers.start)?;
        let row = block.rows.as_ref().map(|rows| rows.row(chunk));
        Some((block.key, chunk, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: u8) -> Key {
        (BlobId::of(&[name]).unwrap(), "code")
    }

    #[test]
    fn numbers_are_told_apart_by_blob() {
        let mut held = Held::new(VectorIndex::new(2, 100));
        held.push(key(1), &[1, 0, 2, 0], None);
        held.push(key(2), &[], None);
        held.push(key(3), &[3, 0, 4, 0, 5, 0], None);
        held.push(key(3), &[9, 9], None);
        assert_eq!(held.index.len(), 5, "a second call must have no effect");
        assert!(held.has(&key(2)) && !held.has(&key(4)));
        assert_eq!(held.owner(1), Some((key(1), 1, None)));
        assert_eq!(held.owner(2), Some((key(3), 0, None)));
        assert_eq!(held.owner(5), None);

        held.forget(|one| *one != key(9));
        assert_eq!(held.index.len(), 5);
        held.forget(|one| *one != key(1));
        assert_eq!(held.index.len(), 3);
        assert_eq!(held.owner(2), Some((key(3), 2, None)));
        assert_eq!(held.index.bytes(2), Some(&[5, 0][..]));
        assert!(!held.has(&key(1)) && held.has(&key(3)));
    }
}
