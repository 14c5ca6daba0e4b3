//! A parsed sentence: its words in order, its predicate and its negations.

use super::pieces::{Piece, in_pieces};
use super::tables::{Entry, Tables, WordList};

/// Maximum number of words that are parsed. Alignment costs the product of both lengths, and no useful claim is longer.
const MOST_PIECES: usize = 400;

/// The kind of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A content word.
    Content,
    /// A number, a version, a quantity.
    Number,
    /// A name in code: an identifier, a path, a command, a setting.
    Name,
    /// A weak word, which can be missing in one text without a difference in meaning.
    Weak,
}

/// A word with meaning.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// The written form, lower case unless it is a name in code.
    pub(super) surface: Box<str>,
    /// The stem.
    pub(super) normal: Box<str>,
    pub(super) kind: Kind,
    /// The word lists that it is on; none for a name in code.
    pub(super) entry: Entry,
    /// The stem of the preposition before it, or before its phrase.
    pub(super) lead: Option<Box<str>>,
    /// Whether a comma, or a word that begins a clause, precedes the word.
    pub(super) begins: bool,
    /// Whether a negation precedes the word, with no content word in between.
    pub(super) negated: bool,
}

#[derive(Debug, Clone)]
pub(super) struct ParsedText {
    /// Words in order.
    pub(super) tokens: Vec<Token>,
    /// Number of negations.
    pub(super) negations: usize,
    /// Position of the predicate's first word; the number of words if there is none.
    pub(super) predicate: usize,
    /// Position of the agent after `by`, if any.
    pub(super) agent: Option<usize>,
    /// Whether it has a condition or a restriction.
    pub(super) conditional: bool,
    /// Whether it is in a progressive tense: `is running`.
    pub(super) progressive: bool,
    /// Whether it is passive: a participle follows a form of `be`.
    pub(super) passive: bool,
    /// Whether the text was truncated.
    pub(super) is_cut: bool,
}

impl ParsedText {
    /// Parses a text, or the beginning of a long one, in linear time.
    pub(super) fn new(text: &str, tables: &Tables) -> Self {
        let pieces = in_pieces(text, tables);
        let mut reader = TextParser::new(tables);
        for (at, piece) in pieces.iter().enumerate().take(MOST_PIECES) {
            reader.take(piece, pieces.get(at + 1));
        }
        let mut read = reader.finish();
        read.is_cut = pieces.len() > MOST_PIECES;
        read
    }

    /// Returns whether a token is in the predicate.
    pub(super) fn in_predicate(&self, at: usize) -> bool {
        at >= self.predicate
    }
}

struct TextParser<'a> {
    tables: &'a Tables,
    read: ParsedText,
    lead: Option<Box<str>>,
    begins: bool,
    /// Whether a determiner precedes the next word.
    determined: bool,
    negated: bool,
    after_be: bool,
    by: bool,
    verb: Option<usize>,
    auxiliary: Option<usize>,
}

impl<'a> TextParser<'a> {
    fn new(tables: &'a Tables) -> Self {
        Self {
            tables,
            read: ParsedText {
                tokens: Vec::new(),
                negations: 0,
                predicate: 0,
                agent: None,
                conditional: false,
                progressive: false,
                passive: false,
                is_cut: false,
            },
            lead: None,
            begins: false,
            determined: false,
            negated: false,
            after_be: false,
            by: false,
            verb: None,
            auxiliary: None,
        }
    }

    fn take(&mut self, piece: &Piece, next: Option<&Piece>) {
        let word = piece.text.as_str();
        if piece.name {
            self.push(word, Kind::Name);
        } else {
            self.word(word, piece, next);
        }
        self.begins |= piece.ends;
    }

