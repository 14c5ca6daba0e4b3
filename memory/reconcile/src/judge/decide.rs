//! The judgement on two parsed claims: exact rules first, then the fitted probabilities.

use super::align::Alignment;
use super::features::features;
use super::kind::{Kind, Token};
use super::{FittedJudge, Judgement, ParsedText, Relation};

/// The probability of a contradiction from which a pair is worth somebody's look.
pub(super) const UNDECIDED: f32 = 0.4;

/// A claim's whole text and its main clause, without the reason: a changed decision usually has another one.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) whole: &'a ParsedText,
    pub(super) main: &'a ParsedText,
}

/// Judges two claims. The reason quotes the second first if they were exchanged.
pub(super) fn decide(parts: [Parts<'_>; 2], is_exchanged: bool, tools: &FittedJudge) -> Judgement {
    let both = aligned(parts.map(|one| one.whole));
    let says_nothing = |side: &&[Token]| !side.iter().any(|token| token.kind.is_content());
    if both.sides.iter().any(says_nothing) {
        return Judgement::exact(Relation::Unrelated, "One of them says nothing.");
    }
    if is_equal(&both) {
        // Only a closed list of differences is harmless: somebody with judgement can merge the two.
        return Judgement {
            related: 1.0,
            ..Judgement::exact(Relation::Unrelated, "Both have the same words, in another form.")
        };
    }
    if both.headings_differ() || both.ids_differ() {
        return Judgement::exact(Relation::Unrelated, "They name different things.");
    }
    if is_denied(&both) {
        return Judgement::exact(Relation::Undecided, "One denies what the other says.");
    }
    if both.agents_differ() {
        return Judgement {
            is_value: true,
            ..Judgement::exact(
                Relation::Undecided,
                &format!("They say the same, but {}.", difference(&both, is_exchanged)),
            )
        };
    }
    if both.adds() {
        return Judgement { related: 1.0, ..Judgement::exact(Relation::Unrelated, "One says more than the other.") };
    }
    let values: Vec<f32> = named(parts, &both, tools).map(|(_, value)| value).collect();
    let [contradicts, same, _] = tools.forest.probabilities(&values);
    let (relation, reason) = if contradicts >= UNDECIDED {
        (Relation::Undecided, "They have the same subject, but")
    } else {
        (Relation::Unrelated, "They have too little in common:")
    };
    Judgement {
        relation,
        reason: format!("{reason} {}.", difference(&both, is_exchanged)),
        related: contradicts + same,
        certainty: contradicts,
        is_value: both.is_value(),
    }
}

fn aligned<'t>([a, b]: [&'t ParsedText; 2]) -> Alignment<'t> {
    Alignment::new(&a.tokens, &b.tokens)
}

/// The features of the main clauses, and those of the whole texts, by name.
fn named(
    [a, b]: [Parts<'_>; 2],
    both: &Alignment<'_>,
    tools: &FittedJudge,
) -> impl Iterator<Item = (&'static str, f32)> {
    let clauses = aligned([a.main, b.main]);
    let main = features(a.main, b.main, &clauses, &tools.vectors);
    main.into_iter().chain(features(a.whole, b.whole, both, &tools.vectors))
}

/// The features by name, with `main:` or `whole:` before it, and the outcomes of the exact rules as `rule:` values of 0 or 1; for
/// fitting.
pub(super) fn described(parts: [Parts<'_>; 2], tools: &FittedJudge) -> Vec<(String, f32)> {
    let both = aligned(parts.map(|one| one.whole));
    let all: Vec<(&str, f32)> = named(parts, &both, tools).collect();
    let (main, whole) = all.split_at(all.len() / 2);
    let parts = [("main", main), ("whole", whole)];
    let of_parts = parts
        .into_iter()
        .flat_map(|(part, all)| all.iter().map(move |(name, value)| (format!("{part}:{name}"), *value)));
    let rules = [
        ("rule:equal", is_equal(&both)),
        ("rule:apart", both.headings_differ() || both.ids_differ() || both.adds()),
        ("rule:contradicts", is_denied(&both) || both.agents_differ()),
    ];
    let rules = rules.map(|(name, holds)| (name.to_owned(), f32::from(u8::from(holds))));
    of_parts.chain(rules).collect()
}

fn is_equal(both: &Alignment<'_>) -> bool {
    both.gaps.is_empty() && both.sides[0].iter().any(|token| token.kind.is_content())
}

/// Returns whether one side is the other with a negation: the same content words in the same order, and one `not` more.
fn is_denied(both: &Alignment<'_>) -> bool {
    let content = |side: usize| {
        let is_content =
            |token: &&Token| !matches!(token.kind, Kind::Function | Kind::Colon) && !token.is_plain_negation;
        both.sides[side].iter().filter(is_content).map(|token| &*token.normal)
    };
    let [one, other] = both.plain_negations();
    one.abs_diff(other) == 1 && content(0).next().is_some() && content(0).eq(content(1))
}

/// What differs, for a reviewer, as a clause.
fn difference(both: &Alignment<'_>, is_exchanged: bool) -> String {
    let shown = |tokens: &[&Token]| {
        let words = tokens.iter().filter(|token| !matches!(token.kind, Kind::Function | Kind::Colon));
        words.map(|token| &*token.surface).collect::<Vec<_>>().join(" ")
    };
    let [mut a, mut b] = [shown(&both.alone[0]), shown(&both.alone[1])];
    if is_exchanged {
        (a, b) = (b, a);
    }
    match (a.is_empty(), b.is_empty()) {
        (true, true) => "the order of the words differs".to_owned(),
        (false, true) | (true, false) => format!("only one says `{a}{b}`"),
        (false, false) => format!("the first says `{a}` and the second `{b}`"),
    }
}
