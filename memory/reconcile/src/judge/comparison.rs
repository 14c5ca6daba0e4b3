use std::sync::Arc;

use muninn_team::records::{Statement, main_clause};
use muninn_text::embed::{LoadError, StaticVectors};

use super::align::Alignment;
use super::candidates::ClaimTokens;
use super::decide::Parts;
use super::judgement::{FittedJudge, Judgement, ParsedText, Relation};
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

impl<'a> Claim<'a> {
    /// The claim of a text alone.
    pub fn of(text: &'a str) -> Self {
        Self { text, subject: None, files: &[] }
    }
}

pub struct ParsedClaim<'a> {
    claim: Claim<'a>,
    /// The statement of the text alone.
    statement: Statement,
    parsed: ParsedText,
    /// The main clause; `None` if it is all of the text.
    main: Option<ParsedText>,
}

impl ParsedClaim<'_> {
    fn parts(&self) -> Parts<'_> {
        Parts { whole: &self.parsed, main: self.main.as_ref().unwrap_or(&self.parsed) }
    }
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
        let main = main_clause(claim.text);
        ParsedClaim {
            claim: *claim,
            statement: Statement::of_text(claim.text),
            parsed: self.parse(claim.text),
            main: (main != claim.text).then(|| self.parse(main)),
        }
    }

    /// The tokens of a claim, to compare it with many others.
    pub fn tokens(&self, claim: &Claim<'_>) -> ClaimTokens {
        let (tokens, _) = tokens::tokens(claim.text, &self.vectors);
        ClaimTokens::of(tokens.iter().map(|token| (&*token.normal, token.weight)))
    }

    /// The features of a pair by name, and the outcomes of the exact rules as `rule:` values of 0 or 1; for fitting.
    pub fn features(&self, a: &str, b: &str) -> Vec<(String, f32)> {
        let read = |text| self.read(&Claim::of(text));
        let [a, b] = [read(a.min(b)), read(a.max(b))];
        decide::described([a.parts(), b.parts()], self)
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
    let unrelated = |reason| Judgement::exact(Relation::Unrelated, reason);
    if a.statement.equals(b.statement) {
        return if says_it_of_the_same(a, b) {
            Judgement::exact(Relation::Same, "the same words")
        } else {
            unrelated("the same words about different things")
        };
    }
    if a.parsed.is_cut || b.parsed.is_cut {
        return unrelated("too long to be laid side by side");
    }
    if !a.parsed.is_prose || !b.parsed.is_prose {
        return unrelated("not English prose");
    }
    let judged = decide::decide([first.parts(), second.parts()], is_exchanged, tools);
    if judged.relation == Relation::Undecided && subjects_differ(a, b, tools) {
        return unrelated("their subjects differ");
    }
    judged
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

/// Returns whether the claims name subjects that share no word.
fn subjects_differ(a: &ParsedClaim<'_>, b: &ParsedClaim<'_>, tools: &FittedJudge) -> bool {
    a.claim.subject.zip(b.claim.subject).is_some_and(|subjects| {
        let [one, other] = [subjects.0, subjects.1].map(|subject| tokens::tokens(subject, &tools.vectors).0);
        !one.iter().any(|token| other.iter().any(|other| token.normal == other.normal))
    })
}

#[cfg(test)]
mod tests;
