//! An immutable inverted index.
//!
//! It is a few flat arrays, so that an index over a million lines loads as fast as its bytes are read, and merging
//! copies runs of bytes. Documents are numbered in insertion order. A term's postings are gaps between document
//! numbers, and counts, as variable-length integers: two or three bytes each. Changes go into a further index; see
//! the index of a worktree.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use serde::{Deserialize, Serialize};

use super::arena::Arena;

/// The number of a document in its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u32);

/// Postings of all terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inverted {
    /// Sorted terms.
    terms: Arena,
    /// End of each term's postings.
    ends: Vec<u32>,
    /// Document frequency of each term.
    frequencies: Vec<u32>,
    #[serde(with = "super::arena::bytes")]
    postings: Vec<u8>,
    documents: u32,
}

/// Builds an [`Inverted`].
#[derive(Default)]
pub struct InvertedBuilder {
    terms: HashMap<Box<str>, usize>,
    lists: Vec<List>,
    documents: u32,
}

#[derive(Default)]
struct List {
    bytes: Vec<u8>,
    documents: u32,
    /// The last document's number plus one, from which the next gap counts.
    next: u32,
}

impl InvertedBuilder {
    /// Adds a document of distinct terms with their counts.
    pub fn add<'a>(&mut self, terms: impl Iterator<Item = (&'a str, u32)>) -> DocId {
        let doc = self.documents;
        for (term, count) in terms {
            let at = match self.terms.get(term) {
                Some(&at) => at,
                None => {
                    self.terms.insert(term.into(), self.lists.len());
                    self.lists.push(List::default());
                    self.lists.len() - 1
                }
            };
            self.lists[at].push(doc, count);
        }
        self.documents += 1;
        DocId(doc)
    }

    /// Finishes the index.
    pub fn finish(self) -> Inverted {
        let mut terms: Vec<(Box<str>, usize)> = self.terms.into_iter().collect();
        terms.sort_unstable();
        let mut made = Inverted { documents: self.documents, ..Inverted::default() };
        for (term, at) in terms {
            let list = &self.lists[at];
            made.postings.extend_from_slice(&list.bytes);
            made.close(&term, list.documents);
        }
        made.shrink();
        made
    }
}

impl List {
    fn push(&mut self, doc: u32, count: u32) {
        write(&mut self.bytes, doc - self.next);
        write(&mut self.bytes, count);
        self.documents += 1;
        self.next = doc + 1;
    }
}

