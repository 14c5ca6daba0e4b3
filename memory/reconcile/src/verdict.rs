//! Verdicts on pairs of claims, by rules, and by a model where rules leave a pair open.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::JudgeSetup;
use super::judge::{Claim, Judgement, Relation};
use super::model::{ModelReport, ModelVerdict, OpenPair};

/// Minimum probability of a relation from which a pair without one is worth a model's decision.
const LIKELY: f32 = 0.2;

/// Two claims, the older first, and the rules' judgement.
pub(super) struct Verdict<'a> {
    older: Claim<'a>,
    newer: Claim<'a>,
    pub(super) judgement: Judgement,
    has_model: bool,
}

impl<'a> Verdict<'a> {
    pub(super) fn of(older: Claim<'a>, newer: Claim<'a>, judging: &JudgeSetup<'_>) -> Self {
        Self::new((older, newer), judging.judge.judge(&older, &newer), judging)
    }

    pub(super) fn new((older, newer): (Claim<'a>, Claim<'a>), judgement: Judgement, judging: &JudgeSetup<'_>) -> Self {
        Self { judgement, has_model: judging.reconciler.is_some(), older, newer }
    }

    /// Returns whether the verdict on the pair can result in a record.
    pub(super) fn matters(&self) -> bool {
        let relation = self.judgement.relation;
        let is_nothing = matches!(relation, Relation::Unrelated | Relation::Refines);
        !is_nothing || self.is_open()
    }

    /// Returns whether the claims may contradict each other.
    pub(super) fn separates(&self) -> bool {
        self.judgement.relation == Relation::Undecided
    }

    /// Returns whether rules leave the pair open.
    fn is_open(&self) -> bool {
        match self.judgement.relation {
            Relation::Undecided => true,
            Relation::Unrelated => self.has_model && self.judgement.related >= LIKELY,
            _ => false,
        }
    }

    /// Sort key for the model, smallest first: undecided pairs, then the most probable relations.
    fn urgency(&self) -> (bool, Reverse<u32>) {
        // The bits of floats from 0 to 1 are in numeric order.
        let related = Reverse(self.judgement.related.to_bits());
        (!self.separates(), related)
    }
}

/// Asks a model about the open pairs, by position, until its token limit is reached.
pub(super) fn settled(
    verdicts: &[Verdict<'_>],
    judging: &JudgeSetup<'_>,
) -> (HashMap<usize, ModelVerdict>, Option<ModelReport>) {
    let Some(reconciler) = judging.reconciler else {
        return Default::default();
    };
    let mut open: Vec<usize> = (0..verdicts.len()).filter(|at| verdicts[*at].is_open()).collect();
    open.sort_by_key(|at| verdicts[*at].urgency());
    let pair = |at: &usize| {
        let Verdict { older, newer, .. } = &verdicts[*at];
        OpenPair { older: *older, newer: *newer, opposes: judging.judge.opposes(older, newer) }
    };
    let pairs: Vec<OpenPair<'_>> = open.iter().map(pair).collect();
    let (decisions, asked) = reconciler.settle(&pairs);
    let by_place = open.into_iter().zip(decisions).filter_map(|(at, decision)| Some((at, decision?)));
    (by_place.collect(), Some(asked))
}

/// The relations of pairs of claims, the older first: by rules, and by a model where rules leave a pair open.
pub fn relations(pairs: &[(Claim<'_>, Claim<'_>)], judging: &JudgeSetup<'_>) -> (Vec<Relation>, Option<ModelReport>) {
    let verdicts = pairs.iter().map(|(older, newer)| Verdict::of(*older, *newer, judging));
    let verdicts: Vec<Verdict<'_>> = verdicts.collect();
    let (settled, asked) = settled(&verdicts, judging);
    let by_rules = verdicts.iter().map(|verdict| verdict.judgement.relation);
    let relations = by_rules.enumerate().map(|(at, by_rules)| match settled.get(&at) {
        // If a model is unsure, it decides nothing.
        Some(decision) if decision.relation != Relation::Undecided || decision.is_vetoed => decision.relation,
        _ => by_rules,
    });
    (relations.collect(), asked)
}
