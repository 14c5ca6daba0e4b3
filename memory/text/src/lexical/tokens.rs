//! The tokenizer of every search.
//!
//! `LedgerReplay` gives `ledgerreplay`, `ledger` and `replay`, and so do `ledger_replay` and `ledger-replay`. A word of
//! one part gives only its stem, so prose and code share a vocabulary and plain words are not counted twice.
//!
//! A run of a script without spaces between words gives each pair of adjacent characters. So any part of such a text of
//! at least two characters finds it, wherever its words begin. A text is also found by a single Han or Hangul character:
//! its index has these characters as terms of their own. A question has them only where they stand alone, because single
//! characters of longer runs would match unrelated texts.
//!
//! Words that are not ASCII are normalised first, see [`super::normal`].

use std::cell::RefCell;
use std::collections::HashMap;

use parking_lot::Mutex;
use rust_stemmers::{Algorithm, Stemmer};

use super::normal::{fold, normalised};
use super::scripts::{is_emoji, is_mark, is_single_word, is_unspaced};
use super::stop::is_stop_word_of;
use super::word::{Word, words};
use crate::redact::is_wordy;

/// The version of the terms. It is part of the version of every stored index of terms: see the users of
/// [`has_terms_of`].
const TERMS_VERSION: u32 = 3;

/// Longer words, and parts of them, are cut to this length in characters. Some languages write long words, and some
/// programs long names.
const MAX_WORD_CHARS: usize = 64;

/// A part of a longer word that has more characters and is not made of words is a key, a hash or encoded data, which are not
/// indexed.
const MAX_ENCODED_CHARS: usize = 16;

/// Maximum number of cached stems. Code repeats itself, and stemming costs more than a lookup; the limit bounds memory
/// on a hostile file.
const MAX_REMEMBERED: usize = 1 << 15;

/// Returns whether terms have this version. A stored index asserts it at compile time, next to its own version, so that a
/// new version of terms cannot be forgotten there.
pub const fn has_terms_of(version: u32) -> bool {
    TERMS_VERSION == version
}

/// Words with their stems.
type Stems = HashMap<Box<str>, Box<str>>;

/// The stems that dropped tokenizers have found, for new ones: questions of one repository share most of their words.
static FOUND: Mutex<Vec<Stems>> = Mutex::new(Vec::new());
/// The most of them that are kept, and the most stems that one may have. A tokenizer of whole files has more.
const MAX_FOUND: usize = 4;
const MAX_FOUND_STEMS: usize = 1 << 13;

/// Splits text into terms. It caches stems: reuse it for many texts.
pub struct Tokenizer {
    stemmer: Stemmer,
    stems: Stems,
    lower: String,
}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        let mut found = FOUND.lock();
        if found.len() < MAX_FOUND && (1..=MAX_FOUND_STEMS).contains(&self.stems.len()) {
            found.push(std::mem::take(&mut self.stems));
        }
    }
}

