//! The tokens of a statement: words, names in code, numbers with their units.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use muninn_text::embed::StaticVectors;
use regex::Regex;
use rust_stemmers::{Algorithm, Stemmer};

use super::kind::{Kind, Token, Word};
use super::{polarity, quantity, words};

/// Maximum number of tokens that are read. Alignment costs the product of both lengths, and no useful statement is longer.
pub(super) const MOST_TOKENS: usize = 400;

/// The norm of a word's vector from which the word counts as rare. The vectors are trained so that frequent words are
/// short; the norm takes the place of an inverse document frequency.
const RARE: f32 = 1.5;

impl Kind {
    /// The kinds that can differ, without function words.
    pub(super) const TYPED: [Kind; 7] =
        [Kind::Number, Kind::Name, Kind::Word, Kind::Negation, Kind::Modality, Kind::Cue, Kind::Operator];

    pub(super) fn is_content(self) -> bool {
        matches!(self, Kind::Word | Kind::Name | Kind::Number)
    }

    fn is_grammar(self) -> bool {
        matches!(self, Kind::Function | Kind::Modality | Kind::Negation)
    }

    /// How much a token of this kind counts.
    fn weight(self) -> f32 {
        match self {
            Kind::Number | Kind::Name | Kind::Word => 1.0,
            Kind::Negation | Kind::Operator => 0.8,
            Kind::Modality | Kind::Cue => 0.6,
            Kind::Function => 0.25,
            Kind::Colon => 0.1,
        }
    }
}

/// Number of words that a thread remembers. Texts about one project use the same words again and again.
const MOST_WORDS: usize = 1 << 15;
/// Maximum length of a remembered word, in bytes.
const LONGEST_WORD: usize = 64;

thread_local! {
    static WORDS: RefCell<HashMap<Box<str>, Word>> = RefCell::default();
}

impl Word {
    /// Reads a word, or remembers it. All judges have the same vectors.
    fn of(written: &str, lower: &str, vectors: &StaticVectors) -> Self {
        WORDS.with_borrow_mut(|words| {
            if let Some(known) = words.get(written) {
                return known.clone();
            }
            let word = Self::read(written, lower, vectors);
            if written.len() <= LONGEST_WORD {
                if words.len() == MOST_WORDS {
                    words.clear();
                }
                words.insert(written.into(), word.clone());
            }
            word
        })
    }

    fn read(written: &str, lower: &str, vectors: &StaticVectors) -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let rarity = vectors
            .sum(written)
            .map_or(1.0, |vector| (vector.iter().map(|value| value * value).sum::<f32>().sqrt() / RARE).min(1.0));
        Self { stem: stemmer.stem(words::synonym(lower.trim_end_matches("'s"))).into(), rarity }
    }
}

static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"`[^`]*`",
        r"|[vV]?\d+(?:\.\d+)+[\w.+-]*",
        r"|\d+(?:[.,/_]\d+)*(?:[a-zA-Zµ]+\b|%|\+)?",
        r"|--?[a-zA-Z][\w-]*",
        r"|[\p{L}_][\w]*(?:(?:[-./]|::)\w+)*(?:'\w+)?",
        r"|[<>=~^!]=?|[:,;.()!?]",
    ))
    .unwrap_or_else(|_| unreachable!("the pattern is constant"))
});

/// Reads a text, or the beginning of a long one. The second value tells whether the text was truncated.
pub(super) fn tokens(text: &str, vectors: &StaticVectors) -> (Vec<Token>, bool) {
    let text = text.replace('\u{2019}', "'").replace("**", "");
    let mut found: Vec<Token> = Vec::new();
    let mut clause = 0;
    for part in TOKEN.find_iter(&text) {
        if matches!(part.as_str(), "," | ";" | "." | "(" | ")" | "!" | "?") {
            clause += 1;
            continue;
        }
        if part.as_str() == ":" && !text[part.end()..].starts_with(char::is_whitespace) {
            continue;
        }
        let after_sign = text[..part.start()].ends_with('#');
        if found.len() == MOST_TOKENS {
            polarity::assign(&mut found);
            return (found, true);
        }
        push(part.as_str(), after_sign, clause, &mut found, vectors);
        clause += usize::from(matches!(part.as_str(), ":" | "but"));
    }
    polarity::assign(&mut found);
    (found, false)
}

