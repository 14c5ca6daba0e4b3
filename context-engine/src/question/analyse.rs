use std::collections::HashMap;

use muninn_text::lexical::{Tokenizer, Word, is_stop_word_of, words};

use super::frames::{NamedPath, named_paths};
use super::template::strip_template;

/// Maximum number of concepts in a question. Each concept is one bit of a `u64`.
pub(crate) const MAX_CONCEPTS: usize = 64;

/// Maximum size of a question, in bytes. Of a longer text, only the beginning and the end are read, because the middle
/// is mostly pasted output.
const MAX_BYTES: usize = 24 << 10;

/// A text is sparse if less than one word in so many is a common English word.
const SPARSE: usize = 5;

/// Minimum number of concepts in a long text. The first line of a long text is its headline.
const LONG: usize = 16;

/// An analysed question.
#[derive(Debug, Clone, Default)]
pub(crate) struct Question {
    pub(crate) concepts: Vec<Concept>,
    pub(crate) paths: Vec<NamedPath>,
    pub(crate) about_tests: bool,
    pub(crate) about_docs: bool,
    /// Whether few of the words are common English ones, as in another language or in a list of keywords.
    pub(crate) is_sparse: bool,
    /// The first line of a long text, which summarises it.
    pub(crate) headline: Option<Box<Question>>,
}

/// A searchable word of a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Concept {
    /// The word as written, in lower case.
    pub(crate) word: String,
    /// The index term of the whole word.
    pub(crate) whole: String,
    /// The index terms of the parts of the word, if it has several parts.
    pub(crate) parts: Vec<String>,
    /// The emphasis of the word in the question. The value is 1 for a word that occurs once.
    pub(crate) weight: f32,
    /// True for an identifier: a name in backticks, a called name, a name of several parts, or an error code.
    pub(crate) identifier: bool,
}

impl Question {
    /// Returns whether one of these concepts is an identifier of several parts. A single word in backticks may be
    /// common.
    pub(crate) fn contains_identifier(&self, concepts: u64) -> bool {
        let mut named = self.concepts.iter().enumerate();
        named.any(|(bit, concept)| concepts >> bit & 1 == 1 && concept.identifier && !concept.parts.is_empty())
    }
}

impl Concept {
    /// Returns whether the concept is a bare number, which is little evidence by itself.
    pub(crate) fn is_number(&self) -> bool {
        self.word.bytes().all(|b| b.is_ascii_digit())
    }
}

pub(crate) fn analyse(tokenizer: &mut Tokenizer, text: &str) -> Question {
    let text = shortened(text);
    let text = strip_template(&text);
    let mut question = parse(tokenizer, &text);
    let first = text.trim_start().lines().next().unwrap_or_default();
    if question.concepts.len() >= LONG {
        let headline = parse(tokenizer, first);
        // A long text often quotes words like "test". The headline is better evidence for the topic of the text.
        question.about_tests = headline.about_tests;
        question.about_docs = headline.about_docs;
        question.headline = (headline.concepts.len() >= 2).then(|| Box::new(headline));
    }
    question
}

fn parse(tokenizer: &mut Tokenizer, text: &str) -> Question {
    let mut question = Question { paths: named_paths(text), ..Question::default() };
    let headline = text.trim_start().find('\n').map_or(text.len(), |end| end + text.len() - text.trim_start().len());
    let quoted = backticked(text);
    let flags = flags(text);
    let mut seen: HashMap<String, usize> = HashMap::new();
    let (mut all, mut common) = (0, 0);
    let named = words(text).flat_map(|word| {
        let flag = flags.iter().find(|flag| flag.start == word.start);
        let name = flag.map(|flag| Word { text: &flag.name, start: word.start });
        name.map(|name| (name, true)).into_iter().chain([(word, false)])
    });
    for (word, is_flag) in named {
        let lower = word.text.to_lowercase();
        question.about_tests |= matches!(lower.as_str(), "test" | "tests" | "testing" | "tested" | "spec" | "fixture");
        question.about_docs |= matches!(lower.as_str(), "readme" | "docs" | "documentation" | "changelog" | "license");
        let is_quoted = is_flag || is_call(text, &word) || quoted.iter().any(|range| range.contains(&word.start));
        all += 1;
        if !is_quoted && is_stop_word_of(text, &word) {
            common += 1;
            continue;
        }
        let mut concepts: Vec<Vec<String>> = Vec::new();
        tokenizer.each_concept(word.text, |terms| concepts.push(terms));
        // A word in the headline of a long text has a higher weight.
        let weight = if headline < text.len() && word.start < headline { 2.0 } else { 1.0 };
        let is_one = concepts.len() == 1;
        for mut terms in concepts {
            let Some(whole) = terms.pop() else { continue };
            match seen.get(&whole) {
                Some(at) => {
                    let concept = &mut question.concepts[*at];
                    concept.weight = (concept.weight + 0.25 * weight).min(3.0);
                    concept.identifier |= is_quoted;
                }
                None => {
                    seen.insert(whole.clone(), question.concepts.len());
                    let identifier = is_quoted || !terms.is_empty() || is_error_code(word.text);
                    question.concepts.push(Concept {
                        word: if is_one { lower.clone() } else { whole.clone() },
                        whole,
                        parts: terms,
                        weight,
                        identifier,
                    });
                }
            }
        }
    }
    keep_heaviest(&mut question.concepts);
    question.is_sparse = common * SPARSE < all;
    question
}

