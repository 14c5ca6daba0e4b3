//! The features of a pair of statements: what differs, by kind and place, and how much is alike.
//!
//! All features are symmetric in the two statements. `memory/training/judge/fit.py` fits trees to them.

use std::ops::Range;

use muninn_text::embed::{StaticVectors, dot, normalise};
use muninn_text::fnv::hash32;

use super::ParsedText;
use super::align::{Alignment, heading};
use super::kind::{Kind, Token};

/// Values by name, sorted by name.
pub(super) type Features = Vec<(&'static str, f32)>;

/// Computes the features of a pair.
pub(super) fn features(a: &ParsedText, b: &ParsedText, both: &Alignment<'_>, vectors: &StaticVectors) -> Features {
    let mut found = Features::with_capacity(64);
    overlap(both, &mut found);
    found.push(("trigrams", dice_of(&a.trigrams, &b.trigrams)));
    found.push(("cosine", dot(&a.vector, &b.vector)));
    differences(both, &mut found);
    substitutions(both, &mut found);
    meanings(both, vectors, &mut found);
    order(both, &mut found);
    subjects(both, &mut found);
    polarities(both, &mut found);
    register(both, &mut found);
    found.sort_unstable_by_key(|(name, _)| *name);
    found
}

/// The minimum and the maximum of the two sides.
fn min_max(values: [f32; 2]) -> (f32, f32) {
    (values[0].min(values[1]), values[0].max(values[1]))
}

fn weight<'t>(tokens: impl IntoIterator<Item = &'t Token>) -> f32 {
    tokens.into_iter().map(|token| token.weight).sum()
}

#[expect(clippy::cast_precision_loss, reason = "at most MOST_TOKENS")]
fn float(count: usize) -> f32 {
    count as f32
}

/// 1 if both sides have such a token, else 0.
fn on_both(both: &Alignment<'_>, is_such: impl Fn(&Token) -> bool) -> f32 {
    float(usize::from(both.sides.iter().all(|side| side.iter().any(&is_such))))
}

/// The share of one side's weight that the other has.
fn overlap(both: &Alignment<'_>, found: &mut Features) {
    let total = both.sides.map(weight);
    let alone = [0, 1].map(|side| weight(both.alone[side].iter().copied()));
    let shared = ((total[0] - alone[0]) + (total[1] - alone[1])) / 2.0;
    let (least, most) = min_max(total);
    let share = |of: f32| if of > 0.0 { (shared / of).min(1.0) } else { 0.0 };
    found.push(("dice", share((least + most) / 2.0)));
    found.push(("contained_min", share(most)));
    found.push(("contained_max", share(least)));
    let words = |tokens: &mut dyn Iterator<Item = &Token>| {
        weight(tokens.filter(|token| matches!(token.kind, Kind::Word | Kind::Name | Kind::Negation | Kind::Modality)))
    };
    let of_words = words(&mut both.sides.iter().flat_map(|side| side.iter()));
    let alone_words = words(&mut both.alone.iter().flatten().copied());
    let dice_words = if of_words > 0.0 { 1.0 - alone_words / of_words } else { 0.0 };
    found.push(("dice_words", dice_words));
    let lengths = both.sides.map(<[Token]>::len);
    let sum = float(lengths[0] + lengths[1]);
    found.push(("in_order", 2.0 * float(both.aligned) / sum.max(1.0)));
    let (shorter, longer) = min_max(lengths.map(|length| float(length + 1)));
    found.push(("length_ratio", (longer / shorter).ln()));
    found.push(("shorter", shorter.ln()));
    found.push(("longer", longer.ln()));
}

/// The unaligned tokens by kind.
fn differences(both: &Alignment<'_>, found: &mut Features) {
    const NAMES: [[&str; 2]; 7] = [
        ["number_min", "number_max"],
        ["name_min", "name_max"],
        ["word_min", "word_max"],
        ["negation_min", "negation_max"],
        ["modality_min", "modality_max"],
        ["cue_min", "cue_max"],
        ["operator_min", "operator_max"],
    ];
    for (kind, names) in Kind::TYPED.into_iter().zip(NAMES) {
        let (least, most) = min_max([0, 1].map(|side| float(both.alone_of(side, kind))));
        found.push((names[0], least.min(3.0)));
        found.push((names[1], most.min(6.0)));
    }
    let negations: usize = both.counts(Kind::Negation).iter().sum();
    found.push(("negation_parity", float(negations % 2)));
    found.push(("exclusive", float(both.exclusive().count().min(2))));
    for (kind, shared, jaccard) in
        [(Kind::Number, "number_shared", "number_jaccard"), (Kind::Name, "name_shared", "name_jaccard")]
    {
        let alone = [0, 1].map(|side| both.alone_of(side, kind));
        let common = both.counts(kind)[0] - alone[0];
        let all = common + alone[0] + alone[1];
        found.push((shared, float(common.min(3))));
        found.push((jaccard, if all > 0 { float(common) / float(all) } else { -1.0 }));
    }
}

