//! The words of a text that count, and its quoted spans.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// Pairs of quotes: the opening and the closing character.
const QUOTES: [(char, char); 6] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('\u{201c}', '\u{201d}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{ab}', '\u{bb}'),
];

/// Words before which `a` is a name and no article: `option a is slower`, `a or b`.
const AFTER_A_NAME: &str = " and are as at be but by can cannot does for from had has have if in is may must nor not of on or \
    over should than then to was were will with ";

/// The verbs whose negation is contracted, by the part before `n't`, and the same verbs spelt out.
const VERBS: [(&str, &str); 22] = [
    ("are", "are"),
    ("ca", "can"),
    ("could", "could"),
    ("dare", "dare"),
    ("did", "did"),
    ("do", "do"),
    ("does", "does"),
    ("had", "had"),
    ("has", "has"),
    ("have", "have"),
    ("is", "is"),
    ("may", "may"),
    ("might", "might"),
    ("must", "must"),
    ("need", "need"),
    ("ought", "ought"),
    ("sha", "shall"),
    ("should", "should"),
    ("was", "was"),
    ("were", "were"),
    ("wo", "will"),
    ("would", "would"),
];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// The words without articles, with contractions spelt out.
    pub(super) words: Vec<String>,
    /// The quoted spans: the number of words before the first, and up to the last.
    pub(super) quoted: Vec<(usize, usize)>,
}

/// A text without its pairs of quotes.
struct Unquoted {
    text: String,
    /// The ranges of bytes that were quoted.
    spans: Vec<(usize, usize)>,
}

impl Tokens {
    pub(super) fn of(text: &str) -> Self {
        let text: String = text.trim().nfc().collect();
        let mut unquoted = Unquoted::of(without_full_stop(&text));
        // Quotes around the whole text can stand outside of its full stop.
        if let [(0, end)] = unquoted.spans[..]
            && end == unquoted.text.len()
        {
            let kept = without_full_stop(&unquoted.text).len();
            unquoted.text.truncate(kept);
            unquoted.spans[0].1 = kept;
        }
        let Unquoted { text, spans } = unquoted;
        // The words that count, with their positions in bytes.
        let mut found: Vec<(usize, Cow<'_, str>)> = Vec::new();
        let mut begins_sentence = true;
        let mut rest = words_of(&text).peekable();
        while let Some((at, word)) = rest.next() {
            let end_of_span = spans.iter().find(|(start, end)| (*start..*end).contains(&at));
            // A quoted letter is a name, so an article has its noun in the same quotes.
            let noun = rest
                .peek()
                .filter(|(next, _)| end_of_span.is_none_or(|(_, end)| next < end));
            let is_left_out = noun.is_some_and(|(_, noun)| is_article(word, noun, begins_sentence));
            begins_sentence = word.ends_with(['.', '!', '?', ':']);
            match spelt_out(word) {
                _ if is_left_out => {}
                Some([verb, other]) => found.extend([(at, verb.into()), (at, other.into())]),
                None => found.push((at, word.into())),
            }
        }
        let before = |limit: usize| found.partition_point(|(at, _)| *at < limit);
        let quoted = spans.iter().map(|(start, end)| (before(*start), before(*end)));
        Self {
            quoted: quoted.collect(),
            words: found.into_iter().map(|(_, word)| word.into_owned()).collect(),
        }
    }
}

impl Unquoted {
    /// Removes pairs of quotes that stand around words. Nested and unbalanced quotes stay: they are part of what is said.
    fn of(text: &str) -> Self {
        let mut unquoted = Self {
            text: String::with_capacity(text.len()),
            spans: Vec::new(),
        };
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let before = unquoted.text.chars().next_back();
            let can_open = before.is_none_or(|c| c.is_whitespace() || "([{".contains(c));
            let closing = QUOTES.iter().find(|(opening, _)| *opening == first && can_open);
            let Some(length) = closing.and_then(|(_, closing)| quoted_length(rest, *closing)) else {
                unquoted.text.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            };
            let (span, after) = rest.split_at(length);
            let inner = inner(span);
            if is_plain(inner) {
                let start = unquoted.text.len();
                unquoted.text.push_str(inner);
                unquoted.spans.push((start, unquoted.text.len()));
            } else {
                unquoted.text.push_str(span);
            }
            rest = after;
        }
        unquoted
    }
}

/// The length in bytes of the quoted span at the beginning of a text, quotes included; `None` if it is not closed before a
/// word's end.
fn quoted_length(text: &str, closing: char) -> Option<usize> {
    let closings = text.char_indices().skip(1).filter(|(_, c)| *c == closing);
    let mut ends = closings.map(|(at, c)| at + c.len_utf8());
    ends.find(|end| {
        let after = text[*end..].chars().next();
        after.is_none_or(|c| c.is_whitespace() || ".,;:!?)]}".contains(c))
    })
}

