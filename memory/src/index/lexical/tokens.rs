//! The tokenizer.
//!
//! `LedgerReplay` gives `ledgerreplay`, `ledger` and `replay`, and so do `ledger_replay` and `ledger-replay`. A word of
//! one part gives only its stem, so prose and code share a vocabulary and plain words are not counted twice.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

use super::stop::is_stop_word_of;

/// Longer words are keys, hashes and encoded data, which are not indexed.
const MAX_WORD_CHARS: usize = 64;

/// Maximum number of cached stems. Code repeats itself, and stemming costs more than a lookup; the limit bounds memory
/// on a hostile file.
const MAX_REMEMBERED: usize = 1 << 15;

/// Splits text into terms. It caches stems: reuse it for many texts.
pub struct Tokenizer {
    stemmer: Stemmer,
    stems: HashMap<Box<str>, Box<str>>,
    lower: String,
}

/// A word of a text: letters, digits and underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word.
    pub text: &'a str,
    /// Byte offset in the text.
    pub start: usize,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Tokenizer {
    /// Creates a tokenizer for English prose and any programming language.
    pub fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            stems: HashMap::new(),
            lower: String::new(),
        }
    }

    /// Calls `emit` with every term of a text, in order, repetitions included.
    pub fn each_term(&mut self, text: &str, mut emit: impl FnMut(&str)) {
        let mut chain = Chain::default();
        for word in words(text) {
            self.word(word.text, &mut emit);
            if let Some(kebab) = chain.extend(text, word) {
                self.stem(&kebab, &mut emit);
            }
        }
        if let Some(kebab) = chain.finish() {
            self.stem(&kebab, &mut emit);
        }
    }

    /// Emits the terms of a word: its parts, then the whole if it has several.
    pub fn word(&mut self, word: &str, emit: &mut impl FnMut(&str)) {
        if word.len() > MAX_WORD_CHARS {
            return;
        }
        if word.chars().any(is_unspaced) {
            bigrams(word, emit);
            return;
        }
        let mut parts = 0;
        for part in Parts(word) {
            parts += 1;
            self.stem(part, emit);
        }
        if parts > 1 {
            let whole: String = word.chars().filter(|c| *c != '_').collect();
            self.stem(&whole, emit);
        }
    }

    fn stem(&mut self, part: &str, emit: &mut impl FnMut(&str)) {
        self.lower.clear();
        self.lower.extend(part.chars().flat_map(char::to_lowercase));
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

/// The distinct terms of a text with counts, in order of first occurrence.
pub fn counted(tokenizer: &mut Tokenizer, text: &str) -> Vec<(String, u32)> {
    let mut seen: HashMap<String, (usize, u32)> = HashMap::new();
    tokenizer.each_term(text, |term| match seen.get_mut(term) {
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
    counted(tokenizer, &kept)
}

/// The words of a text, in order.
pub fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(inside)?;
        let end = text[start..].find(|c| !inside(c)).map_or(text.len(), |len| start + len);
        rest = end;
        Some(Word {
            text: &text[start..end],
            start,
        })
    })
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
        (words > 1 && joined.len() <= MAX_WORD_CHARS).then_some(joined)
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
            before = Some(c);
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

/// Returns whether a script has no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{0e00}'..='\u{0e7f}')
}

fn bigrams(word: &str, emit: &mut impl FnMut(&str)) {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    match starts.as_slice() {
        [_, _] => emit(word),
        starts => starts.windows(3).for_each(|pair| emit(&word[pair[0]..pair[2]])),
    }
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
        for name in [
            "LedgerReplay",
            "ledgerReplay",
            "ledger_replay",
            "LEDGER_REPLAY",
            "ledger-replay",
        ] {
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
        assert_eq!(
            terms("injected blocks are replayed"),
            ["inject", "block", "are", "replay"]
        );
    }

    #[test]
    fn other_scripts_are_words_too() {
        assert_eq!(terms("größe_Übung"), ["größe", "übung", "größeübung"]);
        assert_eq!(terms("日本語"), ["日本", "本語"]);
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
