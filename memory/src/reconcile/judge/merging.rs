//! Decides whether two texts are similar enough to be merged.

use super::align::{Alignment, Link, Pair, weight};
use super::reading::{Kind, Token};
use super::tables::{Tables, WordList, WordRelation};
use super::{Judgement, Relation, order};

/// Minimum weight of shared words if one text is part of the other, and minimum share of each text.
const LEAST_SHARED: f32 = 2.0;
const LEAST_SHARE: f32 = 0.4;

/// Duplicates, or one text includes the other.
pub(super) fn merged(both: &Alignment<'_>, tables: &Tables) -> Option<Judgement> {
    let link = |link: Link| both.pairs.iter().any(|pair| pair.link == link);
    let extra = [0, 1].map(|side| both.significant(side).next().is_some());
    if link(Link::Exclusive) || extra == [true, true] || both.pairs.is_empty() {
        return None;
    }
    let more = [extra[0] || link(Link::Narrower), extra[1] || link(Link::Broader)];
    if more == [true, true] {
        return None;
    }
    if !substantial(both, more == [false, false]) {
        return None;
    }
    if let Some(why) = guard(both, tables) {
        let close = !extra[0] && !extra[1];
        return Some(Judgement::new(
            if close { Relation::Doubt } else { Relation::Unrelated },
            why,
        ));
    }
    Some(match more {
        [false, false] => Judgement::new(Relation::Same, "the same in other words"),
        [true, _] => Judgement::new(
            Relation::Refines,
            format!("the first says all of the second{}", and_more(both, 0)),
        ),
        _ => Judgement::new(
            Relation::RefinedBy,
            format!("the second says all of the first{}", and_more(both, 1)),
        ),
    })
}

/// Returns whether the texts share enough words to be merged. A short statement ("it works") is part of half of all
/// texts, and a small part of a long text is rarely its topic.
pub(super) fn substantial(both: &Alignment<'_>, all_answered: bool) -> bool {
    let shared = |side: usize, pair: &Pair| match side {
        0 => weight(&both.a.tokens[pair.a]),
        _ => weight(&both.b.tokens[pair.b]),
    };
    let least = [0, 1].map(|side| both.pairs.iter().map(|pair| shared(side, pair)).sum::<f32>());
    let shares = both.covered();
    let enough = if all_answered { 1.0 } else { LEAST_SHARED };
    least.iter().all(|shared| *shared >= enough) && shares.iter().all(|share| *share >= LEAST_SHARE)
}

/// Returns why two texts with the same words must not be merged.
fn guard(both: &Alignment<'_>, tables: &Tables) -> Option<&'static str> {
    if both.a.negations != both.b.negations {
        return Some("one of them negates");
    }
    let negates_here = |there: bool| {
        let mut pairs = both.pairs.iter();
        pairs.any(|pair| {
            let negated = [both.a.tokens[pair.a].negated, both.b.tokens[pair.b].negated];
            negated == [!there, there]
        })
    };
    if negates_here(false) && negates_here(true) {
        return Some("each negates another word");
    }
    if !order::agrees(both) {
        return Some("the same words in another order");
    }
    if both.a.conditional != both.b.conditional && both.pairs.len() < 2 {
        return Some("one of them under a condition");
    }
    for side in [0, 1] {
        let reading = [both.a, both.b][side];
        for at in &both.alone[side] {
            let token = &reading.tokens[*at];
            let shifting = token.entry.lists.has(WordList::Shifting) || token.entry.lists.has(WordList::Conditions);
            if shifting {
                return Some("a word of one of them may change what both say");
            }
            if *at == reading.predicate && token.kind == Kind::Content && !token.surface.ends_with("ly") {
                return Some("the predicate of one is not in the other");
            }
        }
    }
    let clash = |pair: &Pair| {
        let lead = |token: &Token| token.lead.clone();
        match (lead(&both.a.tokens[pair.a]), lead(&both.b.tokens[pair.b])) {
            (Some(a), Some(b)) => tables.relation_of(tables.entry(&a), tables.entry(&b)) == WordRelation::Exclusive,
            (Some(one), None) | (None, Some(one)) => matches!(&*one, "off" | "out" | "without"),
            (None, None) => false,
        }
    };
    both.pairs.iter().any(clash).then_some("opposite prepositions")
}

fn and_more(both: &Alignment<'_>, side: usize) -> String {
    let words: Vec<&str> = both.significant(side).map(|(_, token)| &*token.surface).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(", and `{}`", words.join(" "))
    }
}