/// The gaps in which both sides have something, and the place of the first difference.
fn substitutions(both: &Alignment<'_>, found: &mut Features) {
    let has = |tokens: &[Token], kind: Kind| tokens.iter().any(|token| token.kind == kind);
    let in_both = |kind: Kind| both.substitutions().filter(|[a, b]| has(a, kind) && has(b, kind)).count();
    for (kind, name) in
        [(Kind::Number, "number_substituted"), (Kind::Name, "name_substituted"), (Kind::Word, "word_substituted")]
    {
        found.push((name, float(in_both(kind).min(3))));
    }
    let is_short = |[a, b]: &[&[Token]; 2]| a.len() <= 2 && b.len() <= 2;
    let clean = both.substitutions().filter(is_short);
    let clean = clean.filter(|[a, b]| has(a, Kind::Number) && has(b, Kind::Number));
    found.push(("number_alone_substituted", float(clean.count().min(3))));
    let is_proper = |token: &Token| token.is_proper;
    let are_proper = |[a, b]: &[&[Token]; 2]| a.iter().any(is_proper) && b.iter().any(is_proper);
    let proper = both.substitutions().filter(are_proper);
    found.push(("proper_substituted", float(proper.count().min(3))));
    let rarest = |tokens: &[Token]| {
        let words = tokens.iter().filter(|token| token.kind == Kind::Word);
        words.map(|token| token.weight).fold(0.0, f32::max)
    };
    let rare = both.substitutions().map(|[a, b]| rarest(a).min(rarest(b)));
    found.push(("rare_substituted", rare.fold(0.0, f32::max)));
    found.push(("gaps", float(both.gaps.len().min(6))));
    let is_negated = |[a, b]: &[&[Token]; 2]| has(a, Kind::Negation) != has(b, Kind::Negation);
    let negated = both.substitutions().filter(is_negated);
    found.push(("negation_substituted", float(negated.count().min(3))));
    let is_content = |token: &Token| !matches!(token.kind, Kind::Function | Kind::Colon);
    let content = |side: usize, range: &Range<usize>| both.sides[side][range.clone()].iter().any(is_content);
    let mut differing = both.gaps.iter().filter(|[a, b]| content(0, a) || content(1, b));
    let place = |at: usize, side: usize| float(at) / float(both.sides[side].len().max(1));
    let first = differing.next().map_or(1.0, |[a, b]| place(a.start, 0).min(place(b.start, 1)));
    found.push(("first_difference", first));
}

/// How near unaligned words are to each other by their vectors.
fn meanings(both: &Alignment<'_>, vectors: &StaticVectors, found: &mut Features) {
    let compared =
        |token: &&&Token| !matches!(token.kind, Kind::Function | Kind::Colon | Kind::Operator | Kind::Number);
    let compared_of = |side: usize| -> Vec<&Token> { both.alone[side].iter().filter(compared).copied().collect() };
    let words = [0, 1].map(compared_of);
    let of = |token: &&Token| {
        let mut vector = vectors.sum(&token.surface).unwrap_or_default();
        normalise(&mut vector);
        vector
    };
    let vectors_of = [0, 1].map(|side| words[side].iter().map(of).collect::<Vec<Vec<f32>>>());
    let nearest = |side: usize| -> Vec<f32> {
        let other = &vectors_of[1 - side];
        let best = |one: &Vec<f32>| other.iter().map(|other| dot(one, other)).fold(0.0, f32::max);
        vectors_of[side].iter().map(best).collect()
    };
    let near = [nearest(0), nearest(1)];
    let unmatched = [0, 1].map(|side| -> f32 {
        let weighed = words[side].iter().zip(&near[side]);
        weighed.map(|(token, near)| token.weight * (1.0 - near)).sum()
    });
    let (least, most) = min_max(unmatched);
    found.push(("unmatched_min", least));
    found.push(("unmatched_max", most));
    let totals = both.sides.map(weight);
    let (least, most) = min_max([0, 1].map(|side| unmatched[side] / totals[side].max(0.1)));
    found.push(("unmatched_share_min", least));
    found.push(("unmatched_share_max", most));
    let mean = |near: &[f32]| near.iter().sum::<f32>() / float(near.len().max(1));
    found.push(("nearest_max", near[0].iter().copied().fold(0.0, f32::max)));
    found.push(("nearest_mean", (mean(&near[0]) + mean(&near[1])) / 2.0));
    let sum_of = |side: usize| {
        let mut sum: Vec<f32> = Vec::new();
        for vector in &vectors_of[side] {
            sum.resize(sum.len().max(vector.len()), 0.0);
            sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += value);
        }
        normalise(&mut sum);
        sum
    };
    let is_equal = words[0].is_empty() && words[1].is_empty();
    found.push(("rest_cosine", if is_equal { 1.0 } else { dot(&sum_of(0), &sum_of(1)) }));
    let covered = words[0].is_empty() || words[1].is_empty();
    found.push(("covered", float(usize::from(covered))));
}

