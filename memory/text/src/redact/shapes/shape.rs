use super::super::text::distinct;

/// The definition of a shape.
pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    pub(crate) literals: &'static [&'static str],
    /// The pattern after the literal. A group named `secret` is redacted; without one the whole match, literal
    /// included.
    pub(crate) tail: &'static str,
    /// Maximum number of bytes of the secret before the literal. If not 0, `tail` describes the whole secret.
    pub(crate) before: usize,
    pub(crate) any_case: bool,
    /// Whether the literal can be inside a word.
    pub(crate) anywhere: bool,
    /// A final check of the secret, for conditions that a regular expression cannot express.
    pub(crate) refused: fn(&str) -> bool,
    /// The same for the text before it on its line.
    pub(crate) context: fn(&str) -> bool,
}

pub(crate) const fn shape(kind: &'static str, literals: &'static [&'static str], tail: &'static str) -> Shape {
    Shape { kind, literals, tail, before: 0, any_case: false, anywhere: false, refused: |_| false, context: |_| true }
}

/// A shape whose secret mixes letters with digits, or both cases, which distinguishes keys from identifiers and from
/// `xxxx`.
pub(crate) const fn mixed(kind: &'static str, literals: &'static [&'static str], tail: &'static str) -> Shape {
    shape(kind, literals, tail).refusing(is_uniform)
}

/// A shape whose literal is inside the secret, at most `before` bytes after its start.
pub(crate) const fn inner(
    kind: &'static str,
    literals: &'static [&'static str],
    before: usize,
    whole: &'static str,
) -> Shape {
    let mut inner = mixed(kind, literals, whole);
    inner.before = before;
    inner.anywhere = true;
    inner
}

impl Shape {
    pub(crate) const fn refusing(mut self, refused: fn(&str) -> bool) -> Shape {
        self.refused = refused;
        self
    }

    pub(crate) const fn after(mut self, context: fn(&str) -> bool) -> Shape {
        self.context = context;
        self
    }

    pub(crate) const fn in_any_case(mut self) -> Shape {
        self.any_case = true;
        self
    }

    pub(crate) const fn anywhere(mut self) -> Shape {
        self.anywhere = true;
        self
    }
}

/// Returns whether a secret is a word or a placeholder and not random.
pub(crate) fn is_uniform(secret: &str) -> bool {
    let count = |is: fn(&u8) -> bool| secret.bytes().filter(is).count();
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let has_digit = count(u8::is_ascii_digit) > 0;
    let is_mixed = (has_digit && upper + lower > 0) || (upper > 3 && lower > 3);
    !is_mixed || distinct(secret) < 6
}
