//! The rules, in the order in which they are asked.

use super::align::{Alignment, Link, Pair, weight};
use super::reading::{Kind, Reading, Token};
use super::tables::{Kinship, List, Tables};
use super::{Judgement, Relation, order};

/// The share of a negated text that the other has to say for being what is denied.
const DENIED: f32 = 0.8;
/// The share of each text, its opposites aside, that has to be the same for opposites to be about the same thing.
const SAME_SUBJECT: f32 = 0.66;
/// So many words at least are shared where one text is a part of the other, and this share of each.
const LEAST_SHARED: f32 = 2.0;
const LEAST_SHARE: f32 = 0.4;
/// So many words at most are exchanged for each other where one value is exchanged for another.
const VALUE_WORDS: usize = 3;

/// Judges two readings.
pub(super) fn decide(a: &Reading, b: &Reading, tables: &Tables) -> Judgement {
    let alignment = Alignment::new(a, b, tables);
    denied(&alignment)
        .or_else(|| opposed(&alignment))
        .or_else(|| revalued(&alignment))
        .or_else(|| merged(&alignment, tables))
        .unwrap_or_else(|| Judgement::new(Relation::Unrelated, "too little in common"))
}

/// One denies what the other says.
fn denied(both: &Alignment<'_>) -> Option<Judgement> {
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
        both.telling(side)
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
    let narrower = both.telling(1 - negated).next().is_none() && substantial(both, false);
    narrower.then(|| Judgement::new(Relation::Doubt, "one denies a special case of what the other says"))
}

/// They use words or numbers that exclude each other, in the same place, of the same thing.
fn opposed(both: &Alignment<'_>) -> Option<Judgement> {
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
    let substituted = both.telling(0).next().is_some() && both.telling(1).next().is_some();
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

/// They give one thing two values.
fn revalued(both: &Alignment<'_>) -> Option<Judgement> {
    let sides = [0, 1].map(|side| both.telling(side).collect::<Vec<(usize, &Token)>>());
    if both.a.negations != both.b.negations
        || exclusive(both).next().is_some()
        || both.a.progressive
        || both.b.progressive
    {
        return None;
    }
    let one_run = |run: &[(usize, &Token)]| {
        !run.is_empty() && run.len() <= VALUE_WORDS && run.windows(2).all(|two| continues(two[0], two[1]))
    };
    if !sides.iter().all(|run| one_run(run)) {
        return None;
    }
    let [a, b] = [sides[0][0].0, sides[1][0].0];
    if !same_slot(both, &sides) {
        return None;
    }
    let value = both.a.in_predicate(a) && both.b.in_predicate(b);
    let holds_one = if value { gives_a_value(both, a, b) } else { owned(both) };
    let named = |run: &[(usize, &Token)]| {
        run.iter()
            .map(|(_, token)| &*token.surface)
            .collect::<Vec<_>>()
            .join(" ")
    };
    holds_one.then(|| {
        let reason = format!("same, but `{}` against `{}`", named(&sides[0]), named(&sides[1]));
        Judgement::new(Relation::Contradicts, reason)
    })
}

/// Whether a word belongs to the same phrase as the one before it.
fn continues(before: (usize, &Token), next: (usize, &Token)) -> bool {
    next.0 == before.0 + 1 && !next.1.begins && next.1.lead.as_deref().is_none_or(|lead| lead == "of")
}

/// They say the same, or one says all that the other does.
fn merged(both: &Alignment<'_>, tables: &Tables) -> Option<Judgement> {
    let link = |link: Link| both.pairs.iter().any(|pair| pair.link == link);
    let extra = [0, 1].map(|side| both.telling(side).next().is_some());
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

/// Whether two texts have enough in common for becoming one. What says a single thing ("it works") is part of half of all
/// texts, and what is a small part of a long text is hardly what that is about.
fn substantial(both: &Alignment<'_>, all_answered: bool) -> bool {
    let shared = |side: usize, pair: &Pair| match side {
        0 => weight(&both.a.tokens[pair.a]),
        _ => weight(&both.b.tokens[pair.b]),
    };
    let least = [0, 1].map(|side| both.pairs.iter().map(|pair| shared(side, pair)).sum::<f32>());
    let shares = both.covered();
    let enough = if all_answered { 1.0 } else { LEAST_SHARED };
    least.iter().all(|shared| *shared >= enough) && shares.iter().all(|share| *share >= LEAST_SHARE)
}

/// Why two texts with the same words must not become one.
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
            let shifting = token.entry.lists.has(List::Shifting) || token.entry.lists.has(List::Conditions);
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
            (Some(a), Some(b)) => tables.kinship(tables.entry(&a), tables.entry(&b)) == Kinship::Exclusive,
            (Some(one), None) | (None, Some(one)) => matches!(&*one, "off" | "out" | "without"),
            (None, None) => false,
        }
    };
    both.pairs.iter().any(clash).then_some("opposite prepositions")
}

