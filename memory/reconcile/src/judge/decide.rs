//! The decision on two parsed texts: exact rules first, then the fitted probabilities.

use super::align::Alignment;
use super::features::features;
use super::kind::{Kind, Token};
use super::{FittedJudge, Judgement, ParsedText, Relation};

/// Thresholds by cost: a wrong merge loses a statement, a needless conflict costs a person a minute.
pub(super) const CONTRADICTS: f32 = 0.53;
pub(super) const SAME: f32 = 0.4;
/// The threshold of a contradiction where both claims cite the same file and differ in one word only.
const SUBSTITUTES: f32 = 0.25;
/// From here on a pair that is not merged because of an objection is worth a person's look.
const DOUBT: f32 = 0.3;

/// Judges two parsed texts. The reason quotes the second first if they were exchanged. `share_file` tells whether both
/// claims cite the same file.
pub(super) fn decide(
    a: &ParsedText,
    b: &ParsedText,
    (is_exchanged, share_file): (bool, bool),
    tools: &FittedJudge,
) -> Judgement {
    let both = Alignment::new(&a.tokens, &b.tokens);
    let says_nothing = |side: &&[Token]| !side.iter().any(|token| token.kind.is_content());
    if both.sides.iter().any(says_nothing) {
        return Judgement::exact(Relation::Unrelated, "one says nothing");
    }
    if is_equal(&both) {
        return Judgement::exact(Relation::Same, "the same words but for their form");
    }
    if both.headings_differ() || both.ids_differ() {
        return Judgement::exact(Relation::Unrelated, "they name different things");
    }
    if is_denied(&both) {
        return Judgement::exact(Relation::Contradicts, "one denies what the other says");
    }
    if both.agents_differ() {
        return Judgement {
            is_value: true,
            ..Judgement::exact(Relation::Contradicts, &format!("same, but {}", difference(&both, is_exchanged)))
        };
    }
    let named = features(a, b, &both, &tools.vectors);
    let values: Vec<f32> = named.into_iter().map(|(_, value)| value).collect();
    let [contradicts, same, _] = tools.forest.probabilities(&values);
    let threshold = if share_file && both.is_substitution() { SUBSTITUTES } else { CONTRADICTS };
    let (relation, reason) = match () {
        () if contradicts >= threshold => (Relation::Contradicts, "same subject, but"),
        () if same < SAME => (Relation::Unrelated, "too little in common:"),
        () if both.opposes() && contradicts >= DOUBT => (Relation::Doubt, "alike, but"),
        () if both.opposes() => (Relation::Unrelated, "alike, but"),
        // A merge would hide what only one says.
        () if both.adds() => (Relation::Unrelated, "one says more:"),
        () if both.names_differ() => (Relation::Unrelated, "the same of different things:"),
        () => (Relation::Same, "alike:"),
    };
    Judgement {
        relation,
        reason: format!("{reason} {}", difference(&both, is_exchanged)),
        related: contradicts + same,
        certainty: contradicts,
        is_value: both.is_value(),
    }
}

/// The outcomes of the rules by name, for fitting.
pub(super) fn rules(both: &Alignment<'_>) -> [(&'static str, bool); 6] {
    [
        ("rule:equal", is_equal(both)),
        ("rule:apart", both.headings_differ() || both.ids_differ()),
        ("rule:contradicts", is_denied(both) || both.agents_differ()),
        ("rule:opposes", both.opposes()),
        ("rule:adds", both.adds()),
        ("rule:names", both.names_differ()),
    ]
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

/// What differs, for a reviewer.
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
        (false, true) | (true, false) => format!("only one has `{a}{b}`"),
        (false, false) => format!("`{a}` against `{b}`"),
    }
}
