//! Decides on pairs of claims, and derives the records of the decisions.

use std::collections::{BTreeSet, HashMap, HashSet};

use muninn_team::records::{Body, RULES, Record, kinds, ordered};
use serde_json::Number;

use super::JudgeSetup;
use super::claim::RecordClaim;
use super::judge::{Claim, Judgement, Relation, says_it_replaces};
use super::model::{ModelReport, ModelVerdict, Reconciler};
use super::pair_indices::PairIndices;
use super::pairs::open_pairs;
use super::parallel::by_all_processors;
use super::verdict::{self, Verdict};

/// Maximum length of a reason, in bytes.
const LONGEST_REASON: usize = 500;

/// A pair of claims.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    older: &'a RecordClaim<'a>,
    newer: &'a RecordClaim<'a>,
}

/// The pairs of open conflicts that the rules left in doubt. A model can decide them now.
pub(super) fn doubts_by_rules(all: &[&Record], claims: &[RecordClaim<'_>]) -> Vec<PairIndices> {
    let positions: HashMap<&str, usize> = claims.iter().map(RecordClaim::id).zip(0..).collect();
    let by_rules =
        |conflict: &Record| matches!(&conflict.body, Body::Conflict(kinds::Conflict { by, .. }) if by == RULES);
    let open = open_pairs(all).into_iter().filter(by_rules);
    let pair = |conflict: Record| {
        let (left, right) = conflict.sides()?;
        let (left, right) = (*positions.get(left)?, *positions.get(right)?);
        Some((left.min(right), left.max(right)))
    };
    open.filter_map(pair).collect()
}

/// The pairs that are decided already, and are not compared or sent to a model again.
pub(super) fn settled(all: &[Record]) -> HashSet<(String, String)> {
    let pair = |record: &Record| match &record.body {
        Body::Same(kinds::Same { kept, folded, .. }) => Some(ordered(kept, folded)),
        Body::Distinct(kinds::Distinct { left, right, .. }) => Some(ordered(left, right)),
        Body::Conflict(kinds::Conflict { left, right, by, .. }) if by != RULES => Some(ordered(left, right)),
        _ => None,
    };
    all.iter().filter_map(pair).collect()
}

/// The decisions on pairs of claims with the same words: they are the same statement, or have quotes around different spans.
pub(super) fn folds<'a>(
    pairs: impl Iterator<Item = PairIndices> + 'a,
    claims: &'a [RecordClaim<'a>],
) -> impl Iterator<Item = Record> + 'a {
    pairs.map(|(one, other)| {
        let pair = Pair::of(&claims[one], &claims[other]);
        if pair.older.statement.equals(pair.newer.statement) {
            pair.same(RULES, "the same statement")
        } else {
            pair.distinct(RULES, "quotes around different spans")
        }
    })
}