/// The side of a search that terms are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A text that is to be found.
    Text,
    Question,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tokenizer {
    /// Creates a tokenizer for English prose, any programming language and any script.
    pub fn new() -> Self {
        let stems = FOUND.lock().pop().unwrap_or_default();
        Self { stemmer: Stemmer::create(Algorithm::English), stems, lower: String::new() }
    }

    /// Calls `emit` with every term of a text that is to be found, in order, repetitions included.
    pub fn each_term(&mut self, text: &str, emit: impl FnMut(&str)) {
        self.each_term_for(Side::Text, text, emit);
    }

    fn each_term_for(&mut self, side: Side, text: &str, mut emit: impl FnMut(&str)) {
        let mut chain = Chain::default();
        let mut end = 0;
        for word in words(text) {
            emojis(&text[end..word.start], &mut emit);
            end = word.start + word.text.len();
            self.word_for(side, word.text, &mut emit, &mut || {});
            if let Some(kebab) = chain.extend(text, word) {
                self.stem(&kebab, &mut emit);
            }
        }
        emojis(&text[end..], &mut emit);
        if let Some(kebab) = chain.finish() {
            self.stem(&kebab, &mut emit);
        }
    }

    /// Emits the terms of a word of a question: its parts, then the whole if it has several.
    pub fn word(&mut self, word: &str, emit: &mut impl FnMut(&str)) {
        self.word_for(Side::Question, word, emit, &mut || {});
    }

    /// Emits the terms of each concept of a word of a question. A word is one concept, with its parts before the whole. In
    /// a script without spaces, where words cannot be told apart, each pair of characters is one.
    pub fn each_concept(&mut self, word: &str, mut emit: impl FnMut(Vec<String>)) {
        let terms = RefCell::new(Vec::new());
        let mut take = |term: &str| terms.borrow_mut().push(term.to_owned());
        let mut end = || match terms.take() {
            none if none.is_empty() => {}
            terms => emit(terms),
        };
        self.word_for(Side::Question, word, &mut take, &mut end);
    }

    /// Emits the terms of a word, and calls `end` behind those of each concept.
    fn word_for(&mut self, side: Side, word: &str, emit: &mut impl FnMut(&str), end: &mut impl FnMut()) {
        if word.is_ascii() {
            return self.identifier(word, emit, end);
        }
        for word in words(&normalised(word)) {
            for run in runs(word.text) {
                if run.starts_with(is_unspaced) {
                    pairs(run, side, emit, end);
                } else {
                    self.identifier(run, emit, end);
                }
            }
        }
    }

    /// Emits the terms of an identifier or a plain word: its parts, then the whole if it has several.
    fn identifier(&mut self, word: &str, emit: &mut impl FnMut(&str), end: &mut impl FnMut()) {
        let (mut parts, mut is_whole) = (0, true);
        for segment in word.split('_') {
            if word.len() > MAX_WORD_CHARS && is_encoded(segment) {
                is_whole = false;
                continue;
            }
            for part in Parts(segment) {
                parts += 1;
                let end = part.char_indices().nth(MAX_WORD_CHARS).map_or(part.len(), |(at, _)| at);
                self.stem(&part[..end], emit);
            }
        }
        if parts > 1 && is_whole {
            let whole: String = word.chars().filter(|c| *c != '_').take(MAX_WORD_CHARS).collect();
            self.stem(&whole, emit);
        }
        end();
    }

    fn stem(&mut self, part: &str, emit: &mut impl FnMut(&str)) {
        self.lower.clear();
        fold(part, &mut self.lower);
        let lower = self.lower.as_str();
        let digits = lower.bytes().all(|b| b.is_ascii_digit());
        if (lower.len() < 2 && lower.is_ascii()) || (digits && lower.len() > 6) {
            return;
        }
        if lower.len() < 4 || !lower.bytes().all(|b| b.is_ascii_lowercase()) {
            return emit(lower);
        }
        if let Some(stem) = self.stems.get(lower) {
            return emit(stem);
        }
        let stem = self.stemmer.stem(lower);
        emit(&stem);
        if self.stems.len() < MAX_REMEMBERED {
            self.stems.insert(lower.into(), stem.into());
        }
    }
}

/// Returns whether a segment of a long word is a key, a hash or encoded data.
fn is_encoded(segment: &str) -> bool {
    segment.len() > MAX_ENCODED_CHARS && segment.is_ascii() && !is_wordy(segment)
}

/// The distinct terms of a text with counts, in order of first occurrence.
pub fn counted(tokenizer: &mut Tokenizer, text: &str) -> Vec<(String, u32)> {
    counted_for(tokenizer, Side::Text, text)
}

fn counted_for(tokenizer: &mut Tokenizer, side: Side, text: &str) -> Vec<(String, u32)> {
    let mut seen: HashMap<String, (usize, u32)> = HashMap::new();
    tokenizer.each_term_for(side, text, |term| match seen.get_mut(term) {
        Some((_, count)) => *count += 1,
        None => {
            let first = seen.len();
            seen.insert(term.to_owned(), (first, 1));
        }
    });
    let mut counts: Vec<(String, (usize, u32))> = seen.into_iter().collect();
    counts.sort_unstable_by_key(|(_, (first, _))| *first);
    counts.into_iter().map(|(term, (_, count))| (term, count)).collect()
}

/// The terms of a text without stop words, with their counts. Code and prose share terms, as
/// [`super`] explains.
pub fn content_terms(tokenizer: &mut Tokenizer, text: &str) -> Vec<(String, u32)> {
    counted_for(tokenizer, Side::Text, &without_stop_words(text))
}

/// The terms of a question without stop words, each once, in order of first occurrence.
pub fn question_terms(tokenizer: &mut Tokenizer, text: &str) -> Vec<String> {
    let terms = counted_for(tokenizer, Side::Question, &without_stop_words(text));
    terms.into_iter().map(|(term, _)| term).collect()
}

fn without_stop_words(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for word in words(text) {
        // Text between words is kept, so that a hyphen still joins them.
        kept.push_str(&text[end..word.start]);
        end = word.start + word.text.len();
        if !is_stop_word_of(text, &word) {
            kept.push_str(word.text);
        }
    }
    kept.push_str(&text[end..]);
    kept
}

/// The runs of a word that are written with or without spaces between words, in turn.
pub fn runs(mut word: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let kind = is_unspaced(word.chars().next()?);
        let end = word.find(|c| is_unspaced(c) != kind).unwrap_or(word.len());
        let (run, rest) = word.split_at(end);
        word = rest;
        Some(run)
    })
}

