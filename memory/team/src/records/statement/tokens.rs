//! The words of a text that count, and its quoted spans.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// Pairs of quotes: the opening and the closing character.
const QUOTES: [(char, char); 6] =
    [('"', '"'), ('\'', '\''), ('`', '`'), ('\u{201c}', '\u{201d}'), ('\u{2018}', '\u{2019}'), ('\u{ab}', '\u{bb}')];

/// Words that begin no noun phrase. Before them `a`, `an` and `the` are words that are meant, or names: `option a is slower`,
/// `strip the from titles`.
const NO_NOUN: &str = " a about after against and an are as at be became because been before but by came can cannot could did \
    do does during equal equals for from gets goes got had has have if in instead into is it its kept let like made may might \
    minus must near needs nor not of off on onto or ought out over per plus ran shall should since so than that the then though \
    through till times to took toward towards twice under unless until upon versus via vs was went were when where which while \
    will with within without won would yet ";
/// Words to which an article gives another sense: `need few approvals`, `need a few approvals`.
const WITH_ARTICLE: &str = " few little ";
/// Words before which `a` is a name as well: `pick a first`.
const AFTER_A_NAME: &str = " again alone also always first here last never now once only still there thrice today too ";
/// Nouns after which `a` is a name: `plan a failed`.
const NAMED: &str = " alternative answer appendix appendices arm attribute axis block box branch bucket building candidate case \
    category channel choice class cluster column condition curve device disk drive edge element entry environment factor field \
    figure file flag function gate grade group host index input instance item key label layer letter level line list lock method \
    mode model module name node object operand option output page panel parameter parcel part partition party path phase pin \
    plan player point policy pool port product property queue rack range rank region register replica room route row rule sample \
    schema scenario section segment sensor series server service set shard side site slot stage state step stream switch symbol \
    system table tag task team tenant term test thread tier track transaction type unit user value variable variant vector \
    version vertex vitamin volume wing worker zone ";
/// Those that begin a sentence as verbs: `plan a release`, `set a limit`.
const NAMED_OR_VERB: &str = " answer block box branch edge entry field figure file flag gate group host index input key label \
    layer level line list lock mode model name page part partition path phase pin plan point pool port queue range rank register \
    route row rule sample schema section segment set shard side slot stage state step stream switch table tag task team term test \
    thread track type value version volume ";

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

/// Brackets that open before a word.
const OPENING: [char; 3] = ['(', '[', '{'];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// The words without articles, with contractions spelt out.
    pub(super) words: Vec<String>,
    /// The quoted spans: the number of words before the first, and up to the last.
    pub(super) quoted: Vec<(usize, usize)>,
    /// Whether the final full stop is in the last quotes.
    pub(super) has_stop_in_quotes: bool,
}

/// The words around an article.
struct ArticleContext {
    /// The lone letters of the text, but for those of articles, of the pronoun and of units after numbers.
    letters: Vec<char>,
    /// The previous word without punctuation, in lower case.
    previous: String,
    previous_begins_sentence: bool,
    begins_sentence: bool,
    follows_colon: bool,
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
        // A full stop in the last quotes is the final one, or part of the quoted words.
        let mut has_stop_in_quotes = false;
        if let Some((_, end)) = unquoted.spans.last_mut().filter(|(_, end)| *end == unquoted.text.len()) {
            let kept = without_full_stop(&unquoted.text).len();
            has_stop_in_quotes = kept < *end;
            unquoted.text.truncate(kept);
            *end = kept;
        }
        let Unquoted { text, spans } = unquoted;
        // The words that count, with their positions in bytes.
        let mut found: Vec<(usize, Cow<'_, str>)> = Vec::new();
        let mut article = ArticleContext::of(&text);
        let mut opened = String::new();
        let mut rest = words_of(&text).peekable();
        while let Some((at, word)) = rest.next() {
            let bare = word.trim_start_matches(OPENING);
            let brackets = &word[..word.len() - bare.len()];
            let start = at + brackets.len();
            let end_of_span = spans.iter().find(|(first, end)| (*first..*end).contains(&start));
            // A quoted letter is a name, so an article has its noun in the same quotes.
            let noun = rest.peek().filter(|(next, _)| end_of_span.is_none_or(|(_, end)| next < end));
            let is_left_out = noun.is_some_and(|(_, noun)| article.is_article(bare, noun));
            article.pass(word);
            opened.push_str(brackets);
            if is_left_out {
                continue;
            }
            // Brackets before an article open the next word.
            let word = if opened == brackets { Cow::from(word) } else { Cow::from(format!("{opened}{bare}")) };
            opened.clear();
            match spelt_out(&word) {
                Some([verb, other]) => found.extend([(at, verb.into()), (at, other.into())]),
                None => found.push((at, word)),
            }
        }
        let before = |limit: usize| found.partition_point(|(at, _)| *at < limit);
        let quoted = spans.iter().map(|(start, end)| (before(*start), before(*end)));
        Self {
            quoted: quoted.collect(),
            has_stop_in_quotes,
            words: found.into_iter().map(|(_, word)| word.into_owned()).collect(),
        }
    }
}

