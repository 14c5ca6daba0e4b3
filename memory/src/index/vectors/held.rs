//! The vectors of blobs in memory: which of the index's numbers are whose.

use std::collections::HashMap;
use std::ops::Range;

use muninn_repo_tools::BlobId;

use super::index::VectorIndex;
use super::store::Rows;

/// A blob, and how it was cut.
pub(super) type Key = (BlobId, &'static str);

/// A blob's chunks, in the order of their lines.
struct Block {
    key: Key,
    numbers: Range<u32>,
    /// Where they are kept; `None` if they are not.
    rows: Option<Rows>,
}

pub(super) struct Held {
    pub(super) index: VectorIndex,
    /// In the order of their numbers.
    blocks: Vec<Block>,
    known: HashMap<Key, usize>,
}

impl Held {
    pub(super) fn new(index: VectorIndex) -> Self {
        Self {
            index,
            blocks: Vec::new(),
            known: HashMap::new(),
        }
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.known.contains_key(key)
    }

    /// Adds a blob's vectors, one after another; none, for a blob without chunks, is remembered as well.
    pub(super) fn push(&mut self, key: Key, vectors: &[i8], rows: Option<Rows>) {
        if self.has(&key) {
            return;
        }
        let numbers = self.index.push(vectors);
        self.known.insert(key, self.blocks.len());
        self.blocks.push(Block { key, numbers, rows });
    }

    /// Forgets blobs that are not wanted, once they are a quarter of all: until then they cost less than moving the rest.
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

    /// Whose a number is, which of its chunks, and where that is kept.
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
        assert_eq!(held.index.len(), 5, "a second time does nothing");
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