/// A quoted span without its quotes.
fn inner(span: &str) -> &str {
    let mut chars = span.chars();
    chars.next();
    chars.next_back();
    chars.as_str()
}

/// Returns whether a quoted text contains no quotes, and no whitespace at its ends. An apostrophe is no quote.
fn is_plain(inner: &str) -> bool {
    let mut previous = None;
    let mut has_quotes = false;
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        let is_quote = QUOTES
            .iter()
            .any(|(opening, closing)| [*opening, *closing].contains(&c));
        let is_apostrophe = matches!(c, '\'' | '\u{2019}')
            && previous.is_some_and(char::is_alphanumeric)
            && chars.peek().is_some_and(|next| next.is_alphanumeric());
        has_quotes |= is_quote && !is_apostrophe;
        previous = Some(c);
    }
    !has_quotes && !inner.is_empty() && inner.trim() == inner
}

/// A text without one final full stop. An ellipsis, and a stop that stands alone, is part of what is said.
fn without_full_stop(text: &str) -> &str {
    let before = text.strip_suffix('.').filter(|before| {
        let last = before.chars().next_back();
        last.is_some_and(|last| !last.is_whitespace() && last != '.')
    });
    before.unwrap_or(text)
}

/// The words of a text between whitespace, each with its position in bytes.
fn words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let position = move |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace().map(move |word| (position(word), word))
}

/// Returns whether a word is the article of the next one. At the beginning of a sentence it is capitalised.
fn is_article(word: &str, next: &str, begins_sentence: bool) -> bool {
    let article = match word {
        "A" | "An" | "The" if begins_sentence => word,
        "a" | "an" | "the" => word,
        _ => return false,
    };
    let is_name = |next: &str| {
        let letter = next.trim_matches(|c: char| !c.is_alphanumeric());
        let is_letter = letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_lowercase());
        is_letter || AFTER_A_NAME.contains(&format!(" {letter} ")) || !next.starts_with(char::is_alphanumeric)
    };
    !article.eq_ignore_ascii_case("a") || !is_name(next)
}

/// The two words of a contraction; `None` for another word. Punctuation around it, and case, stay.
fn spelt_out(word: &str) -> Option<[String; 2]> {
    let start = word.find(char::is_alphabetic)?;
    let is_part = |c: char| c.is_alphabetic() || matches!(c, '\'' | '\u{2019}');
    let length = word[start..].find(|c| !is_part(c)).unwrap_or(word.len() - start);
    let (before, core, after) = (&word[..start], &word[start..start + length], &word[start + length..]);
    if after.contains(char::is_alphanumeric) {
        return None;
    }
    let [first, second] = match core {
        "cannot" | "Cannot" | "CANNOT" => [core[..3].to_owned(), core[3..].to_owned()],
        _ => {
            let (stem, ending) = core.split_once(['\'', '\u{2019}'])?;
            let is_upper = ending.chars().all(char::is_uppercase);
            let (first, second) = match (stem, ending) {
                (_, "t" | "T") => (verb(stem.strip_suffix(if is_upper { 'N' } else { 'n' })?)?, "not"),
                (_, "re" | "RE") => (stem.to_owned(), "are"),
                (_, "ll" | "LL") => (stem.to_owned(), "will"),
                ("it" | "It", "s") | ("IT", "S") => (stem.to_owned(), "is"),
                _ => return None,
            };
            [
                first,
                if is_upper {
                    second.to_uppercase()
                } else {
                    second.to_owned()
                },
            ]
        }
    };
    Some([format!("{before}{first}"), format!("{second}{after}")])
}

/// The verb of a negation, from the part before `n't` and in the same case.
fn verb(stem: &str) -> Option<String> {
    let known = |stem: &str| Some(VERBS.iter().find(|(before, _)| *before == stem)?.1);
    if let Some(verb) = known(stem) {
        return Some(verb.to_owned());
    }
    let verb = known(&stem.to_lowercase())?;
    let capital = || verb[..1].to_uppercase() + &verb[1..];
    let cased = if stem.chars().all(char::is_uppercase) {
        verb.to_uppercase()
    } else {
        capital()
    };
    // A mixed case such as `dO` is part of what is said.
    let is_capitalised =
        stem.chars().next().is_some_and(char::is_uppercase) && stem.chars().skip(1).all(char::is_lowercase);
    (is_capitalised || stem.chars().all(char::is_uppercase)).then_some(cased)
}
