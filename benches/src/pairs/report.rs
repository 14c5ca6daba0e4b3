//! The figures of the pairs benchmark. All shares are from 0 to 1.

use std::collections::BTreeMap;

use muninn_reconcile::ModelReport;
use muninn_reconcile::judge::Relation;
use serde::Serialize;

use super::Label;
use crate::harness::stats::share;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    pub(super) all: Figures,
    pub(super) blocking_recall20: f64,
    pub(super) recall20: f64,
    pub(super) queued_per_1000: f64,
    pub(super) merged_per_1000: f64,
    /// The requests to a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<ModelReport>,
    /// The figures of rules alone, if a model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) without_model: Option<Figures>,
    /// By label and kind, the pairs that are undecided or contradict each other, and all.
    pub(super) asked: BTreeMap<String, [usize; 2]>,
    pub(super) judge_us: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Figures {
    n: usize,
    /// One of the two would go: judged the same, or the one a refinement of the other. A label of entailment says this of
    /// the second sentence alone, so that a refinement of the first counts as wrong if the label is neutral.
    duplicate: Scores,
    same: Scores,
    contradiction: Scores,
    wrong_merge_rate: f64,
    doubt_rate: f64,
}

/// Precision and recall of a decision against a label.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Scores {
    p: f64,
    r: f64,
    f1: f64,
}

impl Figures {
    pub(super) fn of(judged: &[(Label, Relation)]) -> Self {
        let merges = |relation: Relation| matches!(relation, Relation::Same | Relation::Refines);
        let is_contrary = |relation: Relation| matches!(relation, Relation::Contradicts | Relation::Undecided);
        let scores = |decides: &dyn Fn(Relation) -> bool, is: fn(Label) -> bool| {
            Scores::of(judged.iter().map(|(label, relation)| (decides(*relation), is(*label))))
        };
        let contradicts: fn(Label) -> bool = |label| label == Label::Contradiction;
        let contradictions: Vec<Relation> =
            judged.iter().filter(|(label, _)| contradicts(*label)).map(|(_, relation)| *relation).collect();
        let wrong = contradictions.iter().filter(|relation| merges(**relation)).count();
        let doubts = judged.iter().filter(|(_, relation)| *relation == Relation::Undecided).count();
        Self {
            n: judged.len(),
            duplicate: scores(&merges, Label::is_duplicate),
            same: scores(&|relation| relation == Relation::Same, Label::is_duplicate),
            contradiction: scores(&is_contrary, contradicts),
            wrong_merge_rate: share(wrong, contradictions.len()),
            doubt_rate: share(doubts, judged.len()),
        }
    }
}

impl Scores {
    /// The scores of decisions, each with whether it is right to take it.
    pub(super) fn of(decided: impl Iterator<Item = (bool, bool)>) -> Self {
        let (mut taken, mut due, mut both) = (0, 0, 0);
        for (decides, is) in decided {
            taken += usize::from(decides);
            due += usize::from(is);
            both += usize::from(decides && is);
        }
        Self { p: share(both, taken), r: share(both, due), f1: share(2 * both, taken + due) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_count_labels_and_decisions() {
        let figures = Figures::of(&[
            (Label::Duplicate, Relation::Same),
            (Label::Entailment, Relation::Refines),
            (Label::Entailment, Relation::Refines),
            (Label::Neutral, Relation::Same),
            (Label::Contradiction, Relation::Refines),
            (Label::Contradiction, Relation::Contradicts),
            (Label::Neutral, Relation::Undecided),
            (Label::Neutral, Relation::Unrelated),
        ]);
        let scores = |p, r, f1| Scores { p, r, f1 };
        assert_eq!((figures.n, figures.duplicate), (8, scores(0.6, 1.0, 0.75)));
        assert_eq!(figures.same, scores(0.5, 0.3333, 0.4));
        assert_eq!(figures.contradiction, scores(0.5, 0.5, 0.5));
        assert_eq!((figures.wrong_merge_rate, figures.doubt_rate), (0.5, 0.125));
    }
}
