//! Taking a question apart: which of its words can be looked for, and which files it names.

mod frames;
mod template;

use std::collections::HashMap;

use muninn_memory::index::lexical::{Tokenizer, is_stop_word, words};

pub(crate) use self::frames::NamedPath;
use self::frames::named_paths;
use self::template::without_form;

/// So many words of a question are looked for; the bits of one machine word.
pub(crate) const MAX_CONCEPTS: usize = 64;
/// Of a longer text only the beginning and the end are read: what is pasted in between is mostly output.
const MAX_BYTES: usize = 24 << 10;
/// A text that names so many things tells a story, of which the first line is the headline.
const LONG: usize = 16;
/// What a question asks about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    pub(crate) concepts: Vec<Concept>,
    pub(crate) paths: Vec<NamedPath>,
    pub(crate) about_tests: bool,
    pub(crate) about_docs: bool,
    /// The first line of a long text, by itself: it says in a few words what the rest is about.
    pub(crate) headline: Option<Box<Question>>,
}

/// One thing that a question names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Concept {
    /// As the question has it, in lower case.
    pub(crate) word: String,
    /// The term of the whole word.
    pub(crate) whole: String,
    /// The terms of its parts, if it has several.
    pub(crate) parts: Vec<String>,
    /// How much the question dwells on it; 1 for a word that occurs once.
    pub(crate) weight: f32,
    /// It is written as an identifier: in backticks, or of several parts.
    pub(crate) identifier: bool,
}

impl Question {
    /// Whether one of these concepts is written as a name of several parts; a single word in backticks may be anyone's.
    pub(crate) fn writes_out(&self, concepts: u64) -> bool {
        let mut named = self.concepts.iter().enumerate();
        named.any(|(bit, concept)| concepts >> bit & 1 == 1 && concept.identifier && !concept.parts.is_empty())
    }
}

impl Concept {
    /// It is a bare number, which says little without a word beside it.
    pub(crate) fn is_number(&self) -> bool {
        self.word.bytes().all(|b| b.is_ascii_digit())
    }
}

/// Takes a question apart.
pub(crate) fn analyse(tokenizer: &mut Tokenizer, text: &str) -> Question {
    let text = shortened(text);
    let text = without_form(&text);
    let mut question = taken_apart(tokenizer, &text);
    let first = text.trim_start().lines().next().unwrap_or_default();
    if question.concepts.len() >= LONG {
        let headline = taken_apart(tokenizer, first);
        // Words like "test" are all over a long text, in what it quotes; what it is about, its headline says.
        question.about_tests = headline.about_tests;
        question.about_docs = headline.about_docs;
        question.headline = (headline.concepts.len() >= 2).then(|| Box::new(headline));
    }
    question
}

fn taken_apart(tokenizer: &mut Tokenizer, text: &str) -> Question {
    let mut question = Question {
        paths: named_paths(text),
        ..Question::default()
    };
    let headline = text
        .trim_start()
        .find('\n')
        .map_or(text.len(), |end| end + text.len() - text.trim_start().len());
    let quoted = backticked(text);
    let mut seen: HashMap<String, usize> = HashMap::new();
    for word in words(text) {
        let lower = word.text.to_lowercase();
        question.about_tests |= matches!(
            lower.as_str(),
            "test" | "tests" | "testing" | "tested" | "spec" | "fixture"
        );
        question.about_docs |= matches!(
            lower.as_str(),
            "readme" | "docs" | "documentation" | "changelog" | "license"
        );
        let in_quotes = quoted.iter().any(|range| range.contains(&word.start));
        if is_stop_word(&lower) && !in_quotes {
            continue;
        }
        let mut terms = Vec::new();
        tokenizer.word(word.text, &mut |term: &str| terms.push(term.to_owned()));
        let Some(whole) = terms.pop() else { continue };
        // The headline of a long text says what the rest is about.
        let weight = if headline < text.len() && word.start < headline {
            2.0
        } else {
            1.0
        };
        match seen.get(&whole) {
            Some(at) => {
                let concept = &mut question.concepts[*at];
                concept.weight = (concept.weight + 0.25 * weight).min(3.0);
                concept.identifier |= in_quotes;
            }
            None => {
                seen.insert(whole.clone(), question.concepts.len());
                let identifier = in_quotes || !terms.is_empty() || is_code(word.text);
                question.concepts.push(Concept {
                    word: lower,
                    whole,
                    parts: terms,
                    weight,
                    identifier,
                });
            }
        }
    }
    keep_the_heaviest(&mut question.concepts);
    question
}