fn exclusive<'s>(both: &'s Alignment<'_>) -> impl Iterator<Item = &'s Pair> {
    both.pairs.iter().filter(|pair| pair.link == Link::Exclusive)
}

/// Whether both say the same but for what excludes each other.
fn same_besides(both: &Alignment<'_>) -> bool {
    let weigh = |reading: &Reading, at: usize| weight(&reading.tokens[at]);
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

/// Whether two runs of words stand between the same words.
fn same_slot(both: &Alignment<'_>, sides: &[Vec<(usize, &Token)>; 2]) -> bool {
    let ends = |run: &[(usize, &Token)]| (run.first().map_or(0, |one| one.0), run.last().map_or(0, |one| one.0));
    let ((first_a, last_a), (first_b, last_b)) = (ends(&sides[0]), ends(&sides[1]));
    let left = |at: usize, side: usize| neighbour(both, side, (0..at).rev());
    let right = |at: usize, side: usize| neighbour(both, side, at + 1..[both.a, both.b][side].tokens.len());
    left(first_a, 0) == left(first_b, 1) && right(last_a, 0) == right(last_b, 1)
}

/// The first pair on a way through one side, as its number.
fn neighbour(both: &Alignment<'_>, side: usize, mut way: impl Iterator<Item = usize>) -> Option<usize> {
    way.find_map(|at| {
        both.pairs
            .iter()
            .position(|pair| at == if side == 0 { pair.a } else { pair.b })
    })
}

/// Whether the words before a value say that there is only one: `is written in`, `the default port is`.
fn gives_a_value(both: &Alignment<'_>, a: usize, b: usize) -> bool {
    let gives = |reading: &Reading, at: usize| {
        let before = at.checked_sub(1).filter(|before| *before >= reading.predicate);
        let before = before.map(|before| reading.tokens[before].entry.lists);
        let led = reading.tokens[at].lead.is_some();
        let verb = before.is_some_and(|verb| verb.has(List::Functional) && led || verb.has(List::Giving));
        let value = at == reading.predicate && !reading.tokens[at].surface.ends_with("ed");
        verb || value && named_by_attribute(reading) || purpose(reading, at)
    };
    gives(both.a, a) && gives(both.b, b)
}

/// Whether the subject is the name of a value: `the default port of the gateway`.
fn named_by_attribute(reading: &Reading) -> bool {
    let subject = &reading.tokens[..reading.predicate];
    let end = subject
        .iter()
        .position(|token| token.lead.is_some())
        .unwrap_or(subject.len());
    subject[..end]
        .last()
        .is_some_and(|head| head.entry.lists.has(List::Attributes))
}

/// `We use X for Y`: a tool with what it is for.
fn purpose(reading: &Reading, at: usize) -> bool {
    let uses = at
        .checked_sub(1)
        .is_some_and(|at| reading.tokens[at].normal.as_ref() == "use");
    uses && reading.tokens[at..]
        .iter()
        .any(|token| token.lead.as_deref() == Some("for"))
}

fn owned(both: &Alignment<'_>) -> bool {
    both.a
        .tokens
        .get(both.a.predicate)
        .is_some_and(|token| token.entry.lists.has(List::Owning))
        && both
            .b
            .tokens
            .get(both.b.predicate)
            .is_some_and(|token| token.entry.lists.has(List::Owning))
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

fn and_more(both: &Alignment<'_>, side: usize) -> String {
    let words: Vec<&str> = both.telling(side).map(|(_, token)| &*token.surface).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(", and `{}`", words.join(" "))
    }
}
