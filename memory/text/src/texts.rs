//! Texts that are searched by their words and by the likeness of their vectors.

use serde::{Deserialize, Serialize};

use super::lexical::{Bm25, Bm25Builder, Keep, Tokenizer, content_terms, idf, question_terms};
use super::vectors::{bytes, cosines};
use crate::embed::StaticVectors;

/// The cosine of static vectors from which two texts are alike at all, and that from which they say the same. Of the commit
/// messages of three repositories, 90% are below the first for a query, and the paraphrased ones have 0.34 in the median
/// (`docs/decisions/0067-finished-benchmarks-leave.md`, journal).
const UNLIKE: f32 = 0.15;
const ALIKE: f32 = 0.6;
/// The part of a text that counts, in bytes.
const MOST_TEXT: usize = 20_000;

/// An index over texts.
#[derive(Default, PartialEq, Serialize, Deserialize)]
pub struct Texts {
    words: Bm25,
    /// The vectors in their byte form, one after the other.
    vectors: Vec<i8>,
}

/// Makes an index.
#[derive(Default)]
pub struct TextsBuilder {
    words: Bm25Builder,
    vectors: Vec<i8>,
}

pub struct TextQuery {
    /// The words with their weights.
    terms: Vec<(String, f32)>,
    vector: Vec<f32>,
}

/// How well a text matches.
#[derive(Clone, Copy)]
pub struct TextScore {
    /// The score, from 0 to 1.
    pub value: f32,
    /// The cosine of the vectors, which orders texts with equal scores.
    pub cosine: f32,
}

impl TextsBuilder {
    /// Adds a text, which gets the next number.
    pub fn add(&mut self, tokenizer: &mut Tokenizer, vectors: &StaticVectors, text: &str) {
        let text = &text[..text.floor_char_boundary(MOST_TEXT)];
        let terms = content_terms(tokenizer, text);
        self.words.add(terms.iter().map(|(term, count)| (term.as_str(), *count)));
        self.vectors.extend(bytes(&vectors.embed_one(text)));
    }

    /// The index over the added texts.
    pub fn finish(self) -> Texts {
        Texts { words: self.words.finish(), vectors: self.vectors }
    }
}

impl Texts {
    /// The number of texts.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The texts of several indexes, as far as they are kept, in their order.
    pub fn merged(parts: &[(&Texts, Keep<'_>)]) -> Texts {
        let words: Vec<_> = parts.iter().map(|(part, keep)| (&part.words, *keep)).collect();
        let mut vectors = Vec::new();
        for (part, keep) in parts {
            let dimensions = part.vectors.len() / part.len().max(1);
            let texts = part.vectors.chunks(dimensions.max(1)).enumerate();
            let is_kept = |at: usize| keep.is_none_or(|keep| keep.get(at).copied().unwrap_or_default());
            vectors.extend(texts.filter(|(at, _)| is_kept(*at)).flat_map(|(_, vector)| vector));
        }
        Texts { words: Bm25::merged(&words), vectors }
    }
}

impl TextQuery {
    /// A query over several indexes, in all of which its words are counted.
    pub fn of(text: &str, vectors: &StaticVectors, parts: &[&Texts]) -> TextQuery {
        let terms = question_terms(&mut Tokenizer::new(), text).into_iter();
        let weight = |term: &str| {
            let frequency = parts.iter().map(|part| part.words.inverted().frequency(term)).sum();
            idf(frequency, parts.iter().map(|part| part.len()).sum())
        };
        TextQuery {
            terms: terms
                .map(|term| {
                    let weight = weight(&term);
                    (term, weight)
                })
                .collect(),
            vector: vectors.embed_one(text),
        }
    }

    /// Returns whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The score of each text. Two signs speak for a text: the share of the query's words that it has, weighted by how rare they
    /// are, and the likeness of their vectors. They count as independent: the score is `1 - (1 - share) (1 - likeness)`.
    pub fn scores(&self, texts: &Texts) -> Vec<TextScore> {
        let mut shares = vec![0.0f32; texts.len()];
        let all: f32 = self.terms.iter().map(|(_, weight)| weight).sum();
        for (term, weight) in self.terms.iter().filter(|_| all > 0.0) {
            for (document, _) in texts.words.inverted().postings(term) {
                if let Some(share) = shares.get_mut(document.0 as usize) {
                    *share += weight / all;
                }
            }
        }
        let cosines = cosines(&self.vector, &texts.vectors);
        let score = |(share, cosine): (f32, f32)| TextScore {
            value: 1.0 - (1.0 - share.clamp(0.0, 1.0)) * (1.0 - likeness(cosine)),
            cosine,
        };
        shares.into_iter().zip(cosines).map(score).collect()
    }
}

fn likeness(cosine: f32) -> f32 {
    ((cosine - UNLIKE) / (ALIKE - UNLIKE)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Texts {
        let vectors = StaticVectors::shipped().unwrap();
        let (mut builder, mut tokenizer) = (TextsBuilder::default(), Tokenizer::new());
        for text in all {
            builder.add(&mut tokenizer, &vectors, text);
        }
        builder.finish()
    }

    #[test]
    fn merged_texts_have_the_scores_of_those_that_are_kept() {
        let vectors = StaticVectors::shipped().unwrap();
        let (one, two) = (texts(&["a red bucket", "the lease"]), texts(&["a token"]));
        let merged = Texts::merged(&[(&one, Some(&[false, true])), (&two, None)]);
        let whole = texts(&["the lease", "a token"]);
        assert_eq!(merged.vectors, whole.vectors);
        let scores = |texts: &Texts| {
            let query = TextQuery::of("token", &vectors, &[texts]);
            query.scores(texts).iter().map(|score| score.value).collect::<Vec<_>>()
        };
        assert_eq!(scores(&merged), scores(&whole));
        assert!(scores(&merged)[1] > 0.99, "{:?}", scores(&merged));
    }
}
