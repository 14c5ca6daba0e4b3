//! The figures of the pairs benchmark. All shares are from 0 to 1.

use muninn_reconcile::ModelReport;
use muninn_reconcile::judge::Relation;
use serde::Serialize;

use super::labelled::Label;
use crate::report::rounded;

/// The report, on the last line of stdout.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Over all pairs.
    #[serde(flatten)]
    pub all: Figures,
    /// Of the sentences of pairs that are labelled entailment, duplicate or contradiction: how often the other one is
    /// among the twenty candidates for the one, each direction counted. Candidates are what the product chooses of the
    /// first hundred that recall gives.
    pub blocking_recall20: f64,
    /// The same with the first twenty of recall.
    pub recall20: f64,
    /// Conflicts and doubts that a thousand records bring up of which no two are about the same thing.
    pub queued_per_1000: f64,
    /// Pairs of these that would become one.
    pub merged_per_1000: f64,
    /// The requests to a model; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelReport>,
    /// The figures of rules alone, if a model was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_model: Option<Figures>,
    /// The same figures of parts of the pairs: the halves by a hash of their ids, or what was held back and what not.
    pub parts: Vec<Part>,
    /// The figures of each baseline at its best threshold.
    pub baselines: Baselines,
    /// Microseconds for judging a pair, reading both texts included; the mean.
    pub judge_us: f64,
}

/// Figures of a part.
#[derive(Debug, Clone, Serialize)]
pub struct Part {
    /// Which.
    pub name: &'static str,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Figures over some pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figures {
    /// Pairs.
    pub n: usize,
    /// One of the two would go: judged the same, or the one a refinement of the other. A label of entailment says this of
    /// the second sentence alone, so that a refinement of the first counts as wrong where the label is neutral.
    pub duplicate: Scores,
    /// Pairs of these that were judged the same.
    pub same: Scores,
    /// Both cannot be so.
    pub contradiction: Scores,
    /// Contradictions that would become one, over all contradictions.
    pub wrong_merge_rate: f64,
    /// Pairs that are left to a person, over all.
    pub doubt_rate: f64,
}

/// Precision and recall of a decision against a label.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scores {
    /// Precision.
    pub p: f64,
    /// Recall.
    pub r: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

/// Measures that ask for no rules.
#[derive(Debug, Clone, Serialize)]
pub struct Baselines {
    /// Duplicates by the cosine of static vectors.
    pub duplicate_by_cosine: Threshold,
    /// Duplicates by the share of common terms.
    pub duplicate_by_jaccard: Threshold,
    /// Contradictions by a negation on one side alone and a cosine of 0.6.
    pub contradiction_by_negation: Scores,
}

/// The best that a threshold can do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// The threshold.
    pub at: f64,
    /// Its figures.
    #[serde(flatten)]
    pub scores: Scores,
    /// Contradictions that it would make one, over all contradictions.
    pub wrong_merge_rate: f64,
}

impl Figures {
    /// Of what was judged and what should have been.
    pub fn of<'a>(judged: impl Iterator<Item = &'a (Label, Relation)> + Clone) -> Self {
        let merges: fn(Relation) -> bool =
            |relation| matches!(relation, Relation::Same | Relation::Refines | Relation::RefinedBy);
        let rows = |decides: fn(Relation) -> bool, is: fn(Label) -> bool| {
            Scores::of(judged.clone().map(|(label, relation)| (decides(*relation), is(*label))))
        };
        let contradicts: fn(Label) -> bool = |label| label == Label::Contradiction;
        let contradictions = judged.clone().filter(|(label, _)| contradicts(*label));
        let doubts = judged.clone().filter(|(_, relation)| *relation == Relation::Doubt);
        let n = judged.clone().count();
        Self {
            n,
            duplicate: rows(merges, Label::is_duplicate),
            same: rows(|relation| relation == Relation::Same, Label::is_duplicate),
            contradiction: rows(|relation| relation == Relation::Contradicts, contradicts),
            wrong_merge_rate: share(
                contradictions.clone().filter(|(_, relation)| merges(*relation)).count(),
                contradictions.count(),
            ),
            doubt_rate: share(doubts.count(), n),
        }
    }
}

impl Scores {
    /// Of decisions, each with whether it should have been taken.
    pub fn of(decided: impl Iterator<Item = (bool, bool)>) -> Self {
        let (mut taken, mut due, mut both) = (0, 0, 0);
        for (decides, is) in decided {
            taken += usize::from(decides);
            due += usize::from(is);
            both += usize::from(decides && is);
        }
        Self { p: share(both, taken), r: share(both, due), f1: share(2 * both, taken + due) }
    }
}

impl Threshold {
    /// The threshold, in hundredths, under which values tell duplicates best, by the harmonic mean.
    pub fn best(rows: &[(f32, Label)]) -> Self {
        let at = |hundredths: u8| {
            let at = f64::from(hundredths) / 100.0;
            let reached = |value: f32| f64::from(value) >= at;
            let contradictions = rows.iter().filter(|(_, label)| *label == Label::Contradiction);
            Self {
                at,
                scores: Scores::of(rows.iter().map(|(value, label)| (reached(*value), label.is_duplicate()))),
                wrong_merge_rate: share(
                    contradictions.clone().filter(|(value, _)| reached(*value)).count(),
                    contradictions.count(),
                ),
            }
        };
        (1..100).map(at).fold(at(100), |best, one| if one.scores.f1 > best.scores.f1 { one } else { best })
    }
}

/// A share with four digits; nothing of nothing is 0.
pub fn share(part: usize, whole: usize) -> f64 {
    rounded(part as f64 / whole.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_count_labels_and_decisions() {
        let judged = [
            (Label::Duplicate, Relation::Same),
            (Label::Entailment, Relation::Refines),
            (Label::Entailment, Relation::RefinedBy),
            (Label::Neutral, Relation::Same),
            (Label::Contradiction, Relation::RefinedBy),
            (Label::Contradiction, Relation::Contradicts),
            (Label::Neutral, Relation::Doubt),
            (Label::Neutral, Relation::Unrelated),
        ];
        let figures = Figures::of(judged.iter());
        let scores = |p, r, f1| Scores { p, r, f1 };
        assert_eq!((figures.n, figures.duplicate), (8, scores(0.6, 1.0, 0.75)));
        assert_eq!(figures.same, scores(0.5, 0.3333, 0.4));
        assert_eq!(figures.contradiction, scores(1.0, 0.5, 0.6667));
        assert_eq!((figures.wrong_merge_rate, figures.doubt_rate), (0.5, 0.125));
    }

    #[test]
    fn best_threshold_is_found() {
        let rows =
            [(0.9, Label::Duplicate), (0.8, Label::Duplicate), (0.85, Label::Contradiction), (0.2, Label::Neutral)];
        let best = Threshold::best(&rows);
        assert_eq!((best.scores.r, best.scores.p, best.wrong_merge_rate), (1.0, 0.6667, 1.0));
        assert!(best.at > 0.2 && best.at <= 0.8, "{best:?}");
    }
}