impl Inverted {
    /// Number of documents.
    pub fn len(&self) -> usize {
        self.documents as usize
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// In how many documents a term occurs.
    pub fn frequency(&self, term: &str) -> u32 {
        self.terms.find(term).map_or(0, |at| self.frequencies[at])
    }

    /// The documents that contain a term, with counts, sorted by number.
    pub fn postings(&self, term: &str) -> impl Iterator<Item = (DocId, u32)> {
        let found = self.terms.find(term).map(|at| self.bytes_of(at));
        decode(found.unwrap_or_default())
    }

    /// Merges indexes, each with the documents that remain. Documents keep the order of the parts, and their order
    /// within a part.
    pub fn merged(parts: &[(&Inverted, Keep<'_>)]) -> Inverted {
        let renumberings: Vec<Renumbering> = Renumbering::of(parts);
        let mut made = Inverted {
            documents: parts.iter().zip(&renumberings).map(|(_, new)| new.count).sum(),
            ..Inverted::default()
        };
        let mut heads: BinaryHeap<Reverse<(&str, usize, usize)>> = BinaryHeap::new();
        let head = |part: usize, at: usize| parts[part].0.terms.get(at).map(|term| Reverse((term, part, at)));
        heads.extend((0..parts.len()).filter_map(|part| head(part, 0)));
        let mut list = List::default();
        while let Some(Reverse((term, part, at))) = heads.pop() {
            let new = &renumberings[part];
            let bytes = parts[part].0.bytes_of(at);
            new.append(&mut list, bytes, parts[part].0.frequencies[at]);
            heads.extend(head(part, at + 1));
            if heads.peek().is_none_or(|Reverse((next, _, _))| *next != term) {
                if list.documents > 0 {
                    made.postings.append(&mut list.bytes);
                    made.close(term, list.documents);
                }
                list.bytes.clear();
                (list.documents, list.next) = (0, 0);
            }
        }
        made.shrink();
        made
    }

    fn close(&mut self, term: &str, documents: u32) {
        self.terms.push(term);
        self.ends.push(u32::try_from(self.postings.len()).unwrap_or(u32::MAX));
        self.frequencies.push(documents);
    }

    fn bytes_of(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.postings.get(start..self.ends[at] as usize).unwrap_or_default()
    }

    fn shrink(&mut self) {
        self.terms.shrink();
        self.ends.shrink_to_fit();
        self.frequencies.shrink_to_fit();
        self.postings.shrink_to_fit();
    }
}

/// Flags of the documents that remain in a merge; `None` for all.
pub type Keep<'a> = Option<&'a [bool]>;

/// New document numbers of one part.
struct Renumbering {
    first: u32,
    count: u32,
    /// New number of each document, relative to `first`; `None` if all remain.
    numbers: Option<Vec<Option<u32>>>,
}

impl Renumbering {
    fn of(parts: &[(&Inverted, Keep<'_>)]) -> Vec<Renumbering> {
        let mut first = 0;
        let mut made = Vec::new();
        for (part, keep) in parts {
            let mut count = 0;
            let numbers = keep.map(|keep| {
                let number = |stays: &bool| {
                    stays.then(|| {
                        count += 1;
                        count - 1
                    })
                };
                keep.iter().map(number).collect()
            });
            if numbers.is_none() {
                count = part.documents;
            }
            made.push(Renumbering { first, count, numbers });
            first += count;
        }
        made
    }

    /// Appends a term's postings. If all documents remain, only the first gap changes and the rest is copied.
    fn append(&self, list: &mut List, bytes: &[u8], documents: u32) {
        match &self.numbers {
            None => {
                let mut rest = bytes;
                let Some(doc) = read(&mut rest) else { return };
                let last = decode(bytes).last().map_or(doc, |(doc, _)| doc.0);
                write(&mut list.bytes, self.first + doc - list.next);
                list.bytes.extend_from_slice(rest);
                list.documents += documents;
                list.next = self.first + last + 1;
            }
            Some(numbers) => {
                for (doc, count) in decode(bytes) {
                    if let Some(Some(number)) = numbers.get(doc.0 as usize) {
                        list.push(self.first + number, count);
                    }
                }
            }
        }
    }
}

fn decode(mut bytes: &[u8]) -> impl Iterator<Item = (DocId, u32)> {
    let mut next = 0u32;
    std::iter::from_fn(move || {
        let doc = next.wrapping_add(read(&mut bytes)?);
        next = doc.wrapping_add(1);
        Some((DocId(doc), read(&mut bytes)?))
    })
}

/// Writes seven bits per byte, lowest first; the high bit marks a continuation.
fn write(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(documents: &[Vec<(String, u32)>]) -> Inverted {
        let mut builder = InvertedBuilder::default();
        for terms in documents {
            builder.add(terms.iter().map(|(term, count)| (term.as_str(), *count)));
        }
        builder.finish()
    }

    #[test]
    fn integers_round_trip() {
        let mut bytes = Vec::new();
        let values = [0, 1, 127, 128, 300, 1 << 20, u32::MAX];
        values.iter().for_each(|value| write(&mut bytes, *value));
        let mut rest = bytes.as_slice();
        assert!(values.iter().all(|value| read(&mut rest) == Some(*value)));
        assert_eq!(read(&mut rest), None);
    }

    #[test]
    fn an_unknown_term_has_no_postings() {
        let index = index(&[vec![("b".to_owned(), 2)]]);
        assert_eq!(index.postings("b").collect::<Vec<_>>(), [(DocId(0), 2)]);
        assert_eq!((index.postings("a").count(), index.postings("c").count()), (0, 0));
        assert_eq!((index.frequency("b"), index.frequency("a")), (1, 0));
    }

    fn documents() -> impl Strategy<Value = Vec<Vec<(String, u32)>>> {
        let document = proptest::collection::btree_map("[a-d]{1,2}", 1u32..300, 0..6)
            .prop_map(|terms| terms.into_iter().collect::<Vec<_>>());
        proptest::collection::vec(document, 0..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// A merge equals an index over all remaining documents.
        #[test]
        fn merging_equals_building(parts in proptest::collection::vec(documents(), 0..4), seed in any::<u64>()) {
            let keeps: Vec<Option<Vec<bool>>> = parts
                .iter()
                .enumerate()
                .map(|(n, part)| {
                    let stays = |doc| seed.rotate_left((n * 17 + doc) as u32) & 3 != 0;
                    (n % 2 == 0).then(|| (0..part.len()).map(stays).collect())
                })
                .collect();
            let all: Vec<Vec<(String, u32)>> = parts
                .iter()
                .zip(&keeps)
                .flat_map(|(part, keep)| {
                    part.iter().enumerate().filter(move |(doc, _)| keep.as_ref().is_none_or(|keep| keep[*doc]))
                })
                .map(|(_, document)| document.clone())
                .collect();
            let indexes: Vec<Inverted> = parts.iter().map(|part| index(part)).collect();
            let pairs: Vec<_> = indexes.iter().zip(&keeps).map(|(index, keep)| (index, keep.as_deref())).collect();
            prop_assert_eq!(Inverted::merged(&pairs), index(&all));
        }
    }
}
