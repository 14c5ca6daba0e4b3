//! Which word of one text answers which of another.

use super::reading::{Kind, ParsedText, Token};
use super::tables::{Tables, WordRelation, opposite_prefix};

/// How two words that answer each other stand to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Link {
    /// The same word, or one that means the same.
    Same,
    /// The first text's word is narrower.
    Narrower,
    /// The second text's word is narrower.
    Broader,
    /// They exclude each other, as opposites and different numbers do.
    Exclusive,
}

/// A word of each text, as places in their readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    /// In the first.
    pub(super) a: usize,
    /// In the second.
    pub(super) b: usize,
    /// How they stand to each other.
    pub(super) link: Link,
}

/// Whether two words answer each other.
type Pass = fn(&Token, &Token, &Tables) -> Option<Link>;

/// Two readings side by side.
pub(super) struct Alignment<'r> {
    pub(super) a: &'r ParsedText,
    pub(super) b: &'r ParsedText,
    /// Each word in at most one pair; in the order of the first text.
    pub(super) pairs: Vec<Pair>,
    /// The words of each text that nothing answers.
    pub(super) alone: [Vec<usize>; 2],
}

impl<'r> Alignment<'r> {
    /// Pairs words up: the same first, then those of one meaning, then narrower ones, then opposites. Of several
    /// candidates the one at the most similar place wins, so that swapping the texts changes nothing.
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

    /// The share of what a text says that the other says too, from 0 to 1, by weight: of the first, and of the second.
    pub(super) fn covered(&self) -> [f32; 2] {
        self.shares(|link| link != Link::Exclusive)
    }

    /// The same, where a word is answered by its opposite too.
    pub(super) fn answered(&self) -> [f32; 2] {
        self.shares(|_| true)
    }

    /// Whether one negates more than the other, or two of their words exclude each other.
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

    /// The words of one side that nothing answers and that say something.
    pub(super) fn telling(&self, side: usize) -> impl Iterator<Item = (usize, &'r Token)> + '_ {
        let reading = [self.a, self.b][side];
        self.alone[side]
            .iter()
            .map(move |at| (*at, &reading.tokens[*at]))
            .filter(|(_, token)| token.kind != Kind::Weak)
    }
}

/// How much a word says.
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

/// A name in code is also meant where it is written as prose.
fn same_name(a: &Token, b: &Token) -> bool {
    (a.kind == Kind::Name) != (b.kind == Kind::Name) && a.surface.eq_ignore_ascii_case(&b.surface)
}

/// How far apart two places are, each as a share of its text, in thousandths; over half if only one of them stands in
/// the predicate.
fn distance(a: &ParsedText, at_a: usize, b: &ParsedText, at_b: usize) -> usize {
    let share = |reading: &ParsedText, at: usize| at * 1000 / reading.tokens.len().max(1);
    let across = a.in_predicate(at_a) != b.in_predicate(at_b);
    share(a, at_a).abs_diff(share(b, at_b)) + usize::from(across) * 500
}
