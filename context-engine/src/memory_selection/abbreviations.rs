//! Abbreviations of a question that a memory writes out, and the reverse.

use std::collections::HashMap;

use muninn_text::lexical::{Word, is_stop_word_of, words};

use crate::question::{Question, shortened};

/// The number of letters of an abbreviation.
const LETTERS: std::ops::RangeInclusive<usize> = 2..=5;

/// The words of a question.
pub(super) struct Abbreviations {
    /// See [`initials`].
    initials: String,
    /// The concept of each word, as a bit; 0 for a word that is none.
    concepts: Vec<u64>,
    /// The abbreviations among them in lower case, each with its concept.
    short: Vec<(String, u64)>,
}

impl Abbreviations {
    /// `text` is that of the question.
    pub(super) fn new(question: &Question, text: &str) -> Self {
        let text = shortened(text);
        let of_text: Vec<Word<'_>> = words(&text).collect();
        let numbered = question.concepts.iter().enumerate();
        let bits: HashMap<&str, u64> = numbered.map(|(at, concept)| (&*concept.word, 1 << at)).collect();
        let bit_of = |word: &Word<'_>| bits.get(&*word.text.to_lowercase()).copied().unwrap_or(0);
        let concepts: Vec<u64> = of_text.iter().map(bit_of).collect();
        let short = of_text.iter().zip(&concepts).filter(|(word, _)| is_abbreviation(word));
        Self {
            initials: initials(&text, &of_text),
            short: short.map(|(word, concept)| (word.text.to_lowercase(), *concept)).collect(),
            concepts,
        }
    }

    /// Returns the concepts, as bits, that a text writes out although the question abbreviates them, or the reverse: `PR` is
    /// in a text with "pull request", and "key" and "value" are in one with `KV`.
    pub(super) fn matched(&self, text: &str) -> u64 {
        let of_text: Vec<Word<'_>> = words(text).collect();
        let initials = if self.short.is_empty() { String::new() } else { initials(text, &of_text) };
        let written_out = self.short.iter().filter(|(short, _)| initials.contains(short));
        let written_out = written_out.map(|(_, concept)| *concept);
        let abbreviated = of_text.iter().filter(|word| is_abbreviation(word)).flat_map(|word| {
            let at = self.initials.find(&word.text.to_lowercase());
            at.map_or(&[][..], |at| &self.concepts[at..at + word.text.len()])
        });
        written_out.chain(abbreviated.copied()).fold(0, |bits, bit| bits | bit)
    }
}

/// The first letter of each word in lower case; a space for a stop word, for a single letter, and for a word that begins with
/// another character than an ASCII letter.
fn initials(text: &str, words: &[Word<'_>]) -> String {
    let initial = |word: &Word<'_>| {
        let first = word.text.chars().next().filter(|first| first.is_ascii_alphabetic() && word.text.len() > 1);
        let first = first.filter(|_| !is_stop_word_of(text, word));
        first.map_or(' ', |first| first.to_ascii_lowercase())
    };
    words.iter().map(initial).collect()
}

fn is_abbreviation(word: &Word<'_>) -> bool {
    LETTERS.contains(&word.text.len()) && word.text.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use muninn_text::lexical::Tokenizer;

    use super::*;
    use crate::question::analyse;

    fn matched(question: &str, text: &str) -> Vec<String> {
        let analysed = analyse(&mut Tokenizer::new(), question);
        let bits = Abbreviations::new(&analysed, question).matched(text);
        let concepts = analysed.concepts.into_iter().enumerate();
        concepts.filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, concept)| concept.word).collect()
    }

    #[test]
    fn abbreviations_match_the_words_that_they_stand_for() {
        assert_eq!(matched("When may a stale PR be closed?", "Close a pull request after a month."), ["pr"]);
        assert_eq!(matched("Which server has the key-value store?", "KV is in server 2.6."), ["key", "value"]);
        let nothing = [""; 0];
        assert_eq!(matched("Which server has the key-value store?", "kv, K, VKV, SV"), nothing);
        assert_eq!(matched("Is a PR closed?", "Put it in the request"), nothing);
        assert_eq!(matched("Where is JabRef's tool?", "JS"), nothing);
        assert_eq!(matched("Where is the größe äußere Ö?", "Der ÖG ist größer. SG"), nothing);
        assert_eq!(matched("", "KV"), nothing);
    }
}