    fn word(&mut self, word: &str, piece: &Piece, next: Option<&Piece>) {
        let tables = self.tables;
        let here = self.read.tokens.len();
        let lists = tables.written(word);
        if lists.has(WordList::Auxiliaries) {
            self.auxiliary.get_or_insert(here);
        }
        if lists.has(WordList::Negators) {
            self.read.negations += 1;
            self.negated = true;
            if word == "without" {
                self.lead = Some(word.into());
            }
            return;
        }
        if matches!(
            word,
            "is" | "are" | "was" | "were" | "be" | "been" | "being" | "gets" | "get" | "got"
        ) {
            self.after_be = true;
        }
        // `on` and `off` without an object are a state, not a preposition.
        let alone =
            piece.ends || next.is_none_or(|next| !next.name && tables.written(&next.text).has(WordList::Prepositions));
        if word == "off" || word == "on" && alone && self.after_be {
            return self.push(word, Kind::Content);
        }
        if lists.has(WordList::Prepositions) {
            self.lead = Some(tables.normal(word));
            self.by = word == "by" && self.read.passive;
            return;
        }
        if lists.has(WordList::Conditions) {
            self.read.conditional = true;
            self.begins = true;
        }
        if lists.has(WordList::Function) {
            self.begins |= matches!(word, "and" | "or" | "who" | "which" | "that" | "where");
            self.determined = is_determiner(word);
            return;
        }
        let number = word.starts_with(|c: char| c.is_ascii_digit()) || spelled(word).is_some();
        let kind = match () {
            () if number => Kind::Number,
            () if lists.has(WordList::Weak) => Kind::Weak,
            () => Kind::Content,
        };
        self.push(word, kind);
    }

    fn push(&mut self, word: &str, kind: Kind) {
        let here = self.read.tokens.len();
        let normal = match kind {
            Kind::Name => word.trim_end_matches(['.', ',']).into(),
            Kind::Number => spelled(word).unwrap_or(word).trim_start_matches('v').into(),
            Kind::Content | Kind::Weak => self.tables.normal(word),
        };
        let entry = if kind == Kind::Name {
            Entry::default()
        } else {
            self.tables.entry(&normal)
        };
        if std::mem::take(&mut self.by) {
            self.read.agent = Some(here);
        }
        let after_be = self.after_be;
        // An adverb between `is` and the participle, as in `is carefully driven`.
        self.after_be &= word.ends_with("ly");
        self.read.progressive |= after_be && word.ends_with("ing");
        self.read.passive |= after_be && kind == Kind::Content && is_participle(word);
        if matches!(kind, Kind::Content | Kind::Weak) && self.is_verb_here(word, entry) {
            self.verb = Some(here);
        }
        self.determined = false;
        self.read.tokens.push(Token {
            surface: word.into(),
            normal,
            kind,
            entry,
            lead: self.lead.take(),
            begins: std::mem::take(&mut self.begins),
            negated: std::mem::take(&mut self.negated),
        });
    }

    /// Returns whether a word is the verb of a statement without an auxiliary: the first word of a command, `worker
    /// reads`, or `tests need`. The plural in `tests need` looks like a verb, so a second verb right after it wins.
    fn is_verb_here(&self, word: &str, entry: Entry) -> bool {
        if !entry.lists.has(WordList::Verbs) || self.lead.is_some() || self.determined {
            return false;
        }
        let before = self.read.tokens.iter().rev().find(|token| token.kind != Kind::Weak);
        let behind_last = self.verb.is_some_and(|verb| verb + 1 == self.read.tokens.len());
        if self.verb.is_some() && !behind_last {
            return false;
        }
        let inflected = word.ends_with('s') || word.ends_with("ed") || self.tables.is_irregular(word);
        match before {
            None => !inflected,
            Some(before) => {
                let plural = before.surface.ends_with('s');
                if inflected {
                    self.verb.is_none() && !plural
                } else {
                    plural && self.verb != Some(0)
                }
            }
        }
    }

    fn finish(mut self) -> ParsedText {
        let end = self.read.tokens.len();
        self.read.predicate = match (self.verb, self.auxiliary) {
            (Some(verb), Some(auxiliary)) => verb.min(auxiliary),
            (verb, auxiliary) => verb.or(auxiliary).unwrap_or(end),
        };
        self.read
    }
}

/// Returns whether a word is a determiner: a noun follows, perhaps after adjectives.
fn is_determiner(word: &str) -> bool {
    matches!(
        word,
        "a" | "an" | "the" | "this" | "these" | "its" | "our" | "your" | "their" | "each" | "every" | "any"
    )
}

/// Returns whether a word after `is` can be a participle: `stored`, `written`, `built`, `sung`, `made`.
fn is_participle(word: &str) -> bool {
    !word.ends_with("ing") && word.ends_with(['d', 'n', 't', 'g', 'k', 'e', 'm'])
}

/// Parses small numbers in words.
fn spelled(word: &str) -> Option<&'static str> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    const DIGITS: [&str; 13] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"];
    WORDS.iter().position(|one| *one == word).map(|at| DIGITS[at])
}
