//! Aligns the tokens of two statements, and lists what differs.

use std::collections::HashMap;
use std::ops::Range;

use super::kind::{Kind, Token};
use super::words;

/// Tokens before which a heading must end.
const HEADING: usize = 8;

/// The share of inverted pairs of words from which two sides are exchanged.
const EXCHANGED: f32 = 0.8;

/// Two aligned statements.
pub(super) struct Alignment<'r> {
    pub(super) sides: [&'r [Token]; 2],
    /// The runs of tokens between aligned tokens, as ranges of each side; one of the two can be empty.
    pub(super) gaps: Vec<[Range<usize>; 2]>,
    /// Number of aligned tokens.
    pub(super) aligned: usize,
    /// The tokens of each side that the other does not have, wherever they are; each as often as it is missing.
    pub(super) alone: [Vec<&'r Token>; 2],
}

impl<'r> Alignment<'r> {
    pub(super) fn new(a: &'r [Token], b: &'r [Token]) -> Self {
        let matched = heaviest_common_subsequence(a, b);
        let mut gaps = Vec::new();
        let mut from = (0, 0);
        for (at_a, at_b) in matched.iter().copied().chain([(a.len(), b.len())]) {
            if from.0 < at_a || from.1 < at_b {
                gaps.push([from.0..at_a, from.1..at_b]);
            }
            from = (at_a + 1, at_b + 1);
        }
        Self { sides: [a, b], gaps, aligned: matched.len(), alone: [missing(a, b), missing(b, a)] }
    }

    /// The gaps in which both sides have tokens.
    pub(super) fn substitutions(&self) -> impl Iterator<Item = [&'r [Token]; 2]> + '_ {
        let in_both = self.gaps.iter().filter(|[a, b]| !a.is_empty() && !b.is_empty());
        in_both.map(|[a, b]| [&self.sides[0][a.clone()], &self.sides[1][b.clone()]])
    }

    /// Pairs of unaligned tokens that exclude each other.
    pub(super) fn exclusive(&self) -> impl Iterator<Item = [&'r Token; 2]> + '_ {
        let pairs = self.alone[0].iter().flat_map(|one| self.alone[1].iter().map(move |other| [*one, *other]));
        pairs.filter(|[one, other]| words::exclude(&one.normal, &other.normal))
    }

    /// The number of tokens of a kind that only one side has.
    pub(super) fn alone_of(&self, side: usize, kind: Kind) -> usize {
        self.alone[side].iter().filter(|token| token.kind == kind).count()
    }

    /// The number of tokens of a kind on each side.
    pub(super) fn counts(&self, kind: Kind) -> [usize; 2] {
        self.sides.map(|side| side.iter().filter(|token| token.kind == kind).count())
    }

    /// The number of words on each side that only say `not`.
    pub(super) fn plain_negations(&self) -> [usize; 2] {
        self.sides.map(|side| side.iter().filter(|token| token.is_plain_negation).count())
    }

    /// Returns whether the sides differ in negations, or have words or numbers that exclude each other.
    pub(super) fn opposes(&self) -> bool {
        let negations = self.plain_negations();
        let numbers = [0, 1].map(|side| self.alone_of(side, Kind::Number));
        let begins = self.sides.map(|side| side.first().is_some_and(|first| first.kind == Kind::Negation));
        negations[0] != negations[1]
            || begins[0] != begins[1]
            || numbers[0] > 0 && numbers[1] > 0
            || self.exclusive().next().is_some()
            || self.are_exchanged()
    }

    /// Returns whether one side says all that the other says, and more: two content words or numbers, or more.
    pub(super) fn adds(&self) -> bool {
        let is_covered = |side: usize| {
            let mut alone = self.alone[side].iter();
            alone.all(|token| matches!(token.kind, Kind::Function | Kind::Colon | Kind::Operator))
        };
        let content = |side: usize| self.alone[side].iter().filter(|token| token.kind.is_content()).count();
        [0, 1].into_iter().any(|side| is_covered(side) && content(1 - side) > 1)
    }

    /// Returns whether the same words stand in the opposite order, as in `a calls b` and `b calls a`. A clause that moved
    /// inverts fewer pairs of words.
    fn are_exchanged(&self) -> bool {
        let has_agent = self.sides.map(|side| side.iter().any(|token| &*token.normal == "by"));
        let is_equal = self.alone.iter().all(|alone| !alone.iter().any(|token| token.kind.is_content()));
        let words = self.sides[0].iter().filter(|token| token.kind.is_content()).count();
        is_equal && words > 2 && has_agent[0] == has_agent[1] && self.inverted() >= EXCHANGED
    }

    /// The share of pairs of common content words that stand in the other order.
    pub(super) fn inverted(&self) -> f32 {
        let place = |tokens: &[Token], normal: &str| tokens.iter().position(|token| *token.normal == *normal);
        let shared = self.sides[0]
            .iter()
            .enumerate()
            .filter(|(at, token)| token.kind.is_content() && place(self.sides[0], &token.normal) == Some(*at));
        let places: Vec<usize> = shared.filter_map(|(_, token)| place(self.sides[1], &token.normal)).collect();
        let pairs =
            places.iter().enumerate().flat_map(|(at, one)| places[at + 1..].iter().map(move |other| one > other));
        let (inverted, all) = pairs.fold((0u16, 0u16), |(inverted, all), is_inverted| {
            (inverted.saturating_add(u16::from(is_inverted)), all.saturating_add(1))
        });
        f32::from(inverted) / f32::from(all.max(1))
    }

    /// Returns whether both sides name numbered things, and different ones: `shard 3` and `shard 5`.
    pub(super) fn ids_differ(&self) -> bool {
        self.alone.iter().all(|alone| alone.iter().any(|token| token.is_id))
    }

    /// Returns whether the sides are equal but for a proper name after `by`: `tagged by Ana` and `tagged by Ben`.
    pub(super) fn agents_differ(&self) -> bool {
        let [[a, b]] = &self.gaps[..] else { return false };
        let is_agent = |side: usize, gap: &Range<usize>| {
            let before = gap.start.checked_sub(1).map(|at| &*self.sides[side][at].normal);
            before == Some("by") && !gap.is_empty() && self.sides[side][gap.clone()].iter().all(|token| token.is_proper)
        };
        is_agent(0, a) && is_agent(1, b)
    }

    /// Returns whether the sides are equal but for one content word in the same place.
    pub(super) fn is_substitution(&self) -> bool {
        let is_word = |tokens: &[Token]| matches!(tokens, [token] if token.kind.is_content());
        self.gaps.len() == 1 && self.substitutions().any(|[a, b]| is_word(a) && is_word(b))
    }

    /// Returns whether both sides have another number or name, or words that exclude each other.
    pub(super) fn is_value(&self) -> bool {
        let in_both = |kind: Kind| self.alone_of(0, kind) > 0 && self.alone_of(1, kind) > 0;
        in_both(Kind::Number)
            || in_both(Kind::Name)
            || self.agents_differ()
            || self.is_substitution()
            || self.exclusive().next().is_some()
    }

    /// Returns whether both sides begin with a heading, such as `indent: ...`, and the headings name different things.
    pub(super) fn headings_differ(&self) -> bool {
        let [(a, a_ends), (b, b_ends)] = self.sides.map(heading);
        let lacks = |one: &[&str], other: &[&str]| one.iter().any(|word| !other.contains(word));
        a_ends && b_ends && lacks(&a, &b) && lacks(&b, &a)
    }
}

/// The words of the first clause before an early colon, or the first two of the text; and whether there is a colon. A
/// value in parentheses before the colon is not part of the heading.
pub(super) fn heading(tokens: &[Token]) -> (Vec<&str>, bool) {
    let begin = &tokens[..tokens.len().min(HEADING)];
    let colon = begin.iter().position(|token| token.kind == Kind::Colon);
    let is_heading = |token: &&Token| {
        matches!(token.kind, Kind::Word | Kind::Name) && (colon.is_none() || token.clause == tokens[0].clause)
    };
    let words = begin[..colon.unwrap_or(begin.len())].iter().filter(is_heading);
    let words = words.map(|token| &*token.normal);
    match colon {
        Some(_) => (words.collect(), true),
        None => (words.take(2).collect(), false),
    }
}

/// The tokens of a side that the other does not have, in order.
fn missing<'r>(side: &'r [Token], other: &[Token]) -> Vec<&'r Token> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for token in other {
        *left.entry(&token.normal).or_default() += 1;
    }
    let is_missing = |token: &&Token| match left.get_mut(&*token.normal) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    side.iter().filter(is_missing).collect()
}

