/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// A number, a version or a quantity.
    Number,
    /// A name in code: an identifier, a path, a command, a setting.
    Name,
    /// A content word.
    Word,
    /// `not`, `without`, `disabled`.
    Negation,
    /// `must`, `may`.
    Modality,
    /// A word of a change: `replaces`, `now`.
    Cue,
    /// `>=`, `=`.
    Operator,
    /// A function word.
    Function,
    /// A colon, which ends a heading.
    Colon,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    /// The written form, for reasons and vectors.
    pub(super) surface: Box<str>,
    /// The form that is compared: a stem, a name in lower case, a quantity in base units.
    pub(super) normal: Box<str>,
    pub(super) kind: Kind,
    /// Weight by kind and rarity, from 0 to 1.
    pub(super) weight: f32,
    /// Whether the word only says `not`.
    pub(super) is_plain_negation: bool,
    /// Whether the word begins with a capital inside a sentence.
    pub(super) is_proper: bool,
    /// Whether the token is a number used as an identifier: `RFC 7231`, `#12`.
    pub(super) is_id: bool,
    /// The number of the clause.
    pub(super) clause: usize,
    /// Whether the statement is against what the token names; see [`super::polarity`].
    pub(super) is_against: bool,
}

/// The parts of a token that depend on the written word alone. They are most of the work.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) stem: Box<str>,
    /// From 0 to 1.
    pub(crate) rarity: f32,
}
