//! The shapes of secrets, as data.
//!
//! A shape starts with a literal. All literals are found in one scan, and a pattern is tried once, at its literal: a
//! text without secrets costs one scan, however many shapes there are. No pattern reaches further than a few hundred
//! bytes, or beyond a character that ends its secret, so a hostile text costs little more.

mod clouds;
mod forges;
mod formats;
mod models;
mod services;

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::text::{distinct, line_before, run_before, starts_fresh, token_end};

/// The definition of a shape.
struct Shape {
    kind: &'static str,
    literals: &'static [&'static str],
    /// The pattern after the literal. A group named `secret` is redacted; without one the whole match, literal
    /// included.
    tail: &'static str,
    /// Maximum number of bytes of the secret before the literal. If not 0, `tail` describes the whole secret.
    before: usize,
    any_case: bool,
    /// Whether the literal can be inside a word.
    anywhere: bool,
    /// A final check of the secret, for conditions that a regular expression cannot express.
    refused: fn(&str) -> bool,
    /// The same for the text before it on its line.
    context: fn(&str) -> bool,
}

const fn shape(kind: &'static str, literals: &'static [&'static str], tail: &'static str) -> Shape {
    Shape { kind, literals, tail, before: 0, any_case: false, anywhere: false, refused: |_| false, context: |_| true }
}

/// A shape whose secret mixes letters with digits, or both cases, which distinguishes keys from identifiers and from
/// `xxxx`.
const fn mixed(kind: &'static str, literals: &'static [&'static str], tail: &'static str) -> Shape {
    shape(kind, literals, tail).refusing(is_uniform)
}

/// A shape whose literal is inside the secret, at most `before` bytes after its start.
const fn inner(kind: &'static str, literals: &'static [&'static str], before: usize, whole: &'static str) -> Shape {
    let mut inner = mixed(kind, literals, whole);
    inner.before = before;
    inner.anywhere = true;
    inner
}

impl Shape {
    const fn refusing(mut self, refused: fn(&str) -> bool) -> Shape {
        self.refused = refused;
        self
    }

    const fn after(mut self, context: fn(&str) -> bool) -> Shape {
        self.context = context;
        self
    }

    const fn in_any_case(mut self) -> Shape {
        self.any_case = true;
        self
    }

    const fn anywhere(mut self) -> Shape {
        self.anywhere = true;
        self
    }
}

/// A compiled shape.
pub(super) struct Rule {
    shape: &'static Shape,
    pattern: Regex,
    has_group: bool,
}

/// The result of a rule at one position.
pub(super) struct RuleMatch {
    /// The end of the match; the rule is not tried again before it.
    pub(super) end: usize,
    /// The range to redact, unless the final check refused it.
    pub(super) secret: Option<Range<usize>>,
}

impl Rule {
    /// All rules, narrower ones first.
    pub(super) fn all() -> Vec<Rule> {
        SHAPES.iter().copied().flatten().filter_map(Rule::new).collect()
    }

    /// `None` for an invalid pattern, which a test excludes.
    fn new(shape: &'static Shape) -> Option<Rule> {
        let pattern =
            RegexBuilder::new(&format!(r"\A(?:{})", shape.tail)).unicode(false).size_limit(1 << 21).build().ok()?;
        let has_group = pattern.capture_names().flatten().any(|name| name == "secret");
        Some(Rule { shape, pattern, has_group })
    }

    pub(super) fn kind(&self) -> &'static str {
        self.shape.kind
    }

    pub(super) fn any_case(&self) -> bool {
        self.shape.any_case
    }

    pub(super) fn literals(&self) -> &'static [&'static str] {
        self.shape.literals
    }

    /// Matches the text around the literal at `at`; `None` if the pattern does not match.
    pub(super) fn look(&self, text: &str, at: Range<usize>) -> Option<RuleMatch> {
        let shape = self.shape;
        let is_inner = shape.before > 0;
        let start = if is_inner { run_before(text, at.start, shape.before) } else { at.start };
        if (!shape.anywhere && !starts_fresh(text, start)) || !(shape.context)(line_before(text, start)) {
            return None;
        }
        let from = if is_inner { start } else { at.end };
        let rest = &text[from..];
        let (end, secret) = if self.has_group {
            let captures = self.pattern.captures(rest)?;
            let secret = captures.name("secret")?;
            (captures.get(0)?.end(), from + secret.start()..from + secret.end())
        } else {
            let end = self.pattern.find(rest)?.end();
            let is_closed = shape.tail.ends_with(r"\b");
            let stop = if is_closed { from + end } else { token_end(text, from + end) };
            (end, start..stop)
        };
        // Without the literal, which would distort the check.
        let drawn = if self.has_group || is_inner { secret.clone() } else { at.end..secret.end };
        let is_secret = !(shape.refused)(&text[drawn]);
        Some(RuleMatch { end: secret.end.max(from + end), secret: is_secret.then_some(secret) })
    }
}

static SHAPES: [&[Shape]; 5] = [models::SHAPES, forges::SHAPES, services::SHAPES, clouds::SHAPES, formats::SHAPES];

/// Returns whether a secret is a word or a placeholder and not random.
fn is_uniform(secret: &str) -> bool {
    let count = |is: fn(&u8) -> bool| secret.bytes().filter(is).count();
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let has_digit = count(u8::is_ascii_digit) > 0;
    let is_mixed = (has_digit && upper + lower > 0) || (upper > 3 && lower > 3);
    !is_mixed || distinct(secret) < 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles() {
        assert_eq!(Rule::all().len(), SHAPES.iter().map(|shapes| shapes.len()).sum::<usize>());
    }

    #[test]
    fn every_shape_has_literals_of_two_bytes_or_more() {
        for shape in SHAPES.iter().copied().flatten() {
            assert!(!shape.literals.is_empty(), "{}", shape.kind);
            assert!(shape.literals.iter().all(|literal| literal.len() > 1), "{}", shape.kind);
        }
    }
}
