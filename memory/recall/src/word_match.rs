//! How well a text matches the words of a question one by one.
//!
//! The vector of a long text is dominated by words that the question is not about. If each word of the question is
//! compared with the most similar word of the text instead, two texts of different length are comparable. This is the
//! late interaction of ColBERT (Khattab and Zaharia 2020) over static vectors.

use muninn_text::embed::{StaticVectors, dot};
use muninn_text::lexical::{is_stop_word_of, words};

/// Maximum number of words of a text that are compared.
const MOST_WORDS: usize = 300;
/// Similarities up to this one are chance.
const CHANCE: f32 = 0.3;

/// The words of a question.
pub struct WordMatch<'a> {
    vectors: &'a StaticVectors,
    words: Vec<WordVector>,
}

/// A word's vector of unit length, and its length before. Frequent words have short vectors, so the length weighs a word
/// as an inverse document frequency does.
struct WordVector {
    unit: Vec<f32>,
    weight: f32,
}

impl<'a> WordMatch<'a> {
    /// Looks up the vectors of a question's words. Unknown words are ignored.
    pub fn new<'w>(vectors: &'a StaticVectors, words: impl IntoIterator<Item = &'w str>) -> Self {
        let words = words.into_iter().filter_map(|word| WordVector::of(vectors, word));
        Self { vectors, words: words.collect() }
    }

    /// Looks up the vectors of all words of a question except stop words.
    pub fn of_question(vectors: &'a StaticVectors, question: &str) -> Self {
        Self::new(vectors, content_words(question))
    }

    /// Returns the weighted mean, over the question's words, of the similarity to the most similar word of the text: from 0
    /// to 1, and 0 for a question without known words.
    pub fn share(&self, text: &str) -> f32 {
        let of_text = content_words(text).filter_map(|word| WordVector::of(self.vectors, word));
        let of_text: Vec<WordVector> = of_text.take(MOST_WORDS).collect();
        let best = |word: &WordVector| {
            let similarities = of_text.iter().map(|other| dot(&word.unit, &other.unit));
            let best = similarities.fold(CHANCE, f32::max);
            (best - CHANCE) / (1.0 - CHANCE)
        };
        let found: f32 = self.words.iter().map(|word| word.weight * best(word)).sum();
        let total: f32 = self.words.iter().map(|word| word.weight).sum();
        (found / total.max(f32::MIN_POSITIVE)).min(1.0)
    }
}

/// The words of a text except stop words.
fn content_words(text: &str) -> impl Iterator<Item = &str> {
    let words = words(text).filter(|word| !is_stop_word_of(text, word));
    words.map(|word| word.text)
}

impl WordVector {
    fn of(vectors: &StaticVectors, word: &str) -> Option<Self> {
        let mut unit = vectors.sum(word)?;
        let weight = dot(&unit, &unit).sqrt();
        unit.iter_mut().for_each(|value| *value /= weight.max(f32::MIN_POSITIVE));
        (weight > 0.0).then_some(Self { unit, weight })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_matched_one_by_one() {
        let vectors = StaticVectors::shipped().unwrap();
        let question = WordMatch::new(&vectors, ["delete", "directory"]);
        let equal = question.share("delete the directory");
        let near = question.share("remove the folder");
        let far = question.share("the histogram has ten bins");
        assert!((equal - 1.0).abs() < 1e-5 && equal > near && near > far + 0.1, "{equal} {near} {far}");
        let long = question.share(&format!("delete the directory. {}", "the histogram has ten bins. ".repeat(20)));
        assert!((long - equal).abs() < 1e-5, "the length does not matter");
        assert_eq!(WordMatch::new(&vectors, ["\u{4e2d}"]).share("delete"), 0.0);
        assert_eq!(question.share(""), 0.0);
    }
}
