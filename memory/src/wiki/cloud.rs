//! The terms that a wiki is about: the most frequent words and pairs of words, without any model.

use std::collections::HashMap;
use std::thread;

use serde::{Deserialize, Serialize};

use super::words::{StopWords, each_word};

/// The most threads that count.
const THREADS: usize = 4;

/// A term and its number of occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// A word, or two words with a blank between them.
    pub term: String,
    /// Its number of occurrences.
    pub count: u64,
}

/// The `size` most frequent terms of some texts; of equally frequent ones, those first in the alphabet.
///
/// A pair counts if both words follow each other in a text and neither is left out. Left out are stop
/// words, words of one letter, and numbers.
#[must_use]
pub fn cloud<T: AsRef<str> + Sync>(texts: &[T], size: usize, extra: &[String]) -> Vec<Term> {
    let counted = in_parts(texts, Counts::words);
    let mut words = Counts::default();
    counted.into_iter().for_each(|part| words.add(part));
    let extra: Vec<String> = extra.iter().map(|word| word.to_lowercase()).collect();
    let stop = StopWords::of(words.iter(), extra.iter().map(String::as_str));
    let mut pairs = Counts::default();
    for part in in_parts(texts, |texts| Counts::pairs(texts, &stop)) {
        pairs.add(part);
    }
    let words = words.0.into_iter().filter(|(word, _)| !stop.contains(word));
    let mut terms: Vec<Term> = words
        .chain(pairs.0)
        .map(|(term, count)| Term {
            term: term.into(),
            count,
        })
        .collect();
    let order = |a: &Term, b: &Term| b.count.cmp(&a.count).then_with(|| a.term.cmp(&b.term));
    if terms.len() > size {
        terms.select_nth_unstable_by(size, order);
        terms.truncate(size);
    }
    terms.sort_unstable_by(order);
    terms
}

/// Counts the texts in several parts at once.
fn in_parts<T: AsRef<str> + Sync>(texts: &[T], count: impl Fn(&[T]) -> Counts + Sync) -> Vec<Counts> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let parts = texts.chunks(texts.len().div_ceil(threads).max(1));
    thread::scope(|scope| {
        let count = &count;
        let counting: Vec<_> = parts.map(|part| scope.spawn(move || count(part))).collect();
        counting.into_iter().filter_map(|part| part.join().ok()).collect()
    })
}

/// Terms with their numbers.
#[derive(Default)]
struct Counts(HashMap<Box<str>, u64>);

impl Counts {
    fn words<T: AsRef<str>>(texts: &[T]) -> Counts {
        let mut counts = Counts::default();
        for text in texts {
            each_word(text.as_ref(), &mut |word| counts.one(word));
        }
        counts
    }

    fn pairs<T: AsRef<str>>(texts: &[T], stop: &StopWords<'_>) -> Counts {
        let mut counts = Counts::default();
        let (mut pair, mut first) = (String::new(), 0);
        for text in texts {
            // The pair begins with the word before, if that one is not left out.
            pair.clear();
            each_word(text.as_ref(), &mut |word| {
                if stop.contains(word) {
                    return pair.clear();
                }
                if !pair.is_empty() {
                    first = pair.len() + 1;
                    pair.push(' ');
                    pair.push_str(word);
                    counts.one(&pair);
                    pair.drain(..first);
                    return;
                }
                pair.push_str(word);
            });
        }
        counts
    }

    fn one(&mut self, term: &str) {
        match self.0.get_mut(term) {
            Some(count) => *count += 1,
            None => {
                self.0.insert(term.into(), 1);
            }
        }
    }

    fn add(&mut self, other: Counts) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        for (term, count) in other.0 {
            *self.0.entry(term).or_default() += count;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(word, count)| (&**word, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(texts: &[&str], size: usize, extra: &[String]) -> Vec<(String, u64)> {
        cloud(texts, size, extra)
            .into_iter()
            .map(|term| (term.term, term.count))
            .collect()
    }

    #[test]
    fn words_and_pairs_are_counted_as_the_specification_says() {
        let text = "The mind-map of [[projects/mind-map]]: agents call MCP-tools. `page_count` is 42, agents call x.";
        let found = terms(&[text], 50, &[]);
        let expected = [
            ("agents", 2),
            ("agents call", 2),
            ("call", 2),
            ("mind-map", 2),
            ("call mcp-tools", 1),
            ("mcp-tools", 1),
            ("mcp-tools page_count", 1),
            ("mind-map agents", 1),
            ("page_count", 1),
            ("projects", 1),
            ("projects mind-map", 1),
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
        assert!(
            found
                .iter()
                .all(|(term, _)| !["der", "die", "und", "wird", "nicht"].contains(&&**term)),
            "{found:?}"
        );
        assert!(found.iter().any(|(term, _)| term == "katalog"));
        let english = "The die is cast, and its casting machine stands in the hall where metal parts for many different engines are made.";
        assert!(
            terms(&[english], 99, &[]).iter().any(|(term, _)| term == "die"),
            "an English word here"
        );
    }
}
