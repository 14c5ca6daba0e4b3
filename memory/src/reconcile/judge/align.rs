//! Aligns the words of two texts.

use super::reading::{Kind, ParsedText, Token};
use super::tables::{Tables, WordRelation, opposite_prefix};

/// The relation of two aligned words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Link {
    /// The same word, or a synonym.
    Same,
    /// The first text's word is narrower.
    Narrower,
    /// The second text's word is narrower.
    Broader,
    /// They exclude each other, as opposites and different numbers do.
    Exclusive,
}

/// A pair of aligned words, as positions in their texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    /// Position in the first text.
    pub(super) a: usize,
    /// Position in the second text.
    pub(super) b: usize,
    /// The relation of the words.
    pub(super) link: Link,
}

/// One pass of the alignment.
type Pass = fn(&Token, &Token, &Tables) -> Option<Link>;

/// Two aligned texts.
pub(super) struct Alignment<'r> {
    pub(super) a: &'r ParsedText,
    pub(super) b: &'r ParsedText,
    /// Aligned words, each in at most one pair, in the order of the first text.
    pub(super) pairs: Vec<Pair>,
    /// Unaligned words of each text.
    pub(super) alone: [Vec<usize>; 2],
}

impl<'r> Alignment<'r> {
    /// Aligns words in passes: equal words, synonyms, then narrower words and opposites. Of several candidates the one
    /// at the most similar position wins, so that the alignment is symmetric.
    pub(super) fn new(a: &'r ParsedText, b: &'r ParsedText, tables: &Tables) -> Self {
        let mut pairs: Vec<Pair> = Vec::with_capacity(a.tokens.len());
        let mut free = [vec![true; a.tokens.len()], vec![true; b.tokens.len()]];
        let passes: [Pass; 3] = [same, synonymous, related];
        for pass in passes {
            let mut candidates = Vec::new();
            for (at_a, token_a) in a.tokens.iter().enumerate().filter(|(at, _)| free[0][*at]) {
                for (at_b, token_b) in b.tokens.iter().enumerate().filter(|(at, _)| free[1][*at]) {
                    if let Some(link) = pass(token_a, token_b, tables) {
                        candidates.push((distance(a, at_a, b, at_b), Pair { a: at_a, b: at_b, link }));
                    }
                }
            }
            candidates.sort_by_key(|(distance, pair)| (*distance, pair.a + pair.b, pair.a.abs_diff(pair.b)));
            for (_, pair) in candidates {
                if free[0][pair.a] && free[1][pair.b] {
                    (free[0][pair.a], free[1][pair.b]) = (false, false);
                    pairs.push(pair);
                }
            }
        }
        pairs.sort_unstable_by_key(|pair| pair.a);
        let alone = free.map(|free| {
            free.iter()
                .enumerate()
                .filter(|(_, free)| **free)
                .map(|(at, _)| at)
                .collect()
        });
        Self { a, b, pairs, alone }
    }

    /// The weighted share of each text's words that are aligned and not exclusive, from 0 to 1.
    pub(super) fn covered(&self) -> [f32; 2] {
        self.shares(|link| link != Link::Exclusive)
    }

    /// The same, opposites included.
    pub(super) fn answered(&self) -> [f32; 2] {
        self.shares(|_| true)
    }

    /// Returns whether the texts differ in negations, or have words that exclude each other.
    pub(super) fn opposes(&self) -> bool {
        let exclude = |pair: &Pair| pair.link == Link::Exclusive;
        self.a.negations != self.b.negations || self.pairs.iter().any(exclude)
    }

    fn shares(&self, counts: fn(Link) -> bool) -> [f32; 2] {
        let total = |reading: &ParsedText| {
            let weights = reading.tokens.iter().map(weight);
            weights.sum::<f32>().max(f32::MIN_POSITIVE)
        };
        let pairs = || self.pairs.iter().filter(|pair| counts(pair.link));
        let of_a: f32 = pairs().map(|pair| weight(&self.a.tokens[pair.a])).sum();
        let of_b: f32 = pairs().map(|pair| weight(&self.b.tokens[pair.b])).sum();
        [of_a / total(self.a), of_b / total(self.b)]
    }

    /// Unaligned words of one side that are not weak.
    pub(super) fn significant(&self, side: usize) -> impl Iterator<Item = (usize, &'r Token)> + '_ {
        let reading = [self.a, self.b][side];
        self.alone[side]
            .iter()
            .map(move |at| (*at, &reading.tokens[*at]))
            .filter(|(_, token)| token.kind != Kind::Weak)
    }
}

/// The weight of a word.
pub(super) fn weight(token: &Token) -> f32 {
    match token.kind {
        Kind::Content | Kind::Number => 1.0,
        Kind::Name => 1.2,
        Kind::Weak => 0.2,
    }
}

fn same(a: &Token, b: &Token, _: &Tables) -> Option<Link> {
    (a.normal == b.normal || same_name(a, b)).then_some(Link::Same)
}

fn synonymous(a: &Token, b: &Token, tables: &Tables) -> Option<Link> {
    (relation_of_tokens(a, b, tables) == WordRelation::Synonym).then_some(Link::Same)
}

fn related(a: &Token, b: &Token, tables: &Tables) -> Option<Link> {
    match relation_of_tokens(a, b, tables) {
        WordRelation::Narrower => Some(Link::Narrower),
        WordRelation::Broader => Some(Link::Broader),
        WordRelation::Exclusive => Some(Link::Exclusive),
        WordRelation::None if a.kind == Kind::Number && b.kind == Kind::Number => Some(Link::Exclusive),
        WordRelation::None | WordRelation::Synonym => None,
    }
}

fn relation_of_tokens(a: &Token, b: &Token, tables: &Tables) -> WordRelation {
    match tables.relation_of(a.entry, b.entry) {
        WordRelation::None if a.kind != Kind::Name && b.kind != Kind::Name && opposite_prefix(&a.normal, &b.normal) => {
            WordRelation::Exclusive
        }
        relation_of => relation_of,
    }
}

/// A name in code matches the same word in prose.
fn same_name(a: &Token, b: &Token) -> bool {
    (a.kind == Kind::Name) != (b.kind == Kind::Name) && a.surface.eq_ignore_ascii_case(&b.surface)
}

/// The distance of two relative positions in thousandths, plus 500 if only one of them is in the predicate.
fn distance(a: &ParsedText, at_a: usize, b: &ParsedText, at_b: usize) -> usize {
    let share = |reading: &ParsedText, at: usize| at * 1000 / reading.tokens.len().max(1);
    let across = a.in_predicate(at_a) != b.in_predicate(at_b);
    share(a, at_a).abs_diff(share(b, at_b)) + usize::from(across) * 500
}