/// Returns whether a word is followed by empty parentheses, like a call in code.
fn is_call(text: &str, word: &Word<'_>) -> bool {
    text[word.start..].strip_prefix(word.text).is_some_and(|rest| rest.starts_with("()"))
}

/// Returns whether a word is an error code, such as `E0308`, `TS2345`, `CS1061` or `42P01`. A number of three digits is
/// too ambiguous.
fn is_error_code(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_uppercase).count();
    digits >= 3 && (1..=5).contains(&letters) && digits + letters == word.len() || is_sql_state(word)
}

/// Returns whether a word is an SQLSTATE: five characters, each a digit or a capital letter, with two leading digits
/// and at least one capital letter.
fn is_sql_state(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
    word.len() == 5
        && word.bytes().all(plain)
        && word.bytes().take(2).all(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_uppercase())
}

/// Keeps the concepts with the highest weights. For this comparison, the weight of an identifier is one higher.
/// Concepts of equal weight keep the order of the text.
fn keep_heaviest(concepts: &mut Vec<Concept>) {
    if concepts.len() <= MAX_CONCEPTS {
        return;
    }
    concepts.sort_by(|a, b| {
        let key = |concept: &Concept| concept.weight + if concept.identifier { 1.0 } else { 0.0 };
        key(b).total_cmp(&key(a))
    });
    concepts.truncate(MAX_CONCEPTS);
}

/// Returns the beginning and the end of a text that is longer than [`MAX_BYTES`].
pub(crate) fn shortened(text: &str) -> String {
    if text.len() <= MAX_BYTES {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(MAX_BYTES / 3 * 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - MAX_BYTES / 3)..];
    format!("{head}\n{tail}")
}

/// A command-line flag of several words in a question, such as `--dry-run`.
struct Flag {
    /// The offset of the name, behind the dashes.
    start: usize,
    /// The name as code spells it: `dry_run`.
    name: String,
}

/// Returns the flags of several words. Their words are concepts, too, because a flag that does not exist yet is often a
/// new combination of known words.
fn flags(text: &str) -> Vec<Flag> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let found = text.match_indices("--").filter_map(|(at, _)| {
        let (before, start) = (text[..at].bytes().next_back(), at + 2);
        let length = text[start..].bytes().take_while(|byte| is_name(*byte)).count();
        let name = text[start..start + length].trim_end_matches('-').replace('-', "_");
        let is_flag = before.is_none_or(|byte| !is_name(byte)) && name.starts_with(|c: char| c.is_ascii_alphabetic());
        (is_flag && name.contains('_')).then_some(Flag { start, name })
    });
    found.collect()
}

/// Returns the ranges between single backticks on one line.
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
    fn stop_words_are_left_out() {
        let words: Vec<_> = of("How are the injected blocks replayed?").concepts.into_iter().map(|c| c.word).collect();
        assert_eq!(words, ["injected", "blocks", "replayed"]);
    }

    #[test]
    fn backticks_and_several_parts_make_an_identifier() {
        let question = of("why does `open` call parse_header or parseHeader");
        let concept = |word| question.concepts.iter().find(|c| c.word == word).unwrap();
        assert!(concept("open").identifier && concept("parse_header").identifier && !concept("call").identifier);
        assert_eq!(concept("parse_header").parts, ["pars", "header"]);
        assert!(concept("parse_header").weight > 1.0, "the second spelling is the same concept");
    }

    #[test]
    fn flag_of_several_words_is_an_identifier_as_in_code() {
        let question = of("Was macht --exec-batch=rm, und warum nicht `--min-size`? a--b ---- --");
        let named = question.concepts.iter().filter(|concept| concept.identifier);
        let named: Vec<(&str, &str)> = named.map(|concept| (&*concept.word, &*concept.whole)).collect();
        let flags = [("exec_batch", "execbatch"), ("min_size", "minsiz")];
        assert!(flags.iter().all(|flag| named.contains(flag)), "{named:?}");
        assert!(question.concepts.iter().any(|concept| concept.word == "batch"));
        assert!(!question.concepts.iter().any(|concept| concept.word == "a_b"));
        let code = of("exec_batch min_size");
        let wholes = code.concepts.iter().map(|concept| &*concept.whole);
        assert!(wholes.eq(["execbatch", "minsiz"]));
    }

    #[test]
    fn called_name_is_an_identifier() {
        let question = of("where does redirect() choose the file(s) of run(x)");
        let named = question.concepts.iter().filter(|concept| concept.identifier);
        assert!(named.map(|concept| &*concept.word).eq(["redirect"]));
        assert!(!question.is_sparse && of("Wo wird redirect() definiert?").is_sparse);
    }

    #[test]
    fn error_codes_are_identifiers() {
        let question = of("E0308 TS2345 CS1061 SQLSTATE 42P01 for HTTP 404 in 2024 with sha1 on X11");
        let names = question.concepts.iter().filter(|concept| concept.identifier);
        let names: Vec<&str> = names.map(|concept| concept.word.as_str()).collect();
        assert_eq!(names, ["e0308", "ts2345", "cs1061", "42p01"]);
    }

    #[test]
    fn text_of_issue_templates_is_ignored() {
        let question = of("The parser hangs\n### Steps to reproduce\n- [x] I searched\n`parse`");
        let words: Vec<_> = question.concepts.into_iter().map(|c| c.word).collect();
        assert_eq!(words, ["parser", "hangs", "parse"]);
    }

    #[test]
    fn a_huge_paste_is_bounded() {
        let paste: String = (0..50_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(of(&format!("Why does the ledger break?\n{paste}")).concepts.len(), MAX_CONCEPTS);
    }
}
