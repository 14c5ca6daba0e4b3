//! A compact inverted index with BM25 over it.
//!
//! Documents are numbered densely in the order in which they were added, and a term's postings are the gaps between
//! those numbers and the counts, as variable-length integers: two or three bytes a posting. Removing renumbers, as
//! `Vec::retain` does, in one pass over all postings; that is milliseconds for a repository, so there are no segments
//! to merge and no tombstones to skew the statistics.

use std::collections::HashMap;
use std::sync::Arc;

/// How fast repetition of a term saturates, and how much long documents are discounted. The values of Robertson and
/// Zaragoza, "The Probabilistic Relevance Framework" (2009).
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The number of a document in its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(pub u32);

/// An index over documents that are bags of terms.
#[derive(Clone, Default)]
pub struct Bm25 {
    terms: HashMap<Arc<str>, u32>,
    postings: Vec<Postings>,
    lengths: Vec<u32>,
    total: u64,
}

#[derive(Clone, Default)]
struct Postings {
    bytes: Vec<u8>,
    documents: u32,
    last: u32,
}

impl Bm25 {
    /// Adds a document of distinct terms with their counts, and returns its number.
    pub fn add<'a>(&mut self, terms: impl Iterator<Item = (&'a str, u32)>) -> DocId {
        let doc = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut length = 0u32;
        for (term, count) in terms {
            length = length.saturating_add(count);
            let at = match self.terms.get(term) {
                Some(&at) => at as usize,
                None => {
                    self.terms
                        .insert(term.into(), u32::try_from(self.postings.len()).unwrap_or(u32::MAX));
                    self.postings.push(Postings::default());
                    self.postings.len() - 1
                }
            };
            self.postings[at].push(doc, count);
        }
        self.lengths.push(length);
        self.total += u64::from(length);
        DocId(doc)
    }

    /// Keeps the documents for which `keep` says so and renumbers them densely, in their order.
    pub fn retain(&mut self, keep: impl Fn(DocId) -> bool) {
        const GONE: u32 = u32::MAX;
        let mut kept = Vec::new();
        let renumbered: Vec<u32> = (0u32..)
            .zip(&self.lengths)
            .map(|(doc, length)| match keep(DocId(doc)) {
                true => {
                    kept.push(*length);
                    u32::try_from(kept.len() - 1).unwrap_or(GONE)
                }
                false => GONE,
            })
            .collect();
        for postings in &mut self.postings {
            let mut next = Postings::default();
            for (doc, count) in postings.iter() {
                match renumbered[doc as usize] {
                    GONE => {}
                    doc => next.push(doc, count),
                }
            }
            *postings = next;
        }
        self.total = kept.iter().map(|length| u64::from(*length)).sum();
        self.lengths = kept;
    }

    /// Gives back memory that adding reserved. Call it once after many additions.
    pub fn shrink(&mut self) {
        self.postings
            .iter_mut()
            .for_each(|postings| postings.bytes.shrink_to_fit());
        self.postings.shrink_to_fit();
        self.lengths.shrink_to_fit();
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// How many terms a document has, repetitions included.
    pub fn length(&self, doc: DocId) -> u32 {
        self.lengths.get(doc.0 as usize).copied().unwrap_or(0)
    }

    /// In how many documents a term occurs.
    pub fn document_frequency(&self, term: &str) -> u32 {
        self.terms
            .get(term)
            .map_or(0, |at| self.postings[*at as usize].documents)
    }

    /// The documents that hold a term, with its count in each, in the order of their numbers.
    pub fn postings(&self, term: &str) -> impl Iterator<Item = (DocId, u32)> {
        let found = self.terms.get(term).map(|at| &self.postings[*at as usize]);
        found
            .into_iter()
            .flat_map(Postings::iter)
            .map(|(doc, count)| (DocId(doc), count))
    }

    /// What one occurrence pattern is worth, without the term's idf: between 0 and `K1 + 1`.
    pub fn saturation(&self, count: f32, length: f32, average: f32) -> f32 {
        count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / average.max(1.0)))
    }

    /// The mean of the documents' lengths.
    #[expect(clippy::cast_precision_loss, reason = "a mean of lengths needs no more than 24 bits")]
    pub fn average_length(&self) -> f32 {
        if self.is_empty() {
            0.0
        } else {
            self.total as f32 / self.len() as f32
        }
    }

    /// Scores the documents that hold any of the weighted terms: best first, then by number.
    #[expect(clippy::cast_precision_loss, reason = "counts and lengths are far below 2^24")]
    pub fn search<'a>(&self, query: impl Iterator<Item = (&'a str, f32)>) -> Vec<(DocId, f32)> {
        let average = self.average_length();
        let mut scores: HashMap<DocId, f32> = HashMap::new();
        for (term, weight) in query {
            let idf = idf(self.document_frequency(term), self.len());
            for (doc, count) in self.postings(term) {
                let value = self.saturation(count as f32, self.length(doc) as f32, average);
                *scores.entry(doc).or_default() += weight * idf * value;
            }
        }
        let mut ranked: Vec<_> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }
}