/// Whether a word is the code of an error: `E0308`, `TS2345`, `CS1061`, `42P01`. Three digits alone are too many things.
fn is_code(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_uppercase).count();
    digits >= 3 && (1..=5).contains(&letters) && digits + letters == word.len() || is_sql_state(word)
}

/// Five digits and capitals, as SQL's standard has them; a number of five digits is more often something else.
fn is_sql_state(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
    word.len() == 5
        && word.bytes().all(plain)
        && word.bytes().take(2).all(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_uppercase())
}

/// Identifiers first, then by weight; the order of the text among equals.
fn keep_the_heaviest(concepts: &mut Vec<Concept>) {
    if concepts.len() <= MAX_CONCEPTS {
        return;
    }
    concepts.sort_by(|a, b| {
        let key = |concept: &Concept| concept.weight + if concept.identifier { 1.0 } else { 0.0 };
        key(b).total_cmp(&key(a))
    });
    concepts.truncate(MAX_CONCEPTS);
}

fn shortened(text: &str) -> String {
    if text.len() <= MAX_BYTES {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(MAX_BYTES / 3 * 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_BYTES / 3)..];
    format!("{head}\n{tail}")
}

/// What stands between single backticks on one line.
fn backticked(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marks: Vec<usize> = line.match_indices('`').map(|(mark, _)| at + mark).collect();
        ranges.extend(marks.chunks_exact(2).map(|pair| pair[0]..pair[1]));
        at += line.len();
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Question {
        analyse(&mut Tokenizer::new(), text)
    }

    #[test]
    fn words_that_only_ask_are_left_out() {
        let words: Vec<_> = of("How are the injected blocks replayed?")
            .concepts
            .into_iter()
            .map(|c| c.word)
            .collect();
        assert_eq!(words, ["injected", "blocks", "replayed"]);
    }

    #[test]
    fn identifiers_are_known_by_their_looks() {
        let question = of("why does `open` call parse_header or parseHeader");
        let concept = |word| question.concepts.iter().find(|c| c.word == word).unwrap();
        assert!(concept("open").identifier && concept("parse_header").identifier && !concept("call").identifier);
        assert_eq!(concept("parse_header").parts, ["pars", "header"]);
        assert!(
            concept("parse_header").weight > 1.0,
            "the second spelling is the same thing"
        );
    }

    #[test]
    fn codes_of_errors_are_names() {
        let question = of("E0308 TS2345 CS1061 SQLSTATE 42P01 for HTTP 404 in 2024 with sha1 on X11");
        let names = question.concepts.iter().filter(|concept| concept.identifier);
        let names: Vec<&str> = names.map(|concept| concept.word.as_str()).collect();
        assert_eq!(names, ["e0308", "ts2345", "cs1061", "42p01"]);
    }

    #[test]
    fn what_a_form_asks_is_not_asked() {
        let question = of("The parser hangs\n### Steps to reproduce\n- [x] I searched\n`parse`");
        let words: Vec<_> = question.concepts.into_iter().map(|c| c.word).collect();
        assert_eq!(words, ["parser", "hangs", "parse"]);
    }

    #[test]
    fn a_huge_paste_is_bounded() {
        let paste: String = (0..50_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(
            of(&format!("Why does the ledger break?\n{paste}")).concepts.len(),
            MAX_CONCEPTS
        );
    }
}
