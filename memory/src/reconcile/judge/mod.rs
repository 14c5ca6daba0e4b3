//! What two memories are to each other, by rules alone.
//!
//! Likeness of meaning cannot tell a duplicate from a contradiction: "on" and "off" are as near to each other as words
//! get. So the words of two texts are laid side by side (`align.rs`), and rules ask what is left over: a negation, words
//! or numbers that exclude each other (`lexicon.rs`), another value in the same place, more words on one side. Whether
//! two texts may become one is asked last, and answered with no as soon as anything speaks against it.
//!
//! The rules know English and the shape of names in code. Texts in other languages are the same only where they have the
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

/// What somebody holds to be so.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// In words.
    pub text: &'a str,
    /// What it is about, if that is said apart.
    pub subject: Option<&'a str>,
    /// The paths of the files that it rests on.
    pub files: &'a [&'a str],
}

/// What two claims are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// They say the same.
    Same,
    /// The first says all that the second says, and more.
    Refines,
    /// The second says all that the first says, and more.
    RefinedBy,
    /// They cannot both be so. Which of them is newer is not asked here.
    Contradicts,
    /// They may be the same or contradict each other; somebody should look.
    Doubt,
    /// They have nothing to do with each other, as far as rules can see.
    Unrelated,
}

/// A relation, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What the first is to the second.
    pub relation: Relation,
    /// For a person who reviews it.
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

/// What judging needs and what takes a moment to make: keep it while many pairs are judged.
pub struct Lexicon {
    tables: Tables,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self::new()
    }
}

impl Lexicon {
    /// The lists of words, about a millisecond's work.
    #[must_use]
    pub fn new() -> Self {
        Self { tables: Tables::new() }
    }

    /// Reads a claim, once for all pairs that it is judged in.
    #[must_use]
    pub fn read<'a>(&self, claim: &Claim<'a>) -> ParsedClaim<'a> {
        ParsedClaim {
            claim: *claim,
            reading: ParsedText::new(claim.text, &self.tables),
        }
    }
}

/// A claim that has been read.
pub struct ParsedClaim<'a> {
    claim: Claim<'a>,
    reading: ParsedText,
}

/// Judges two claims. Takes some ten microseconds for two sentences; a claim that is judged often should be
/// [read](Lexicon::read) once, and [`compare`]d.
///
/// The same claims always get the same judgement, and exchanged ones the same relation, with [`Relation::Refines`] and
/// [`Relation::RefinedBy`] exchanged.
#[must_use]
pub fn judge(a: &Claim<'_>, b: &Claim<'_>, tools: &Lexicon) -> Judgement {
    compare(&tools.read(a), &tools.read(b), tools)
}

/// Judges two claims that have been read; see [`judge`].
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
        relation => match apart(a, b, relation, &tools.tables) {
            Some(why) => Judgement::new(Relation::Doubt, format!("{}; but {why}", judged.reason)),
            None => judged,
        },
    }
}

/// How much two claims say of the same, opposites included, from 0 to 1: the share of both texts' words that answer each
/// other, by weight. Exchanging the claims changes nothing.
///
/// Not a judgement, but an order in which candidates deserve one: unlike a search, it sees past inflection, synonyms and
/// negation.
#[must_use]
pub fn likeness(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, tools: &Lexicon) -> f32 {
    let [of_a, of_b] = Alignment::new(&a.reading, &b.reading, &tools.tables).answered();
    (of_a + of_b) / 2.0
}

/// Whether one claim has more negations than the other, or a word or a number that excludes one of the other's: enough to
/// doubt that they are the same, and too little to say that they are not.
#[must_use]
pub fn opposes(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, tools: &Lexicon) -> bool {
    // What was not read may oppose.
    let is_cut = a.reading.is_cut || b.reading.is_cut;
    is_cut || Alignment::new(&a.reading, &b.reading, &tools.tables).opposes()
}

/// The words of a text, without the blanks between them and the stop at its end.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.trim().trim_end_matches('.').split_whitespace()
}

/// What speaks for two claims being about different things, beside what they say.
fn apart(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, relation: Relation, tables: &Tables) -> Option<&'static str> {
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
    let points = points_at_its_file(a.claim.text) || points_at_its_file(b.claim.text);
    (rest_apart && (points || relation == Relation::Contradicts)).then_some("they rest on different files")
}

fn subject_words<'t>(subject: &'t str, tables: &Tables) -> Vec<Cow<'t, str>> {
    let normal =
        |word: crate::index::lexical::Word<'t>| Cow::Owned(tables.normal(&word.text.to_lowercase()).into_string());
    crate::index::lexical::words(subject).map(normal).collect()
}

/// `This module` says something only of the file that it is about.
fn points_at_its_file(text: &str) -> bool {
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
