//! BM25, and a small index that ranks by it.

use serde::{Deserialize, Serialize};

use super::inverted::{DocId, Inverted, InvertedBuilder, Keep};

/// Saturation of repeated terms, and discount of long documents. Values of Robertson and Zaragoza, "The Probabilistic
/// Relevance Framework" (2009).
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// An index over documents as bags of terms, with their lengths. Built by [`Bm25Builder`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bm25 {
    inverted: Inverted,
    lengths: Vec<u32>,
}

/// Builds a [`Bm25`].
#[derive(Default)]
pub struct Bm25Builder {
    inverted: InvertedBuilder,
    lengths: Vec<u32>,
}

impl Bm25Builder {
    /// Adds a document of distinct terms with their counts, and returns its number.
    pub fn add<'a>(&mut self, terms: impl Iterator<Item = (&'a str, u32)>) -> DocId {
        let mut length = 0u32;
        let doc = self.inverted.add(terms.inspect(|(_, count)| length = length.saturating_add(*count)));
        self.lengths.push(length);
        doc
    }

    /// Finishes the index.
    pub fn finish(self) -> Bm25 {
        Bm25 { inverted: self.inverted.finish(), lengths: self.lengths }
    }
}

impl Bm25 {
    /// Number of documents.
    pub fn len(&self) -> usize {
        self.inverted.len()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.inverted.is_empty()
    }

    /// The inverted index.
    pub fn inverted(&self) -> &Inverted {
        &self.inverted
    }

    /// Number of terms of each document, repetitions included.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Merges indexes; see [`Inverted::merged`].
    pub fn merged(parts: &[(&Bm25, Keep<'_>)]) -> Bm25 {
        let inverted: Vec<_> = parts.iter().map(|(part, keep)| (&part.inverted, *keep)).collect();
        let lengths = parts.iter().flat_map(|(part, keep)| {
            let stays = move |doc: usize| keep.is_none_or(|keep| keep.get(doc).copied().unwrap_or(false));
            part.lengths.iter().enumerate().filter(move |(doc, _)| stays(*doc))
        });
        Bm25 { inverted: Inverted::merged(&inverted), lengths: lengths.map(|(_, length)| *length).collect() }
    }
}

/// The BM25 weight of a term's count, without its idf: between 0 and `K1 + 1`. `length` is the document's length, and
/// `average` the mean, in terms.
pub fn saturation(count: f32, length: f32, average: f32) -> f32 {
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / average.max(1.0)))
}

/// Inverse document frequency of a term in `df` of `n` documents: `ln(1 + (n - df + 1/2) / (df + 1/2))`, never
/// negative.
#[expect(clippy::cast_precision_loss, reason = "document counts are far below 2^24")]
pub fn idf(df: u32, n: usize) -> f32 {
    let (df, n) = (df as f32, n as f32);
    (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(documents: &[&str]) -> Bm25 {
        let mut index = Bm25Builder::default();
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
        index.finish()
    }

    #[test]
    fn rare_terms_and_short_documents_count_more() {
        let index = index(&["common rare", "common"]);
        let of = |term| idf(index.inverted().frequency(term), index.len());
        assert!(of("absent") > of("rare") && of("rare") > of("common") && of("common") > 0.0);
        assert!(saturation(2.0, 4.0, 4.0) > saturation(1.0, 4.0, 4.0));
        assert!(saturation(1.0, 2.0, 4.0) > saturation(1.0, 8.0, 4.0));
        assert!(saturation(1e6, 4.0, 4.0) < K1 + 1.0);
    }

    #[test]
    fn merge_equals_an_index_without_the_removed() {
        let (all, more) = (index(&["a b", "b c c", "a c"]), index(&["d"]));
        let merged = Bm25::merged(&[(&all, Some(&[true, false, true])), (&more, None)]);
        assert_eq!(merged, index(&["a b", "a c", "d"]));
    }
}
