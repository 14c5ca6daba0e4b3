use std::sync::Arc;

use muninn_team::records::{Statement, refers_to_its_file};
use muninn_text::embed::{LoadError, StaticVectors};

use super::align::Alignment;
use super::candidates::ClaimTokens;
use super::judgement::{FittedJudge, Judgement, ParsedText, Relation};
use super::kind::Token;
use super::trees::Forest;
use super::{decide, features, tokens, words};

#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    pub text: &'a str,
    /// The subject, if given.
    pub subject: Option<&'a str>,
    /// Paths of the cited files.
    pub files: &'a [&'a str],
}

pub struct ParsedClaim<'a> {
    claim: Claim<'a>,
    /// The statement of the text alone.
    statement: Statement,
    parsed: ParsedText,
}

impl FittedJudge {
    /// Loads the vectors and the trees that are compiled in.
    ///
    /// # Errors
    /// [`LoadError`] if they are damaged. A test checks them.
    pub fn shipped() -> Result<Self, LoadError> {
        Ok(Self { vectors: Arc::new(StaticVectors::shipped()?), forest: Forest::shipped()? })
    }

    /// The vectors, to find similar claims by.
    pub fn vectors(&self) -> Arc<StaticVectors> {
        self.vectors.clone()
    }

    /// Parses a claim, once for all its pairs.
    pub fn read<'a>(&self, claim: &Claim<'a>) -> ParsedClaim<'a> {
        ParsedClaim { claim: *claim, statement: Statement::of_text(claim.text), parsed: self.parse(claim.text) }
    }

    /// The tokens of a claim, to compare it with many others.
    pub fn tokens(&self, claim: &Claim<'_>) -> ClaimTokens {
        let (tokens, _) = tokens::tokens(claim.text, &self.vectors);
        ClaimTokens::of(tokens.iter().map(|token| (&*token.normal, token.weight)))
    }

    /// The features of a pair by name, and the outcomes of the exact rules as `rule:` values of 0 or 1; for fitting.
    pub fn features(&self, a: &str, b: &str) -> Vec<(&'static str, f32)> {
        let [a, b] = [a.min(b), a.max(b)].map(|text| self.parse(text));
        let both = Alignment::new(&a.tokens, &b.tokens);
        let mut found = features::features(&a, &b, &both, &self.vectors);
        found.extend(decide::rules(&both).map(|(name, holds)| (name, f32::from(u8::from(holds)))));
        found
    }

    fn parse(&self, text: &str) -> ParsedText {
        let (tokens, is_cut) = tokens::tokens(text, &self.vectors);
        ParsedText {
            is_prose: !tokens::is_foreign(&tokens) && !tokens::is_code(text),
            vector: self.vectors.embed_one(text),
            trigrams: features::trigrams(text),
            tokens,
            is_cut,
        }
    }
}

/// Judges two claims, in some ten microseconds for two sentences. A claim that is judged often should be
/// [parsed](FittedJudge::read) once and passed to [`compare`].
///
/// Deterministic. Exchanging the claims exchanges what the reason quotes, and nothing else.
pub fn judge(a: &Claim<'_>, b: &Claim<'_>, tools: &FittedJudge) -> Judgement {
    compare(&tools.read(a), &tools.read(b), tools)
}

/// Judges two parsed claims; see [`judge`].
pub fn compare(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, tools: &FittedJudge) -> Judgement {
    // The alignment of the exchanged texts can differ, so they are aligned in one order.
    let is_exchanged = a.claim.text > b.claim.text;
    let [first, second] = if is_exchanged { [b, a] } else { [a, b] };
    let is_same_text = a.statement.equals(b.statement);
    let judged = if is_same_text {
        Judgement::exact(Relation::Same, "the same words")
    } else if a.parsed.is_cut || b.parsed.is_cut {
        Judgement::exact(Relation::Unrelated, "too long to be laid side by side")
    } else if !a.parsed.is_prose || !b.parsed.is_prose {
        Judgement::exact(Relation::Unrelated, "not English prose")
    } else {
        decide::decide(&first.parsed, &second.parsed, (is_exchanged, share_file(a, b)), tools)
    };
    match judged.relation {
        Relation::Unrelated | Relation::Doubt => judged,
        relation => match separation_reason(a, b, relation, tools) {
            Some(why) => {
                Judgement { relation: Relation::Doubt, reason: format!("{}; but {why}", judged.reason), ..judged }
            }
            None if relation == Relation::Same && !(is_same_text && says_it_of_the_same(a, b)) => {
                Judgement { relation: Relation::Unrelated, ..judged }
            }
            None => judged,
        },
    }
}

/// Returns whether a text says that it replaces an earlier one: `instead of`, `no longer`, `supersedes`.
pub fn says_it_replaces(text: &str) -> bool {
    words::replaces(text)
}

/// Returns whether the claims differ in negations, or have words or numbers that exclude each other: enough to doubt a
/// duplicate, not enough to prove a contradiction.
pub fn opposes(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>) -> bool {
    // The part of the text that was not read can contradict the other text.
    let is_unread = [a, b].iter().any(|claim| claim.parsed.is_cut || !claim.parsed.is_prose);
    is_unread || Alignment::new(&a.parsed.tokens, &b.parsed.tokens).opposes()
}

/// Returns whether two claims with the same text are about the same: the subject, and the files that the text refers to.
fn says_it_of_the_same(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>) -> bool {
    let [one, other] = [a, b].map(|parsed| {
        let Claim { text, subject, files } = parsed.claim;
        Statement::of_claim(text, subject, files.iter().copied())
    });
    one.equals(other)
}

/// Returns whether both claims cite the same file.
fn share_file(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>) -> bool {
    a.claim.files.iter().any(|file| b.claim.files.contains(file))
}

/// Returns why two claims can be about different things.
fn separation_reason(
    a: &ParsedClaim<'_>,
    b: &ParsedClaim<'_>,
    relation: Relation,
    tools: &FittedJudge,
) -> Option<&'static str> {
    if let (Some(one), Some(other)) = (a.claim.subject, b.claim.subject) {
        let [one, other] = [one, other].map(|subject| tokens::tokens(subject, &tools.vectors).0);
        let is_in_other = |token: &Token| other.iter().any(|other| token.normal == other.normal);
        if !one.iter().any(is_in_other) {
            return Some("their subjects differ");
        }
    }
    let rest_apart = !a.claim.files.is_empty() && !b.claim.files.is_empty() && !share_file(a, b);
    let points = refers_to_its_file(a.claim.text) || refers_to_its_file(b.claim.text);
    (rest_apart && (points || relation == Relation::Contradicts)).then_some("they rest on different files")
}

#[cfg(test)]
mod tests;
