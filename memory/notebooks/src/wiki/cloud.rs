//! The terms that a wiki is about: the most frequent words and pairs of words in it that are not common elsewhere, without
//! any model.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::thread;

use muninn_text::background::Background;
use muninn_text::lexical::Tokenizer;
use serde::{Deserialize, Serialize};

use super::words::{StopWords, each_word};

/// The most threads that count.
const THREADS: usize = 4;

/// The share of other repositories' files of prose from which a word is common.
const COMMON: f32 = 0.2;

/// A term and its number of occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// A word, or two words with a blank between them.
    pub term: String,
    /// Its number of occurrences.
    pub count: u64,
}

/// The `size` most frequent terms of the texts of some pages; of equally frequent ones, those first in the alphabet. A page
/// without a text does not count.
///
/// A pair counts if both words follow each other in a text and neither is left out. Left out are stop words, words of one
/// letter, numbers, and words that are common in the prose of other repositories.
pub fn cloud<P: Sync, T: AsRef<str>>(
    pages: &[P],
    text: impl Fn(&P) -> Option<T> + Sync,
    size: usize,
    extra: &[String],
) -> Vec<Term> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let parts = pages.chunks(pages.len().div_ceil(threads).max(1));
    let parts = in_parts(parts, |pages| NumberedWords::of(pages.iter().filter_map(&text)));
    let (words, parts) = Words::joined(parts);
    let extra: Vec<String> = extra.iter().map(|word| word.to_lowercase()).collect();
    let counts = words.names.iter().map(|word| &**word).zip(words.counts.iter().copied());
    let stop = StopWords::of(counts, extra.iter().map(String::as_str));
    let mut tokenizer = Tokenizer::new();
    let mut left_out = |word: &str| stop.contains(word) || is_common(&mut tokenizer, word);
    let is_left_out: Vec<bool> = words.names.iter().map(|word| left_out(word)).collect();
    let pairs = in_parts(parts.iter(), |part| pairs(part, &is_left_out));
    let single = (0u32..).zip(&words.counts).filter(|(word, _)| !is_left_out[*word as usize]);
    let mut found: Vec<(Key, u64)> = single.map(|(word, count)| (Key::Word(word), *count)).collect();
    found.extend(counted(pairs.concat()));
    words.most_frequent(found, size)
}

/// Whether a word is common in the prose of other repositories.
fn is_common(tokenizer: &mut Tokenizer, word: &str) -> bool {
    let mut share = 0.0;
    if let Ok(background) = Background::shared() {
        tokenizer.word(word, &mut |term: &str| share = background.of(term).prose);
    }
    share >= COMMON
}

/// Works on several parts at once; the results are in the order of the parts.
fn in_parts<P: Send, R: Send>(parts: impl Iterator<Item = P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let work = &work;
        let working: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        working.into_iter().filter_map(|part| part.join().ok()).collect()
    })
}

/// A term, by the numbers of its words.
#[derive(Clone, Copy)]
enum Key {
    Word(u32),
    Pair(u32, u32),
}

/// Stands between two texts, and between words that do not follow each other.
const BETWEEN_TEXTS: u32 = u32::MAX;

/// The words of some texts as numbers, in order.
#[derive(Default)]
struct NumberedWords {
    numbers: HashMap<Box<str>, u32>,
    text: Vec<u32>,
}

impl NumberedWords {
    fn of<T: AsRef<str>>(texts: impl Iterator<Item = T>) -> NumberedWords {
        let mut words = NumberedWords::default();
        for text in texts {
            each_word(text.as_ref(), &mut |word| {
                let number = word.map_or(BETWEEN_TEXTS, |word| words.number(word));
                words.text.push(number);
            });
            words.text.push(BETWEEN_TEXTS);
        }
        words
    }

    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len()).unwrap_or(BETWEEN_TEXTS);
        self.numbers.insert(word.into(), number);
        number
    }
}

/// The words of all texts with their numbers of occurrences.
struct Words {
    names: Vec<Box<str>>,
    counts: Vec<u64>,
}

impl Words {
    /// Gives the words of all parts common numbers, and counts them.
    fn joined(parts: Vec<NumberedWords>) -> (Words, Vec<Vec<u32>>) {
        let mut all = NumberedWords::default();
        let mut texts = Vec::new();
        for part in parts {
            let mut common = vec![BETWEEN_TEXTS; part.numbers.len()];
            for (word, number) in part.numbers {
                common[number as usize] = all.number(&word);
            }
            let text = part.text.into_iter();
            let text = text.map(|number| common.get(number as usize).copied().unwrap_or(BETWEEN_TEXTS));
            texts.push(text.collect::<Vec<u32>>());
        }
        let mut words = Words { counts: vec![0; all.numbers.len()], names: vec![Box::default(); all.numbers.len()] };
        for (name, number) in all.numbers {
            words.names[number as usize] = name;
        }
        for number in texts.iter().flatten().filter(|number| **number != BETWEEN_TEXTS) {
            words.counts[*number as usize] += 1;
        }
        (words, texts)
    }

