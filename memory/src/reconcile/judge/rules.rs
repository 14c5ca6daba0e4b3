//! The rules in their order, and the rules of contradiction.

use super::align::{Alignment, Link, Pair, weight};
use super::merging::{merged, substantial};
use super::reading::{Kind, ParsedText};
use super::tables::Tables;
use super::value::value_changed;
use super::{Judgement, Relation, order};

/// Minimum share of a negated text that the other text covers.
const DENIED: f32 = 0.8;
/// Minimum share of each text, without opposites, that must match for a contradiction.
const SAME_SUBJECT: f32 = 0.66;

/// Judges two parsed texts.
pub(super) fn decide(a: &ParsedText, b: &ParsedText, tables: &Tables) -> Judgement {
    let alignment = Alignment::new(a, b, tables);
    negated_by(&alignment)
        .or_else(|| opposes_in_place(&alignment))
        .or_else(|| value_changed(&alignment))
        .or_else(|| merged(&alignment, tables))
        .unwrap_or_else(|| Judgement::new(Relation::Unrelated, "too little in common"))
}

/// One text negates the other.
fn negated_by(both: &Alignment<'_>) -> Option<Judgement> {
    let (a, b) = (both.a.negations, both.b.negations);
    if a == b {
        return None;
    }
    let odd = a.abs_diff(b) % 2 == 1;
    if !odd && a != 0 && b != 0 {
        return None;
    }
    let negated = usize::from(b > a);
    let opposites: Vec<&Pair> = exclusive(both).collect();
    let covered = both.covered();
    if !opposites.is_empty() {
        let turned = |pair: &&Pair| {
            let number = both.a.tokens[pair.a].kind == Kind::Number;
            both.a.in_predicate(pair.a) && both.b.in_predicate(pair.b) && !number
        };
        let twice = opposites.iter().all(turned) && same_besides(both);
        return twice.then(|| doubt("one negates, and uses an opposite", &opposites, both));
    }
    let subject = |side: usize| {
        both.significant(side)
            .any(|(at, _)| ![both.a, both.b][side].in_predicate(at))
    };
    if covered[negated] >= DENIED && !(subject(0) && subject(1)) {
        let sides = if negated == 0 {
            ["first", "second"]
        } else {
            ["second", "first"]
        };
        let reason = format!("the {} denies what the {} says", sides[0], sides[1]);
        return Some(Judgement::new(Relation::Contradicts, reason));
    }
    let narrower = both.significant(1 - negated).next().is_none() && substantial(both, false);
    narrower.then(|| Judgement::new(Relation::Doubt, "one denies a special case of what the other says"))
}

/// The texts have exclusive words or numbers in the same place.
fn opposes_in_place(both: &Alignment<'_>) -> Option<Judgement> {
    let opposites: Vec<&Pair> = exclusive(both).collect();
    if opposites.is_empty() {
        return None;
    }
    let unrelated = |why: &str| Some(Judgement::new(Relation::Unrelated, why));
    if both.a.negations != both.b.negations {
        return unrelated("opposite words, and one of them negated");
    }
    if both.a.progressive || both.b.progressive {
        return unrelated("two events of which both may have happened");
    }
    let in_predicate = |pair: &&Pair| both.a.in_predicate(pair.a) && both.b.in_predicate(pair.b);
    if !opposites.iter().all(in_predicate) {
        return unrelated("alike, of different things");
    }
    let substituted = both.significant(0).next().is_some() && both.significant(1).next().is_some();
    if substituted || !same_besides(both) || !order::agrees(both) {
        return unrelated("opposite words, of different things");
    }
    let of_quantities = |pair: &&Pair| {
        both.a.tokens[pair.a].kind == Kind::Number || both.a.tokens[pair.a.saturating_sub(1)].kind == Kind::Number
    };
    let words = opposites.iter().filter(|pair| !of_quantities(pair)).count();
    if words > 1 || words == 1 && opposites.len() > 1 {
        return Some(doubt("several opposites at once", &opposites, both));
    }
    let reason = format!("same, but {}", shown(&opposites, both));
    Some(Judgement::new(Relation::Contradicts, reason))
}

pub(super) fn exclusive<'s>(both: &'s Alignment<'_>) -> impl Iterator<Item = &'s Pair> {
    both.pairs.iter().filter(|pair| pair.link == Link::Exclusive)
}

/// Returns whether the texts agree except for exclusive words.
fn same_besides(both: &Alignment<'_>) -> bool {
    let weigh = |reading: &ParsedText, at: usize| weight(&reading.tokens[at]);
    let rest = |side: usize| {
        let reading = [both.a, both.b][side];
        let place = |pair: &Pair| if side == 0 { pair.a } else { pair.b };
        let opposed: f32 = exclusive(both).map(|pair| weigh(reading, place(pair))).sum();
        let total: f32 = (0..reading.tokens.len()).map(|at| weigh(reading, at)).sum();
        let alone: f32 = both.alone[side].iter().map(|at| weigh(reading, *at)).sum();
        let shared = total - opposed - alone;
        shared >= 1.0 && shared >= SAME_SUBJECT * (total - opposed)
    };
    rest(0) && rest(1)
}

fn shown(opposites: &[&Pair], both: &Alignment<'_>) -> String {
    let one = |pair: &&Pair| {
        format!(
            "`{}` against `{}`",
            both.a.tokens[pair.a].surface, both.b.tokens[pair.b].surface
        )
    };
    opposites.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn doubt(why: &str, opposites: &[&Pair], both: &Alignment<'_>) -> Judgement {
    Judgement::new(Relation::Doubt, format!("{why}: {}", shown(opposites, both)))
}