/// Decides pairs by rules, and by a model where rules leave them open. `chained` returns further pairs to check for
/// contradictions after decisions; pairs with `is_settled` are skipped.
pub(super) fn decisions(
    pairs: BTreeSet<PairIndices>,
    claims: &[RecordClaim<'_>],
    judging: &JudgeSetup<'_>,
    chained: &dyn Fn(&[Record]) -> Vec<PairIndices>,
    is_settled: &dyn Fn(&PairIndices) -> bool,
) -> (Vec<Record>, Option<ModelReport>) {
    let judged = |(one, other): PairIndices| {
        let pair = Pair::of(&claims[one], &claims[other]);
        let (older, newer) = pair.claims();
        (pair, Verdict::of(older, newer, judging))
    };
    let looked_at: Vec<PairIndices> = pairs.iter().copied().filter(|places| !is_settled(places)).collect();
    let of_one: Vec<&[PairIndices]> = looked_at.chunk_by(|(one, _), (next, _)| one == next).collect();
    // Most pairs are unrelated, and there can be millions of them, so only related pairs are kept.
    let related = |pairs: &&[PairIndices]| -> Vec<(Pair<'_>, Verdict<'_>)> {
        let one = &claims[pairs[0].0];
        let one_claim = one.claim();
        let judge = judging.judge.judge_with(&one_claim);
        let judged = pairs.iter().map(|(_, other)| {
            let other = &claims[*other];
            let pair = Pair::of(one, other);
            let judgement = judge(&other.claim(), std::ptr::eq(pair.older, other));
            (pair, Verdict::new(pair.claims(), judgement, judging))
        });
        judged.filter(|(_, verdict)| verdict.matters()).collect()
    };
    let mut decided = by_all_processors(&of_one, related);
    let by_rules = decided.iter().filter_map(|(pair, verdict)| pair.by_rules(&verdict.judgement));
    let is_unseen = |places: &PairIndices| !pairs.contains(places) && !is_settled(places);
    let others: BTreeSet<PairIndices> = chained(&by_rules.collect::<Vec<_>>()).into_iter().collect();
    let unseen = others.iter().copied().filter(is_unseen);
    decided.extend(unseen.map(judged).filter(|(_, verdict)| verdict.separates()));
    let (mut records, asked) = records_of_verdicts(decided, judging);
    if asked.is_some() {
        // A model's decision can join claims that the rules would have separated.
        let joined = chained(&records).into_iter();
        let joined = joined.filter(|places| is_unseen(places) && !others.contains(places));
        let parted = joined.map(judged).filter(|(_, verdict)| verdict.separates());
        let parted: Vec<Record> = parted.filter_map(|(pair, verdict)| pair.by_rules(&verdict.judgement)).collect();
        records.extend(parted);
    }
    (records, asked)
}

/// The records of verdicts: by rules, or by a model where rules leave a pair open.
fn records_of_verdicts(
    decided: Vec<(Pair<'_>, Verdict<'_>)>,
    judging: &JudgeSetup<'_>,
) -> (Vec<Record>, Option<ModelReport>) {
    let (pairs, verdicts): (Vec<_>, Vec<_>) = decided.into_iter().unzip();
    let (settled, asked) = verdict::settled(&verdicts, judging);
    let by_model = judging.reconciler.map(Reconciler::by).unwrap_or_default();
    let records = pairs.iter().zip(&verdicts).enumerate();
    let records = records.filter_map(|(at, (pair, verdict))| match settled.get(&at) {
        Some(decision) => pair.by_model(decision, &verdict.judgement, &by_model),
        None => pair.by_rules(&verdict.judgement),
    });
    (records.collect(), asked)
}

impl<'a> Pair<'a> {
    pub(super) fn of(one: &'a RecordClaim<'a>, other: &'a RecordClaim<'a>) -> Self {
        let (older, newer) = if one.is_older(other) { (one, other) } else { (other, one) };
        Self { older, newer }
    }

    /// The older and the newer claim.
    pub(super) fn claims(&self) -> (Claim<'a>, Claim<'a>) {
        (self.older.claim(), self.newer.claim())
    }

    fn ids(&self) -> (&'a str, &'a str) {
        (self.older.id(), self.newer.id())
    }

    pub(super) fn derived(&self, body: Body) -> Record {
        let (older, newer) = self.ids();
        Record::derived(body, &[older, newer], &self.newer.record.ts)
    }

    fn by_rules(&self, judgement: &Judgement) -> Option<Record> {
        let reason = &judgement.reason;
        match judgement.relation {
            Relation::Same => Some(self.same(RULES, reason)),
            Relation::Undecided => {
                let proposal = proposal(self.older, self.newer, judgement.is_value);
                Some(self.conflict(RULES, reason, proposal, Some(judgement.certainty)))
            }
            _ => None,
        }
    }

    /// The record of a model's verdict; `None` if there is nothing to say of a pair that the rules found unrelated. A model never
    /// supersedes a claim: a contradiction found by a model alone is left to people.
    fn by_model(&self, decision: &ModelVerdict, judgement: &Judgement, by: &str) -> Option<Record> {
        let is_undecided = judgement.relation == Relation::Undecided;
        let says_nothing = match decision.relation {
            Relation::Same | Relation::Contradicts => false,
            Relation::Undecided => !decision.is_vetoed,
            Relation::Unrelated | Relation::Refines => true,
        };
        (is_undecided || !says_nothing).then(|| self.by_judge(decision, judgement, by))
    }

    /// The record of a judge's verdict on a pair. If the judge is unsure, the pair stays undecided, with the certainty of the
    /// rules.
    pub(super) fn by_judge(&self, decision: &ModelVerdict, rules: &Judgement, by: &str) -> Record {
        let reason = &decision.reason;
        match decision.relation {
            Relation::Same => self.same(by, reason),
            Relation::Contradicts => self.conflict(by, reason, proposal(self.older, self.newer, rules.is_value), None),
            Relation::Undecided => self.conflict(by, reason, None, Some(rules.certainty)),
            Relation::Unrelated | Relation::Refines => self.distinct(by, reason),
        }
    }

    fn same(&self, by: &str, reason: &str) -> Record {
        let (older, newer) = self.ids();
        self.derived(Body::Same(kinds::Same {
            kept: newer.to_owned(),
            folded: older.to_owned(),
            until: Some(self.newer.record.ts.clone()),
            by: by.to_owned(),
            reason: shortened(reason),
        }))
    }

    fn distinct(&self, by: &str, reason: &str) -> Record {
        let (left, right) = self.ids();
        self.derived(Body::Distinct(kinds::Distinct {
            left: left.to_owned(),
            right: right.to_owned(),
            by: by.to_owned(),
            reason: shortened(reason),
        }))
    }

    fn conflict(&self, by: &str, reason: &str, proposal: Option<&str>, certainty: Option<f32>) -> Record {
        let Self { older, newer } = *self;
        self.derived(Body::Conflict(kinds::Conflict {
            left: older.id().to_owned(),
            left_text: older.shown(),
            right: newer.id().to_owned(),
            right_text: newer.shown(),
            by: by.to_owned(),
            reason: shortened(reason),
            proposal: proposal.map(str::to_owned),
            certainty: certainty.map(rounded).and_then(Number::from_f64),
        }))
    }
}

/// Truncates a reason: it can quote words of any length, and the record must remain a readable line.
fn shortened(reason: &str) -> String {
    if reason.len() > LONGEST_REASON {
        format!("{} [...]", &reason[..reason.floor_char_boundary(LONGEST_REASON)])
    } else {
        reason.to_owned()
    }
}

/// Two digits.
fn rounded(certainty: f32) -> f64 {
    (f64::from(certainty) * 100.0).round() / 100.0
}

/// The evidence that the newer of two claims replaces the older, for a person to accept. `is_value` tells whether they differ in
/// a value.
fn proposal(older: &RecordClaim<'_>, newer: &RecordClaim<'_>, is_value: bool) -> Option<&'static str> {
    if older.record.ts >= newer.record.ts || older.is_pattern() {
        return None;
    }
    let [sources, others] = [older, newer].map(|claim| &claim.record.origin.sources);
    let same_file = sources.iter().any(|source| others.iter().any(|other| other.path == source.path));
    let same_author = older.author.is_some() && older.author == newer.author;
    let same_subject =
        older.subject.zip(newer.subject).is_some_and(|(subject, other)| subject.eq_ignore_ascii_case(other));
    match () {
        () if says_it_replaces(newer.text) => Some("The newer one says that something was replaced."),
        () if same_subject && same_author => Some("The same author wrote about the same subject again."),
        () if is_value && same_file => Some("Both cite the same file, and the value has changed."),
        () if is_value && same_author => Some("Both are from the same author, and the value has changed."),
        () => None,
    }
}