impl Unquoted {
    /// Removes pairs of quotes that stand around words. Nested and unbalanced quotes stay: they are part of what is said.
    fn of(text: &str) -> Self {
        let mut unquoted = Self { text: String::with_capacity(text.len()), spans: Vec::new() };
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
        let is_quote = QUOTES.iter().any(|(opening, closing)| [*opening, *closing].contains(&c));
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

impl ArticleContext {
    fn of(text: &str) -> Self {
        let mut letters = Vec::new();
        let mut follows_number = false;
        for word in text.split_whitespace() {
            let mut chars = core(word).chars();
            if let (Some(letter), None) = (chars.next(), chars.next())
                && !follows_number
                && letter.is_ascii_alphabetic()
                && !"aAiI".contains(letter)
            {
                letters.push(letter);
            }
            follows_number = word.ends_with(|c: char| c.is_numeric());
        }
        Self {
            letters,
            previous: String::new(),
            previous_begins_sentence: false,
            begins_sentence: true,
            follows_colon: false,
        }
    }

    /// Returns whether a word is the article of the next one. At the beginning of a sentence it is capitalised.
    fn is_article(&self, word: &str, next: &str) -> bool {
        if is_one_of(WITH_ARTICLE, next) {
            return false;
        }
        let begins = self.begins_sentence || self.follows_colon && word != "A";
        match word {
            "A" | "An" | "The" if !begins => false,
            "a" | "A" => !self.is_name(word, next),
            "an" | "An" | "the" | "The" => !is_one_of(NO_NOUN, core(next)),
            _ => false,
        }
    }

    /// Returns whether `a` is a name.
    fn is_name(&self, word: &str, next: &str) -> bool {
        let has_case = |letter: &char| letter.is_uppercase() == (word == "A");
        let next = core(next);
        let is_verb = next.ends_with('s') && !next.ends_with("ss") && !next.ends_with("us") && !next.ends_with("is")
            || next.ends_with("ed");
        let follows_noun = is_one_of(NAMED, &self.previous)
            && (is_verb || !self.previous_begins_sentence || !is_one_of(NAMED_OR_VERB, &self.previous));
        next.is_empty()
            || self.letters.iter().any(has_case)
            || follows_noun && self.previous != "set"
            || is_one_of(NO_NOUN, next)
            || is_one_of(AFTER_A_NAME, next)
            || is_verb && !next.ends_with("ed")
    }

    /// Goes on to the next word.
    fn pass(&mut self, word: &str) {
        // A list marker begins a sentence, too.
        let is_marker = word.ends_with(')') || !word.contains(char::is_alphanumeric);
        let is_marker = is_marker && !word.contains(char::is_alphabetic);
        self.previous = core(word).to_lowercase();
        self.previous_begins_sentence = self.begins_sentence;
        self.begins_sentence = word.ends_with(['.', '!', '?']) || self.begins_sentence && is_marker;
        self.follows_colon = word.ends_with(':');
    }
}

/// A word without the punctuation around it.
fn core(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn is_one_of(words: &str, word: &str) -> bool {
    !word.is_empty() && words.contains(&format!(" {word} "))
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
            [first, if is_upper { second.to_uppercase() } else { second.to_owned() }]
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
    let cased = if stem.chars().all(char::is_uppercase) { verb.to_uppercase() } else { capital() };
    // A mixed case such as `dO` is part of what is said.
    let is_capitalised =
        stem.chars().next().is_some_and(char::is_uppercase) && stem.chars().skip(1).all(char::is_lowercase);
    (is_capitalised || stem.chars().all(char::is_uppercase)).then_some(cased)
}
