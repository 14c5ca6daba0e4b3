use std::ops::Range;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::super::text::{line_before, run_before, starts_fresh, token_end};
use super::shape::Shape;
use super::{clouds, forges, formats, models, services};

/// A shape with its pattern.
pub(crate) struct Rule {
    shape: &'static Shape,
    /// The pattern, which is compiled when the first text needs it: compiling all of them takes longer than a short command.
    pattern: OnceLock<Option<Regex>>,
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
        let rule = |shape: &'static Shape| Rule { shape, pattern: OnceLock::new() };
        SHAPES.iter().copied().flatten().map(rule).collect()
    }

    /// `None` for an invalid pattern, which a test excludes.
    fn pattern(&self) -> Option<&Regex> {
        let compiled = || {
            let pattern = format!(r"\A(?:{})", self.shape.tail);
            RegexBuilder::new(&pattern).unicode(false).size_limit(1 << 21).build().ok()
        };
        self.pattern.get_or_init(compiled).as_ref()
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
        let pattern = self.pattern()?;
        let has_group = shape.tail.contains("<secret>");
        let (end, secret) = if has_group {
            let captures = pattern.captures(rest)?;
            let secret = captures.name("secret")?;
            (captures.get(0)?.end(), from + secret.start()..from + secret.end())
        } else {
            let end = pattern.find(rest)?.end();
            let is_closed = shape.tail.ends_with(r"\b");
            let stop = if is_closed { from + end } else { token_end(text, from + end) };
            (end, start..stop)
        };
        // Without the literal, which would distort the check.
        let drawn = if has_group || is_inner { secret.clone() } else { at.end..secret.end };
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
        for rule in Rule::all() {
            let group = rule.pattern().unwrap().capture_names().flatten().any(|name| name == "secret");
            assert_eq!(group, rule.shape.tail.contains("<secret>"), "{}", rule.kind());
        }
    }

    #[test]
    fn every_shape_has_literals_of_two_bytes_or_more() {
        for shape in SHAPES.iter().copied().flatten() {
            assert!(!shape.literals.is_empty(), "{}", shape.kind);
            assert!(shape.literals.iter().all(|literal| literal.len() > 1), "{}", shape.kind);
        }
    }
}