fn push(written: &str, after_sign: bool, clause: usize, found: &mut Vec<Token>, vectors: &StaticVectors) {
    let inner = written.trim_matches('`').trim();
    let lower = inner.to_lowercase();
    let entry = words::entry(&lower);
    let is_quoted = written.starts_with('`');
    let version = lower.trim_start_matches(['^', '~', '>', '<', '=', ' ', '"', 'v']);
    let starts_with_digit = version.starts_with(|c: char| c.is_ascii_digit());
    let is_number = starts_with_digit && !inner.contains([' ', ':']);
    let spelled = words::number(&lower);
    // `30 seconds` is one quantity.
    if let Some(number) = found.last().filter(|last| last.kind == Kind::Number)
        && let Some(quantity) = quantity::quantity(&number.normal, &lower)
        && !is_number
    {
        if let Some(last) = found.last_mut() {
            last.surface = format!("{} {inner}", last.surface).into();
            last.normal = quantity.into();
        }
        return;
    }
    if let Some(last) = found.last_mut()
        && let Some((kind, normal)) = words::phrase(&last.surface.to_lowercase(), &lower)
    {
        last.surface = format!("{} {inner}", last.surface).into();
        (last.kind, last.normal) = (kind, normal.into());
        return;
    }
    // `half a minute`: the article stands between a number and its unit.
    let is_half = |token: &Token| token.kind == Kind::Number && &*token.normal == "0.5";
    if lower == "a" && found.last().is_some_and(is_half) {
        return;
    }
    let is_contraction = lower.ends_with("n't");
    let is_id = after_sign || found.last().is_some_and(|last| words::entry(&last.surface.to_lowercase()).is_numbered);
    let kind = match () {
        () if lower == ":" => Kind::Colon,
        () if lower.starts_with(['<', '>', '=', '~', '^', '!']) && !is_quoted => Kind::Operator,
        () if (is_number || spelled.is_some()) && is_id => Kind::Name,
        () if is_number || spelled.is_some() => Kind::Number,
        () if is_quoted || is_name(inner) => Kind::Name,
        () if is_contraction => Kind::Negation,
        () => entry.kind.unwrap_or(Kind::Word),
    };
    let word = Word::of(inner, &lower, vectors);
    let normal = match kind {
        Kind::Number => match (spelled, quantity::split(version)) {
            (Some(digits), _) => digits.to_owned(),
            (None, Some((number, unit))) => quantity::quantity(number, unit).unwrap_or_else(|| lower.clone()),
            (None, None) => quantity::plain(version.trim_end_matches(['.', '"'])),
        },
        Kind::Name => lower.split_whitespace().collect::<Vec<_>>().join(" "),
        Kind::Negation if is_contraction || matches!(lower.as_str(), "cannot" | "never") => "not".to_owned(),
        _ => word.stem.into_string(),
    };
    found.push(Token {
        surface: inner.into(),
        normal: normal.into(),
        kind,
        weight: kind.weight() * (0.3 + 0.7 * word.rarity),
        is_plain_negation: is_contraction || entry.is_plain_negation && kind == Kind::Negation,
        is_proper: kind == Kind::Word
            && inner.starts_with(char::is_uppercase)
            && found.last().is_some_and(|last| last.clause == clause),
        is_id: is_id && kind == Kind::Name && (is_number || spelled.is_some()),
        clause,
        is_against: false,
    });
}

/// Returns whether an unquoted word is a name in code: `MAX_BATCH`, `src/main.rs`, `Store::open`, `--force`.
fn is_name(word: &str) -> bool {
    let inside = word.get(1..).unwrap_or("");
    let is_camel = inside.chars().any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    is_camel || inside.contains(['_', '/', '.']) || inside.contains("::") || word.starts_with('-')
}

/// Returns whether a text has more function words of other languages than of English.
pub(super) fn is_foreign(tokens: &[Token]) -> bool {
    let (mut english, mut foreign) = (0, 0);
    for token in tokens.iter().filter(|token| token.kind != Kind::Name) {
        let lower = token.surface.to_lowercase();
        foreign += usize::from(words::entry(&lower).is_foreign || !lower.is_ascii());
        english += usize::from(token.kind.is_grammar());
    }
    foreign > english
}

/// Returns whether a text is code rather than prose: it has half as many signs of code as words, and braces, semicolons or
/// hardly any function words. Code in backticks does not count.
pub(super) fn is_code(text: &str) -> bool {
    let unquoted: String = text.split('`').step_by(2).collect();
    let words = unquoted.split(|c: char| !c.is_alphanumeric() && c != '_');
    let (mut all, mut function, mut joined) = (0, 0, 0);
    for word in words.filter(|word| !word.is_empty()) {
        all += 1;
        function += usize::from(words::entry(&word.to_lowercase()).kind.is_some_and(Kind::is_grammar));
        joined += usize::from(word.trim_matches('_').contains('_'));
    }
    let brackets = unquoted.matches(|c| "{}();=<>[]&|".contains(c)).count();
    let pairs = ["::", "//", "->", "#["].map(|pair| unquoted.matches(pair).count());
    let signs = joined + brackets + pairs.iter().sum::<usize>();
    let has_blocks = signs >= 3 && unquoted.contains(['{', '}', ';']);
    signs >= 2 && 2 * signs >= all && (has_blocks || 4 * function <= all)
}
