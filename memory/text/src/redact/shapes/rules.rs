use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::super::text::{line_before, run_before, starts_fresh, token_end};
use super::shape::Shape;
use super::{clouds, forges, formats, models, services};

/// A compiled shape.
pub(crate) struct Rule {
    shape: &'static Shape,
    pattern: Regex,
    has_group: bool,
}

/// The result of a rule at one position.
pub(crate) struct RuleMatch {
    /// The end of the match; the rule is not tried again before it.
    pub(crate) end: usize,
    /// The range to redact, unless the final check refused it.
    pub(crate) secret: Option<Range<usize>>,
}

impl Rule {
    /// All rules, narrower ones first.
    pub(crate) fn all() -> Vec<Rule> {
        SHAPES.iter().copied().flatten().filter_map(Rule::new).collect()
    }

    /// `None` for an invalid pattern, which a test excludes.
    fn new(shape: &'static Shape) -> Option<Rule> {
        let pattern =
            RegexBuilder::new(&format!(r"\A(?:{})", shape.tail)).unicode(false).size_limit(1 << 21).build().ok()?;
        let has_group = pattern.capture_names().flatten().any(|name| name == "secret");
        Some(Rule { shape, pattern, has_group })
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.shape.kind
    }

    pub(crate) fn any_case(&self) -> bool {
        self.shape.any_case
    }

    pub(crate) fn literals(&self) -> &'static [&'static str] {
        self.shape.literals
    }

    /// Matches the text around the literal at `at`; `None` if the pattern does not match.
    pub(crate) fn look(&self, text: &str, at: Range<usize>) -> Option<RuleMatch> {
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