/// Shared words in another order: `prefer a over b`.
fn order(both: &Alignment<'_>, found: &mut Features) {
    found.push(("inverted", both.inverted()));
    let prefers = |token: &Token| matches!(&*token.surface.to_lowercase(), "over" | "instead" | "rather");
    found.push(("preference", on_both(both, prefers)));
}

/// The weight of shared words of which one statement is for and the other against, and of the other shared words.
fn polarities(both: &Alignment<'_>, found: &mut Features) {
    let polarity = |tokens: &[Token], normal: &str| {
        let mut with = tokens.iter().filter(|token| *token.normal == *normal).map(|token| token.is_against);
        let first = with.next();
        first.filter(|first| with.all(|other| other == *first))
    };
    let (mut opposed, mut agreed) = (0.0, 0.0);
    for token in both.sides[0].iter().filter(|token| token.kind.is_content()) {
        let [one, other] = both.sides.map(|side| polarity(side, &token.normal));
        match (one, other) {
            (Some(one), Some(other)) if one != other => opposed += token.weight,
            (Some(_), Some(_)) => agreed += token.weight,
            _ => {}
        }
    }
    found.push(("opposed", opposed));
    found.push(("opposed_share", opposed / (opposed + agreed).max(0.1)));
}

/// Whether both begin with the same subject.
fn subjects(both: &Alignment<'_>, found: &mut Features) {
    let [(a, a_ends), (b, b_ends)] = both.sides.map(heading);
    let common = a.iter().filter(|word| b.contains(word)).count();
    found.push(("subject_shared", float(common) / float(a.len().min(b.len()).max(1))));
    found.push(("headings", float(usize::from(a_ends) + usize::from(b_ends))));
    found.push(("headings_differ", float(usize::from(both.headings_differ()))));
    found.push(("defaults", on_both(both, |token| &*token.normal == "default")));
}

/// The register: prose about everyday events differs from statements about software in what a difference means.
fn register(both: &Alignment<'_>, found: &mut Features) {
    let count = |kind: Kind| both.counts(kind).iter().sum::<usize>();
    found.push(("names", float(count(Kind::Name).min(6))));
    found.push(("numbers", float(count(Kind::Number).min(6))));
    let progressive =
        |side: &&&[Token]| side.iter().any(|token| token.kind == Kind::Word && token.surface.ends_with("ing"));
    found.push(("progressive", float(both.sides.iter().filter(progressive).count())));
    let indefinite = |side: &&&[Token]| {
        side.first().is_some_and(|first| matches!(&*first.surface.to_lowercase(), "a" | "an" | "there"))
    };
    found.push(("indefinite", float(both.sides.iter().filter(indefinite).count())));
}

/// The share of common items of two sorted lists.
fn dice_of(a: &[u32], b: &[u32]) -> f32 {
    let (mut at_a, mut at_b, mut common) = (0, 0, 0);
    while let (Some(one), Some(other)) = (a.get(at_a), b.get(at_b)) {
        common += usize::from(one == other);
        at_a += usize::from(one <= other);
        at_b += usize::from(other <= one);
    }
    2.0 * float(common) / float((a.len() + b.len()).max(1))
}

/// The hashed trigrams of a text's letters and digits, sorted.
pub(super) fn trigrams(text: &str) -> Vec<u32> {
    let mut letters: Vec<u32> = vec![];
    for c in text.to_lowercase().chars() {
        let c = if c.is_alphanumeric() { c as u32 } else { u32::from(' ') };
        if c != u32::from(' ') || letters.last() != Some(&c) {
            letters.push(c);
        }
    }
    let mut found: Vec<u32> = letters.windows(3).map(|three| hash32(three.iter().copied())).collect();
    found.sort_unstable();
    found
}
