//! The relation of two claims, by rules alone.
//!
//! Vector similarity cannot tell a duplicate from a contradiction: "on" and "off" are very similar. So the words of two
//! texts are aligned (`align.rs`), and rules examine the differences: a negation, words or numbers that exclude each
//! other (`lexicon.rs`), another value in the same place, more words on one side. Merging is the last rule, and any
//! objection prevents it.
//!
//! The rules know English and the shape of names in code. Texts in other languages are duplicates only if they have the
//! same words.

mod align;
mod candidates;
mod lexicon;
mod merging;
mod order;
mod pieces;
mod reading;
mod rules;
mod tables;
#[cfg(test)]
mod tests;
mod value;

use std::borrow::Cow;

use self::align::Alignment;
pub use self::candidates::{WIDE, to_judge};
use self::reading::ParsedText;
use self::tables::Tables;

/// A claim.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The text.
    pub text: &'a str,
    /// The subject, if given.
    pub subject: Option<&'a str>,
    /// Paths of the cited files.
    pub files: &'a [&'a str],
}

/// The relation of two claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Duplicates.
    Same,
    /// The first says all that the second says, and more.
    Refines,
    /// The second says all that the first says, and more.
    RefinedBy,
    /// They contradict each other, whichever is newer.
    Contradicts,
    /// Duplicates or contradictory; a person should decide.
    Doubt,
    /// No relation that the rules find.
    Unrelated,
}

/// A relation with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The relation of the first claim to the second.
    pub relation: Relation,
    /// The reason, for a reviewer.
    pub reason: String,
}

impl Judgement {
    fn new(relation: Relation, reason: impl Into<String>) -> Self {
        Self {
            relation,
            reason: reason.into(),
        }
    }
}

/// The word lists of the rules. Building them takes about a millisecond: reuse them for many pairs.
pub struct Lexicon {
    tables: Tables,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self::new()
    }
}

impl Lexicon {
    /// Builds the word lists.
    #[must_use]
    pub fn new() -> Self {
        Self { tables: Tables::new() }
    }

    /// Parses a claim, once for all its pairs.
    #[must_use]
    pub fn read<'a>(&self, claim: &Claim<'a>) -> ParsedClaim<'a> {
        ParsedClaim {
            claim: *claim,
            reading: ParsedText::new(claim.text, &self.tables),
        }
    }
}

/// A parsed claim.
pub struct ParsedClaim<'a> {
    claim: Claim<'a>,
    reading: ParsedText,
}

/// Judges two claims, in some ten microseconds for two sentences. A claim that is judged often should be
/// [parsed](Lexicon::read) once and passed to [`compare`].
///
/// Deterministic. Exchanging the claims exchanges [`Relation::Refines`] and [`Relation::RefinedBy`] and changes no
/// other relation.
#[must_use]
pub fn judge(a: &Claim<'_>, b: &Claim<'_>, tools: &Lexicon) -> Judgement {
    compare(&tools.read(a), &tools.read(b), tools)
}

/// Judges two parsed claims; see [`judge`].
#[must_use]
pub fn compare(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, tools: &Lexicon) -> Judgement {
    let judged = if words(a.claim.text).eq(words(b.claim.text)) {
        Judgement::new(Relation::Same, "the same words")
    } else if a.reading.is_cut || b.reading.is_cut {
        Judgement::new(Relation::Unrelated, "too long to be laid side by side")
    } else {
        rules::decide(&a.reading, &b.reading, &tools.tables)
    };
    match judged.relation {
        Relation::Unrelated | Relation::Doubt => judged,
        relation => match separation_reason(a, b, relation, &tools.tables) {
            Some(why) => Judgement::new(Relation::Doubt, format!("{}; but {why}", judged.reason)),
            None => judged,
        },
    }
}

/// Similarity of two claims from 0 to 1, opposites included: the weighted share of words that are aligned. Symmetric.
///
/// It orders candidates for judging. Unlike a search, it handles inflection, synonyms and negation.
#[must_use]
pub fn likeness(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, tools: &Lexicon) -> f32 {
    let [of_a, of_b] = Alignment::new(&a.reading, &b.reading, &tools.tables).answered();
    (of_a + of_b) / 2.0
}

/// Returns whether the claims differ in negations, or have words or numbers that exclude each other: enough to doubt a
/// duplicate, not enough to prove a contradiction.
#[must_use]
pub fn opposes(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, tools: &Lexicon) -> bool {
    // The part of the text that was not read can contradict the other text.
    let is_cut = a.reading.is_cut || b.reading.is_cut;
    is_cut || Alignment::new(&a.reading, &b.reading, &tools.tables).opposes()
}

/// The words of a text, without whitespace and the final full stop.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.trim().trim_end_matches('.').split_whitespace()
}

/// Returns why two claims can be about different things.
fn separation_reason(
    a: &ParsedClaim<'_>,
    b: &ParsedClaim<'_>,
    relation: Relation,
    tables: &Tables,
) -> Option<&'static str> {
    if let (Some(one), Some(other)) = (a.claim.subject, b.claim.subject) {
        let shared = subject_words(one, tables)
            .iter()
            .any(|word| subject_words(other, tables).contains(word));
        if !shared {
            return Some("their subjects differ");
        }
    }
    let (files, others) = (a.claim.files, b.claim.files);
    let rest_apart = !files.is_empty() && !others.is_empty() && !files.iter().any(|file| others.contains(file));
    let points = refers_to_its_file(a.claim.text) || refers_to_its_file(b.claim.text);
    (rest_apart && (points || relation == Relation::Contradicts)).then_some("they rest on different files")
}

fn subject_words<'t>(subject: &'t str, tables: &Tables) -> Vec<Cow<'t, str>> {
    let normal =
        |word: crate::index::lexical::Word<'t>| Cow::Owned(tables.normal(&word.text.to_lowercase()).into_string());
    crate::index::lexical::words(subject).map(normal).collect()
}

/// Returns whether a text refers to its file, as `this module` does.
fn refers_to_its_file(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let points = |two: &[&str]| {
        two[0] == "this"
            && matches!(
                two[1],
                "file" | "module" | "function" | "crate" | "test" | "package" | "class"
            )
    };
    words.windows(2).any(points) || words.contains(&"here")
}