/// The common subsequence with the greatest total weight, as positions in both sides.
fn heaviest_common_subsequence(a: &[Token], b: &[Token]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut best = vec![0.0f32; (a.len() + 1) * width];
    let is_same = |at_a: usize, at_b: usize| a[at_a].normal == b[at_b].normal;
    for at_a in (0..a.len()).rev() {
        for at_b in (0..b.len()).rev() {
            let skipped = best[(at_a + 1) * width + at_b].max(best[at_a * width + at_b + 1]);
            best[at_a * width + at_b] = if is_same(at_a, at_b) {
                skipped.max(best[(at_a + 1) * width + at_b + 1] + a[at_a].weight)
            } else {
                skipped
            };
        }
    }
    let mut found = Vec::new();
    let (mut at_a, mut at_b) = (0, 0);
    while at_a < a.len() && at_b < b.len() {
        let (down, right) = (best[(at_a + 1) * width + at_b], best[at_a * width + at_b + 1]);
        let taken = best[(at_a + 1) * width + at_b + 1] + a[at_a].weight;
        if is_same(at_a, at_b) && taken >= down.max(right) {
            found.push((at_a, at_b));
            at_a += 1;
            at_b += 1;
        } else if down >= right {
            at_a += 1;
        } else {
            at_b += 1;
        }
    }
    found
}