/// Emits the pairs of adjacent characters of a run, each a concept, and for a text to be found those characters that are
/// words by themselves in some language.
fn pairs(run: &str, side: Side, emit: &mut impl FnMut(&str), end: &mut impl FnMut()) {
    let mut before = None;
    for (at, c) in run.char_indices() {
        let after = at + c.len_utf8();
        let is_alone = after - at == run.len();
        let pair = before.map(|start| &run[start..after]);
        let single = (is_alone || side == Side::Text && is_single_word(c)).then(|| &run[at..after]);
        for term in [pair, single].into_iter().flatten() {
            emit(term);
            end();
        }
        before = Some(at);
    }
}

/// Emits the emoji between two words. A sequence of several characters gives each of them, so a part finds the whole.
fn emojis(between: &str, emit: &mut impl FnMut(&str)) {
    if between.is_ascii() {
        return;
    }
    for (at, c) in between.char_indices().filter(|(_, c)| is_emoji(*c)) {
        emit(&between[at..at + c.len_utf8()]);
    }
}

/// Words joined by single hyphens, such as `dry-run`.
#[derive(Default)]
struct Chain {
    joined: String,
    words: usize,
    end: usize,
}

impl Chain {
    /// Adds the next word. Returns the finished chain if the word does not continue it.
    fn extend(&mut self, text: &str, word: Word<'_>) -> Option<String> {
        let continues = self.words > 0 && word.start == self.end + 1 && text.as_bytes()[self.end] == b'-';
        let done = if continues { None } else { self.finish() };
        if self.joined.len() <= MAX_WORD_CHARS {
            self.joined.extend(word.text.chars().filter(|c| *c != '_'));
        }
        self.words += 1;
        self.end = word.start + word.text.len();
        done
    }

    fn finish(&mut self) -> Option<String> {
        let joined = std::mem::take(&mut self.joined);
        let words = std::mem::take(&mut self.words);
        let is_short = words > 1 && joined.len() <= MAX_WORD_CHARS;
        let is_word = is_short && (joined.is_ascii() || !joined.contains(is_unspaced));
        is_word.then(|| normalised(&joined).into_owned())
    }
}

/// The parts of an identifier: split at `_`, before a capital that begins a word, and after digits.
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start_matches('_');
        if rest.is_empty() {
            self.0 = rest;
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        let mut before: Option<char> = None;
        let mut end = rest.len();
        while let Some((at, c)) = chars.next() {
            let after = chars.peek().map(|(_, c)| *c);
            if c == '_' || before.is_some_and(|before| splits(before, c, after)) {
                end = at;
                break;
            }
            // A mark belongs to the letter before it.
            if !is_mark(c) {
                before = Some(c);
            }
        }
        let (part, rest) = rest.split_at(end);
        self.0 = rest;
        Some(part)
    }
}

fn splits(before: char, c: char, after: Option<char>) -> bool {
    let camel = c.is_uppercase() && before.is_lowercase();
    let acronym_ends = c.is_uppercase() && before.is_uppercase() && after.is_some_and(char::is_lowercase);
    let digits_end = before.is_numeric() && !c.is_numeric();
    camel || acronym_ends || digits_end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        Tokenizer::new().each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn styles_of_naming_meet() {
        for name in ["LedgerReplay", "ledgerReplay", "ledger_replay", "LEDGER_REPLAY", "ledger-replay"] {
            let terms = terms(name);
            for part in ["ledger", "replay", "ledgerreplay"] {
                assert!(terms.iter().any(|term| term == part), "{name}: {terms:?}");
            }
            assert_eq!(terms.len(), 3, "{name}: {terms:?}");
        }
        assert_eq!(terms("fileName")[2], terms("filename")[0]);
    }

    #[test]
    fn splits_acronyms_and_digits_where_a_reader_would() {
        assert_eq!(terms("HTTPServer"), ["http", "server", "httpserver"]);
        assert_eq!(terms("sha256Hasher"), ["sha256", "hasher", "sha256hasher"]);
        assert_eq!(terms("utf8"), ["utf8"]);
        assert_eq!(terms("__init__"), ["init"]);
        assert_eq!(terms("port 4747, x = 1"), ["port", "4747"]);
    }

    #[test]
    fn prose_is_stemmed() {
        assert_eq!(terms("injected blocks are replayed"), ["inject", "block", "are", "replay"]);
    }

    #[test]
    fn other_scripts_are_words_too() {
        assert_eq!(terms("größe_Übung"), ["grösse", "übung", "grösseübung"]);
        assert_eq!(terms("日本語"), ["日", "日本", "本", "本語", "語"]);
        assert_eq!(terms("naïveCafé"), ["naïve", "café", "naïvecafé"]);
    }

    #[test]
    fn encoded_data_is_skipped() {
        assert!(terms(&"a1B2c3".repeat(20)).is_empty());
        assert_eq!(terms("12345678901"), [] as [&str; 0]);
    }

    #[test]
    fn counts_in_order() {
        let counts = counted(&mut Tokenizer::new(), "beta alpha beta");
        assert_eq!(counts, [("beta".to_owned(), 2), ("alpha".to_owned(), 1)]);
    }
}
