//! Two values of one attribute: `the default port is 8000` and `is 9000`.

use super::align::Alignment;
use super::reading::{ParsedText, Token};
use super::rules::exclusive;
use super::tables::WordList;
use super::{Judgement, Relation};

/// Maximum number of words of a value.
const VALUE_WORDS: usize = 3;

/// The texts give one attribute two values.
pub(super) fn value_changed(both: &Alignment<'_>) -> Option<Judgement> {
    let sides = [0, 1].map(|side| both.significant(side).collect::<Vec<(usize, &Token)>>());
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

/// Returns whether a word continues the phrase of the word before it.
fn continues(before: (usize, &Token), next: (usize, &Token)) -> bool {
    next.0 == before.0 + 1 && !next.1.begins && next.1.lead.as_deref().is_none_or(|lead| lead == "of")
}

/// Returns whether two runs of words stand between the same words.
fn same_slot(both: &Alignment<'_>, sides: &[Vec<(usize, &Token)>; 2]) -> bool {
    let ends = |run: &[(usize, &Token)]| (run.first().map_or(0, |one| one.0), run.last().map_or(0, |one| one.0));
    let ((first_a, last_a), (first_b, last_b)) = (ends(&sides[0]), ends(&sides[1]));
    let left = |at: usize, side: usize| neighbour(both, side, (0..at).rev());
    let right = |at: usize, side: usize| neighbour(both, side, at + 1..[both.a, both.b][side].tokens.len());
    left(first_a, 0) == left(first_b, 1) && right(last_a, 0) == right(last_b, 1)
}

/// The first aligned pair in a direction on one side, as its number.
fn neighbour(both: &Alignment<'_>, side: usize, mut way: impl Iterator<Item = usize>) -> Option<usize> {
    way.find_map(|at| {
        both.pairs
            .iter()
            .position(|pair| at == if side == 0 { pair.a } else { pair.b })
    })
}

/// Returns whether the words before a value imply a single value: `is written in`, `the default port is`.
fn gives_a_value(both: &Alignment<'_>, a: usize, b: usize) -> bool {
    let gives = |reading: &ParsedText, at: usize| {
        let before = at.checked_sub(1).filter(|before| *before >= reading.predicate);
        let before = before.map(|before| reading.tokens[before].entry.lists);
        let led = reading.tokens[at].lead.is_some();
        let verb = before.is_some_and(|verb| verb.has(WordList::Functional) && led || verb.has(WordList::Giving));
        let value = at == reading.predicate && !reading.tokens[at].surface.ends_with("ed");
        verb || value && named_by_attribute(reading) || purpose(reading, at)
    };
    gives(both.a, a) && gives(both.b, b)
}

/// Returns whether the subject names an attribute: `the default port of the gateway`.
fn named_by_attribute(reading: &ParsedText) -> bool {
    let subject = &reading.tokens[..reading.predicate];
    let end = subject
        .iter()
        .position(|token| token.lead.is_some())
        .unwrap_or(subject.len());
    subject[..end]
        .last()
        .is_some_and(|head| head.entry.lists.has(WordList::Attributes))
}

/// `We use X for Y`: a tool with its purpose.
fn purpose(reading: &ParsedText, at: usize) -> bool {
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
        .is_some_and(|token| token.entry.lists.has(WordList::Owning))
        && both
            .b
            .tokens
            .get(both.b.predicate)
            .is_some_and(|token| token.entry.lists.has(WordList::Owning))
}
