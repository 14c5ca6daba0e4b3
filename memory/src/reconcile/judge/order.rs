//! Compares the word order of two texts.

use super::align::{Alignment, Link, Pair};
use super::reading::{Kind, ParsedText, Token};

/// Maximum number of moved phrases.
const PHRASES: usize = 2;
/// Maximum number of pairs for the search of moved phrases, whose cost grows with the fourth power.
const MOST_MOVED: usize = 24;

/// Returns whether the aligned words are in an equivalent order: the same order, passive against active, or with one
/// phrase moved.
pub(super) fn agrees(alignment: &Alignment<'_>) -> bool {
    let (a, b) = (alignment.a, alignment.b);
    let counts = |pair: &&Pair| pair.link != Link::Exclusive && a.tokens[pair.a].kind != Kind::Weak;
    let pairs: Vec<Pair> = alignment.pairs.iter().filter(counts).copied().collect();
    let inverted = !in_order(pairs.iter());
    if a.agent.is_some() != b.agent.is_some() {
        return inverted;
    }
    !inverted || phrases_moved(&pairs, a, b) || agentless(&pairs, a, b)
}

/// `We store flags` and `flags are stored`: without an agent, nothing can be exchanged.
fn agentless(pairs: &[Pair], a: &ParsedText, b: &ParsedText) -> bool {
    let verb = |pair: &Pair| pair.a == a.predicate || pair.b == b.predicate;
    let subjects = [(a, b), (b, a)]
        .iter()
        .any(|(one, other)| one.predicate == 0 && other.predicate > 0 && other.passive);
    subjects && in_order(pairs.iter().filter(|pair| !verb(pair)))
}

fn in_order<'p>(pairs: impl Iterator<Item = &'p Pair>) -> bool {
    let places: Vec<usize> = pairs.map(|pair| pair.b).collect();
    places.is_sorted()
}

/// Returns whether the orders agree if one or two movable phrases are left out. A movable phrase begins with a
/// preposition or a clause, or is an adverb. A word that is a noun in one text and a verb in the other is not movable:
/// `the race is led` is not `lead that is raced for`.
fn phrases_moved(pairs: &[Pair], a: &ParsedText, b: &ParsedText) -> bool {
    let inverted = |pair: &Pair| {
        pairs
            .iter()
            .any(|other| (other.a < pair.a) != (other.b < pair.b) && other.a != pair.a)
    };
    let moved_alike = pairs
        .iter()
        .filter(|pair| inverted(pair))
        .all(|pair| alike(&a.tokens[pair.a], &b.tokens[pair.b]));
    moved_alike && pairs.len() <= MOST_MOVED && settles(pairs, a, b, PHRASES)
}

fn settles(pairs: &[Pair], a: &ParsedText, b: &ParsedText, phrases: usize) -> bool {
    if in_order(pairs.iter()) {
        return true;
    }
    let runs = (0..pairs.len()).flat_map(|start| (start + 1..=pairs.len()).map(move |end| (start, end)));
    phrases > 0
        && runs.into_iter().any(|(start, end)| {
            let run = &pairs[start..end];
            let rest = || [&pairs[..start], &pairs[end..]].concat();
            stays_together(run, pairs) && may_move(run, pairs, a, b) && settles(&rest(), a, b, phrases - 1)
        })
}

/// Returns whether a run is contiguous and in order in the second text.
fn stays_together(run: &[Pair], pairs: &[Pair]) -> bool {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return false;
    };
    let inside = pairs.iter().filter(|pair| (first.b..=last.b).contains(&pair.b)).count();
    in_order(run.iter()) && inside == run.len()
}

/// Returns whether a run is movable: it is a clause, an adverb, or a phrase with the same preposition in both texts. A
/// run can also swap with its neighbours, as in `the lens of a camera` and `a camera lens`.
fn may_move(run: &[Pair], pairs: &[Pair], a: &ParsedText, b: &ParsedText) -> bool {
    let Some(first) = run.first() else {
        return false;
    };
    let (one, other) = (&a.tokens[first.a], &b.tokens[first.b]);
    if one.begins || other.begins || one.surface.ends_with("ly") {
        return true;
    }
    match (&one.lead, &other.lead) {
        (Some(one), Some(other)) => one == other,
        (None, None) => false,
        _ => {
            let passed = pairs.iter().filter(|pair| (pair.a < first.a) != (pair.b < first.b));
            !passed
                .into_iter()
                .any(|pair| pair.a == a.predicate || pair.b == b.predicate)
        }
    }
}

/// Returns whether two words are of the same kind, judged by their endings.
fn alike(a: &Token, b: &Token) -> bool {
    let doing = |token: &Token| token.kind == Kind::Content && token.surface.ends_with("ing");
    doing(a) == doing(b)
}
