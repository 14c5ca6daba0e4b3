use std::sync::Arc;

use muninn_base::Progress;
use muninn_text::embed::Embedder;

use super::judge::{self, Claim, ClaimTokens, FittedJudge, Judgement};
use super::model::Reconciler;

/// Judges another claim; the second argument tells whether the other one is the older.
pub type JudgeOther<'c> = Box<dyn Fn(&Claim<'_>, bool) -> Judgement + 'c>;

/// Decides the relation between two claims, with a reason.
pub trait Judge: Sync {
    /// Judges two claims, the older first. Must be deterministic.
    fn judge(&self, older: &Claim<'_>, newer: &Claim<'_>) -> Judgement;

    /// Prepares to judge one claim with many others.
    fn judge_with<'c>(&'c self, one: &'c Claim<'c>) -> JudgeOther<'c> {
        Box::new(|other, is_older| if is_older { self.judge(other, one) } else { self.judge(one, other) })
    }

    /// The tokens of a claim, whose likeness selects which of many pairs are judged. Without an implementation, all claims
    /// are equally alike.
    fn tokens(&self, _: &Claim<'_>) -> ClaimTokens {
        ClaimTokens::default()
    }

    /// Returns whether one claim negates the other, or uses words that exclude the other's.
    fn opposes(&self, one: &Claim<'_>, other: &Claim<'_>) -> bool;
}

/// The tools with which claims are compared.
#[derive(Clone)]
pub struct JudgeSetup<'a> {
    pub judge: &'a dyn Judge,
    /// Finds similar claims by vectors too; `None` for words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Is notified for each new claim whose candidates are found.
    pub progress: &'a dyn Progress,
    /// The model for pairs that rules leave open; `None` without one.
    pub reconciler: Option<&'a Reconciler<'a>>,
}

impl Judge for FittedJudge {
    fn judge(&self, older: &Claim<'_>, newer: &Claim<'_>) -> Judgement {
        judge::judge(older, newer, self)
    }

    fn judge_with<'c>(&'c self, one: &'c Claim<'c>) -> JudgeOther<'c> {
        let one = self.read(one);
        Box::new(move |other, is_older| {
            let other = self.read(other);
            if is_older { judge::compare(&other, &one, self) } else { judge::compare(&one, &other, self) }
        })
    }

    fn tokens(&self, claim: &Claim<'_>) -> ClaimTokens {
        self.tokens(claim)
    }

    fn opposes(&self, one: &Claim<'_>, other: &Claim<'_>) -> bool {
        judge::opposes(&self.read(one), &self.read(other))
    }
}

#[cfg(test)]
mod tests;