/// How telling a term is that `df` of `n` documents hold: `ln(1 + (n - df + 1/2) / (df + 1/2))`, never negative.
#[expect(clippy::cast_precision_loss, reason = "document counts are far below 2^24")]
pub fn idf(df: u32, n: usize) -> f32 {
    let (df, n) = (df as f32, n as f32);
    (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln()
}

impl Postings {
    fn push(&mut self, doc: u32, count: u32) {
        write(&mut self.bytes, doc - self.last);
        write(&mut self.bytes, count);
        self.documents += 1;
        self.last = doc;
    }

    fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut bytes = self.bytes.as_slice();
        let mut doc = 0;
        std::iter::from_fn(move || {
            doc += read(&mut bytes)?;
            Some((doc, read(&mut bytes)?))
        })
    }
}

/// Seven bits a byte, the lowest first; the high bit says that more follow.
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
    use super::*;

    fn index(documents: &[&str]) -> Bm25 {
        let mut index = Bm25::default();
        for text in documents {
            let mut counts: Vec<(&str, u32)> = Vec::new();
            for word in text.split(' ') {
                match counts.iter_mut().find(|(seen, _)| *seen == word) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((word, 1)),
                }
            }
            index.add(counts.into_iter());
        }
        index
    }

    fn ranked(index: &Bm25, query: &str) -> Vec<u32> {
        index
            .search(query.split(' ').map(|term| (term, 1.0)))
            .into_iter()
            .map(|(doc, _)| doc.0)
            .collect()
    }

    #[test]
    fn rare_terms_and_short_documents_win() {
        let index = index(&[
            "common common rare",
            "common other",
            "common rare padding padding padding padding",
        ]);
        assert_eq!(ranked(&index, "rare common"), [0, 2, 1]);
        assert_eq!(ranked(&index, "absent"), [] as [u32; 0]);
        assert_eq!(index.document_frequency("common"), 3);
    }

    #[test]
    fn equal_scores_keep_the_order_of_the_documents() {
        let index = index(&["x a", "x b", "x c"]);
        assert_eq!(ranked(&index, "x"), [0, 1, 2]);
    }

    #[test]
    fn what_was_removed_leaves_no_trace() {
        let mut changed = index(&["a b", "b c c", "a c", "d"]);
        changed.retain(|doc| doc.0 != 1);
        let fresh = index(&["a b", "a c", "d"]);
        for query in ["a", "b", "c", "d", "a b c d"] {
            let pairs = |index: &Bm25| index.search(query.split(' ').map(|term| (term, 1.0)));
            assert_eq!(pairs(&changed), pairs(&fresh), "{query}");
        }
        assert_eq!((changed.len(), changed.average_length()), (3, fresh.average_length()));
    }

    #[test]
    fn integers_survive_the_trip() {
        let mut bytes = Vec::new();
        let values = [0, 1, 127, 128, 300, 1 << 20, u32::MAX];
        values.iter().for_each(|value| write(&mut bytes, *value));
        let mut rest = bytes.as_slice();
        assert!(values.iter().all(|value| read(&mut rest) == Some(*value)));
        assert_eq!(read(&mut rest), None);
    }
}
