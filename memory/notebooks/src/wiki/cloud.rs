//! The terms that a wiki is about: the words and pairs of words that are frequent in it and rare in other repositories,
//! without any model.

use std::collections::HashMap;
use std::thread;

use muninn_text::background::{Background, Elsewhere};
use muninn_text::lexical::Tokenizer;
use serde::{Deserialize, Serialize};

use super::words::{StopWords, each_word};

/// The most threads that count.
const THREADS: usize = 4;

/// The share of texts elsewhere below which a word is no rarer than another.
const RAREST: f32 = 2e-5;

/// A term and its number of occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// A word, or two words with a blank between them.
    pub term: String,
    /// Its number of occurrences.
    pub count: u64,
}

/// The `size` most telling terms of the texts of some pages; of equally telling ones, those first in the alphabet. A page
/// without a text does not count. A term tells its number of occurrences times the weight of its words: 0 for a word in
/// each text of other repositories, 1 for one in none of them.
///
/// A pair counts if both words follow each other in a text and neither is left out. Left out are stop
/// words, words of one letter, and numbers.
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
    let is_left_out: Vec<bool> = words.names.iter().map(|word| stop.contains(word)).collect();
    let pairs = in_parts(parts.iter(), |part| pairs(part, &is_left_out));
    let single = (0u32..).zip(&words.counts).filter(|(word, _)| !is_left_out[*word as usize]);
    let mut found: Vec<(Key, u64)> = single.map(|(word, count)| (Key::Word(word), *count)).collect();
    found.extend(counted(pairs.concat()));
    words.most_telling(found, size)
}

/// The weight of a word from 0 to 1, see [`cloud`].
fn weight(tokenizer: &mut Tokenizer, word: &str) -> f32 {
    let mut elsewhere = Elsewhere::default();
    if let Ok(background) = Background::shared() {
        tokenizer.word(word, &mut |term: &str| elsewhere = background.of(term));
    }
    elsewhere.prose.clamp(RAREST, 1.0).ln() / RAREST.ln()
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
    fn most_telling(&self, found: Vec<(Key, u64)>, size: usize) -> Vec<Term> {
        let mut tokenizer = Tokenizer::new();
        let weights: Vec<f32> = self.names.iter().map(|name| weight(&mut tokenizer, name)).collect();
        let tells = |(key, count): (Key, u64)| {
            let weight = match key {
                Key::Word(word) => weights[word as usize],
                Key::Pair(first, second) => f32::midpoint(weights[first as usize], weights[second as usize]),
            };
            (weight * count as f32, key, count)
        };
        let mut found: Vec<(f32, Key, u64)> = found.into_iter().map(tells).collect();
        if found.len() > size {
            // Equally telling ones are all kept, because their names decide.
            let Some(last) = size.checked_sub(1) else {
                return Vec::new();
            };
            let (_, (least, ..), _) = found.select_nth_unstable_by(last, |(a, ..), (b, ..)| b.total_cmp(a));
            let least = *least;
            found.retain(|(tells, ..)| *tells >= least);
        }
        let term = |(tells, key, count)| {
            let term = match key {
                Key::Word(word) => self.names[word as usize].to_string(),
                Key::Pair(first, second) => format!("{} {}", self.names[first as usize], self.names[second as usize]),
            };
            (tells, Term { term, count })
        };
        let mut terms: Vec<(f32, Term)> = found.into_iter().map(term).collect();
        terms.sort_unstable_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.term.cmp(&right.term)));
        terms.truncate(size);
        terms.into_iter().map(|(_, term)| term).collect()
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
    fn words_and_pairs_that_are_rare_elsewhere_come_first() {
        let text = "The mind-map of [[projects/mind-map]]: agents call MCP-tools. `page_count` is 42, agents call x.";
        let found = terms(&[text], 50, &[]);
        let expected = [
            ("mind-map", 2),
            ("mcp-tools", 1),
            ("mcp-tools page_count", 1),
            ("page_count", 1),
            ("mind-map agents", 1),
            ("agents", 2),
            ("projects mind-map", 1),
            ("call mcp-tools", 1),
            ("agents call", 2),
            ("call", 2),
            ("projects", 1),
        ];
        let expected = expected.map(|(term, count)| (term.to_owned(), count));
        assert_eq!(found, expected);
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