    /// The first terms in the order of a cloud.
    fn most_frequent(&self, mut found: Vec<(Key, u64)>, size: usize) -> Vec<Term> {
        if found.len() > size {
            // Equally frequent ones are all kept, because their names decide.
            let Some(last) = size.checked_sub(1) else {
                return Vec::new();
            };
            let (_, (_, least), _) = found.select_nth_unstable_by_key(last, |(_, count)| Reverse(*count));
            let least = *least;
            found.retain(|(_, count)| *count >= least);
        }
        let name = |key| match key {
            Key::Word(word) => self.names[word as usize].to_string(),
            Key::Pair(first, second) => format!("{} {}", self.names[first as usize], self.names[second as usize]),
        };
        let mut terms: Vec<Term> = found.into_iter().map(|(key, count)| Term { term: name(key), count }).collect();
        terms.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.term.cmp(&b.term)));
        terms.truncate(size);
        terms
    }
}

/// The pairs of words that follow each other, of which none is left out, each as one number.
fn pairs(text: &[u32], is_left_out: &[bool]) -> Vec<u64> {
    let counts = |word: u32| is_left_out.get(word as usize).is_some_and(|left_out| !left_out);
    let following = text.iter().zip(text.iter().skip(1));
    let kept = following.filter(|(first, second)| counts(**first) && counts(**second));
    kept.map(|(first, second)| u64::from(*first) << 32 | u64::from(*second)).collect()
}

/// The number of occurrences of each pair.
#[expect(clippy::cast_possible_truncation, reason = "each half of a pair is the number of a word")]
fn counted(mut pairs: Vec<u64>) -> Vec<(Key, u64)> {
    pairs.sort_unstable();
    let same = pairs.chunk_by(|a, b| a == b);
    let key = |pair: u64| Key::Pair((pair >> 32) as u32, pair as u32);
    same.filter_map(|same| Some((key(*same.first()?), same.len() as u64))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(texts: &[&str], size: usize, extra: &[String]) -> Vec<(String, u64)> {
        cloud(texts, |text| Some(*text), size, extra).into_iter().map(|term| (term.term, term.count)).collect()
    }

    #[test]
    fn words_in_any_script_and_form_are_counted() {
        let texts = ["令牌桶、令牌", "Cafe\u{301} CAFÉ", "ﾊﾞｹｯﾄ-test_x バケット", "स्थिर दर स्थिर दर"];
        let found = terms(&texts, 100, &[]);
        for (term, count) in
            [("令牌", 2), ("牌桶", 1), ("café", 2), ("バケ", 2), ("test_x", 1), ("स्थिर", 2), ("स्थिर दर", 2)]
        {
            assert!(found.contains(&(term.to_owned(), count)), "{term}: {found:?}");
        }
        assert!(!found.iter().any(|(term, _)| term.contains("令牌 牌桶")), "{found:?}");
    }

    #[test]
    fn the_most_frequent_come_first_without_words_that_are_common_elsewhere() {
        let text =
            "The mind-map of [[projects/mind-map]]: these files use MCP-tools. `page_count` is 42, MCP-tools read it.";
        let found = terms(&[text], 50, &[]);
        let expected = [("mcp-tools", 2), ("mind-map", 2), ("mcp-tools page_count", 1), ("page_count", 1)];
        assert_eq!(found, expected.map(|(term, count)| (term.to_owned(), count)));
    }

    #[test]
    fn size_extra_words_and_texts_bound_the_terms() {
        let texts = ["Café -x- CAFÉ todo", "café TODO"];
        assert_eq!(terms(&texts, 1, &[]), [("café".to_owned(), 3)]);
        let found = terms(&texts, 9, &["TODO".to_owned()]);
        assert_eq!(found, [("café".to_owned(), 3)], "no pair across texts");
        assert!(terms(&[], 9, &[]).is_empty() && terms(&["", "— …"], 9, &[]).is_empty());
    }

    #[test]
    fn stop_words_of_the_language_of_a_wiki_are_left_out() {
        let german = "Der Katalog ist die Liste der Seiten und wird von den Agenten gelesen, die es nicht kennen.";
        let found = terms(&[german], 99, &[]);
        assert!(found.iter().all(|(term, _)| !["der", "die", "und", "wird", "nicht"].contains(&&**term)), "{found:?}");
        assert!(found.iter().any(|(term, _)| term == "katalog"));
        let english = "The die is cast, and its casting machine stands in the hall where metal parts for many different engines are made.";
        assert!(terms(&[english], 99, &[]).iter().any(|(term, _)| term == "die"), "an English word here");
    }
}
