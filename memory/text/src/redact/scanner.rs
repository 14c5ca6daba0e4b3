use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::shapes::Rule;

/// The check that a literal triggers.
#[derive(Clone, Copy)]
pub(crate) enum Candidate {
    Rule(usize),
    Name,
}

/// A search for many literals at once.
pub(crate) struct LiteralSearch {
    pub(crate) literals: AhoCorasick,
    /// The checks of each literal.
    pub(crate) candidates: Vec<Vec<Candidate>>,
}

impl LiteralSearch {
    pub(crate) fn new<'a>(wanted: impl Iterator<Item = (&'a str, Candidate)>, any_case: bool) -> Option<LiteralSearch> {
        let mut literals: Vec<&str> = Vec::new();
        let mut candidates: Vec<Vec<Candidate>> = Vec::new();
        for (literal, candidate) in wanted {
            match literals.iter().position(|known| *known == literal) {
                Some(at) => candidates[at].push(candidate),
                None => {
                    literals.push(literal);
                    candidates.push(vec![candidate]);
                }
            }
        }
        let literals = AhoCorasick::builder()
            .ascii_case_insensitive(any_case)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&literals)
            .ok()?;
        Some(LiteralSearch { literals, candidates })
    }
}

pub(crate) struct Scanner {
    /// Two searches, with and without case: short literals in capitals are rare, but frequent in any case.
    pub(crate) searches: [LiteralSearch; 2],
    pub(crate) rules: Vec<Rule>,
}
