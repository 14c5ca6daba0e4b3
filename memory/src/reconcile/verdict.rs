//! What rules say of two claims, and what a model says where they leave that open.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::JudgeSetup;
use super::judge::{Claim, Judgement, Relation};
use super::model::{ModelReport, ModelVerdict, OpenPair};

/// Two claims that have so much in common may well be the same, though rules see no reason why. A third of what they miss
/// is above it, and an eighth of what has nothing to do with each other, of sentences that were made to be alike; of
/// memories that were not, hardly any are.
const LIKELY: f32 = 0.7;

/// Two claims, the older first, and what rules say of them.
pub(super) struct Verdict<'a> {
    older: Claim<'a>,
    newer: Claim<'a>,
    pub(super) judgement: Judgement,
    /// How much the two have in common; 0 where nobody is there to be asked about what is left open.
    likeness: f32,
}

impl<'a> Verdict<'a> {
    pub(super) fn of(older: Claim<'a>, newer: Claim<'a>, judging: &JudgeSetup<'_>) -> Self {
        let judge = judging.judge;
        Self {
            judgement: judge.judge(&older, &newer),
            likeness: judging.reconciler.map_or(0.0, |_| judge.likeness(&older, &newer)),
            older,
            newer,
        }
    }

    /// Whether anything may come of it.
    pub(super) fn matters(&self) -> bool {
        let relation = self.judgement.relation;
        let is_nothing = matches!(relation, Relation::Unrelated | Relation::Refines | Relation::RefinedBy);
        !is_nothing || self.is_open()
    }

    /// Whether the two must not be taken for one, or may not be.
    pub(super) fn parts(&self) -> bool {
        matches!(self.judgement.relation, Relation::Contradicts | Relation::Doubt)
    }

    /// Whether rules cannot tell what the two are to each other.
    fn is_open(&self) -> bool {
        match self.judgement.relation {
            Relation::Doubt => true,
            Relation::Unrelated => self.likeness >= LIKELY,
            _ => false,
        }
    }

    /// Smaller where it is to be asked about sooner: what rules doubt first, and then what is most alike.
    fn urgency(&self) -> (bool, Reverse<u32>) {
        // Of floats from 0 to 1 the bits are in their order.
        let likeness = Reverse(self.likeness.to_bits());
        (self.judgement.relation != Relation::Doubt, likeness)
    }
}

/// What a model says of the pairs that rules leave open, by their places, as far as its tokens go.
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
        OpenPair {
            older: *older,
            newer: *newer,
            opposes: judging.judge.opposes(older, newer),
        }
    };
    let pairs: Vec<OpenPair<'_>> = open.iter().map(pair).collect();
    let (said, asked) = reconciler.settle(&pairs);
    let by_place = open.into_iter().zip(said).filter_map(|(at, said)| Some((at, said?)));
    (by_place.collect(), Some(asked))
}

/// What pairs of claims are to each other, the older one first: as rules have it, and a model where there is one and rules
/// leave it open.
pub fn relations(pairs: &[(Claim<'_>, Claim<'_>)], judging: &JudgeSetup<'_>) -> (Vec<Relation>, Option<ModelReport>) {
    let verdicts = pairs.iter().map(|(older, newer)| Verdict::of(*older, *newer, judging));
    let verdicts: Vec<Verdict<'_>> = verdicts.collect();
    let (settled, asked) = settled(&verdicts, judging);
    let by_rules = verdicts.iter().map(|verdict| verdict.judgement.relation);
    let relations = by_rules.enumerate().map(|(at, by_rules)| match settled.get(&at) {
        // Not to be sure settles nothing.
        Some(said) if said.relation != Relation::Doubt || said.is_vetoed => said.relation,
        _ => by_rules,
    });
    (relations.collect(), asked)
}
