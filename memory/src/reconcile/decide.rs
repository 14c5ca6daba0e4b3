//! What is decided on pairs of claims, and written down of it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::JudgeSetup;
use super::claim::RecordClaim;
use super::judge::{Judgement, Relation};
use super::model::{ModelReport, ModelVerdict, Reconciler};
use super::parallel::by_all_processors;
use super::plan::open_conflicts;
use super::verdict::{self, Verdict};
use crate::records::{Body, Record, kinds, ordered};

/// By whom a decision is that no model had a part in.
const RULES: &str = "rules";

/// In bytes.
const LONGEST_REASON: usize = 500;

/// Two claims, by their places.
pub(super) type PairIndices = (usize, usize);

/// Two claims.
#[derive(Clone, Copy)]
struct Pair<'a> {
    older: &'a RecordClaim<'a>,
    newer: &'a RecordClaim<'a>,
}

/// The pairs of open conflicts that rules were in doubt about: a model that is there now may know.
pub(super) fn doubts_by_rules(all: &[Record], claims: &[RecordClaim<'_>]) -> Vec<PairIndices> {
    let places: HashMap<&str, usize> = claims.iter().map(RecordClaim::id).zip(0..).collect();
    let by_rules =
        |conflict: &Record| matches!(&conflict.body, Body::Conflict(kinds::Conflict { by, .. }) if by == RULES);
    let open = open_conflicts(all).into_iter().filter(by_rules);
    let pair = |conflict: Record| {
        let (left, right) = conflict.sides()?;
        let (left, right) = (*places.get(left)?, *places.get(right)?);
        Some((left.min(right), left.max(right)))
    };
    open.filter_map(pair).collect()
}

/// The pairs that need not be looked at again, though what was said of them lies there once more: no model is asked twice.
pub(super) fn settled(all: &[Record]) -> HashSet<(String, String)> {
    let pair = |record: &Record| match &record.body {
        Body::Same(kinds::Same { kept, folded, .. }) => Some(ordered(kept, folded)),
        Body::Distinct(kinds::Distinct { left, right, .. }) => Some(ordered(left, right)),
        Body::Conflict(kinds::Conflict { left, right, by, .. }) if by != RULES => Some(ordered(left, right)),
        _ => None,
    };
    all.iter().filter_map(pair).collect()
}

/// The records of what is decided on pairs: by rules, and by a model on those that rules leave open. `chained` are pairs
/// that are to be looked at for contradictions because of what was decided; on what `is_settled` nothing is decided.
pub(super) fn decisions(
    pairs: BTreeSet<PairIndices>,
    claims: &[RecordClaim<'_>],
    judging: &JudgeSetup<'_>,
    chained: &dyn Fn(&[Record]) -> Vec<PairIndices>,
    is_settled: &dyn Fn(&PairIndices) -> bool,
) -> (Vec<Record>, Option<ModelReport>) {
    let judged = |(one, other): PairIndices| {
        let pair = Pair::of(&claims[one], &claims[other]);
        (pair, Verdict::of(pair.older.claim(), pair.newer.claim(), judging))
    };
    let looked_at = pairs.iter().copied().filter(|places| !is_settled(places));
    // Of most pairs there is nothing to say, and there may be millions.
    let of_pair = |places: &PairIndices| Some(judged(*places)).filter(|(_, verdict)| verdict.matters());
    let mut decided = by_all_processors(&looked_at.collect::<Vec<_>>(), of_pair);
    let by_rules = decided
        .iter()
        .filter_map(|(pair, verdict)| pair.by_rules(&verdict.judgement));
    let is_unseen = |places: &PairIndices| !pairs.contains(places) && !is_settled(places);
    let others: BTreeSet<PairIndices> = chained(&by_rules.collect::<Vec<_>>()).into_iter().collect();
    let unseen = others.iter().copied().filter(is_unseen);
    decided.extend(unseen.map(judged).filter(|(_, verdict)| verdict.parts()));
    let (mut records, asked) = settled_by(decided, judging);
    if asked.is_some() {
        // A model's word may join what rules would have held apart, had they seen it.
        let joined = chained(&records).into_iter();
        let joined = joined.filter(|places| is_unseen(places) && !others.contains(places));
        let parted = joined.map(judged).filter(|(_, verdict)| verdict.parts());
        let parted: Vec<Record> = parted
            .filter_map(|(pair, verdict)| pair.by_rules(&verdict.judgement))
            .collect();
        records.extend(parted);
    }
    (records, asked)
}

/// What comes of verdicts, as rules have it, and a model where there is one and they leave it open.
fn settled_by(decided: Vec<(Pair<'_>, Verdict<'_>)>, judging: &JudgeSetup<'_>) -> (Vec<Record>, Option<ModelReport>) {
    let (pairs, verdicts): (Vec<_>, Vec<_>) = decided.into_iter().unzip();
    let (settled, asked) = verdict::settled(&verdicts, judging);
    let by_model = judging.reconciler.map(Reconciler::by).unwrap_or_default();
    let records = pairs.iter().zip(&verdicts).enumerate();
    let records = records.filter_map(|(at, (pair, verdict))| match settled.get(&at) {
        Some(said) => pair.by_model(said, verdict, &by_model),
        None => pair.by_rules(&verdict.judgement),
    });
    (records.collect(), asked)
}

impl<'a> Pair<'a> {
    fn of(one: &'a RecordClaim<'a>, other: &'a RecordClaim<'a>) -> Self {
        let (older, newer) = if one.is_older(other) {
            (one, other)
        } else {
            (other, one)
        };
        Self { older, newer }
    }

    fn ids(&self) -> (&'a str, &'a str) {
        (self.older.id(), self.newer.id())
    }

    fn derived(&self, body: Body) -> Record {
        let (older, newer) = self.ids();
        Record::derived(body, &[older, newer], &self.newer.record.ts)
    }

    fn by_rules(&self, Judgement { relation, reason }: &Judgement) -> Option<Record> {
        let Self { older, newer } = *self;
        match relation {
            Relation::Unrelated | Relation::Refines | Relation::RefinedBy => None,
            Relation::Same => Some(self.same(RULES, reason)),
            Relation::Contradicts if takes_its_place(older, newer) => {
                Some(self.derived(Body::Supersedes(kinds::Supersedes {
                    older: older.id().to_owned(),
                    newer: Some(newer.id().to_owned()),
                    since: Some(newer.record.ts.clone()),
                })))
            }
            Relation::Contradicts | Relation::Doubt => Some(self.conflict(RULES, reason)),
        }
    }

    /// What a model makes of it. It never takes one for the other's successor: of what contradicts itself only by a
    /// model's word, people decide what holds.
    fn by_model(&self, said: &ModelVerdict, verdict: &Verdict<'_>, by: &str) -> Option<Record> {
        let in_doubt = verdict.judgement.relation == Relation::Doubt;
        let distinct = || {
            let (left, right) = self.ids();
            self.derived(Body::Distinct(kinds::Distinct {
                left: left.to_owned(),
                right: right.to_owned(),
                by: by.to_owned(),
                reason: shortened(&said.reason),
            }))
        };
        match said.relation {
            Relation::Same => Some(self.same(by, &said.reason)),
            Relation::Contradicts => Some(self.conflict(by, &said.reason)),
            Relation::Doubt if in_doubt || said.is_vetoed => Some(self.conflict(by, &said.reason)),
            // Rules hold them for unrelated already.
            Relation::Doubt => None,
            Relation::Unrelated | Relation::Refines | Relation::RefinedBy => in_doubt.then(distinct),
        }
    }

    fn same(&self, by: &str, reason: &str) -> Record {
        let (older, newer) = self.ids();
        let (kept, folded) = ordered(older, newer);
        self.derived(Body::Same(kinds::Same {
            kept,
            folded,
            by: by.to_owned(),
            reason: shortened(reason),
        }))
    }

    fn conflict(&self, by: &str, reason: &str) -> Record {
        let Self { older, newer } = *self;
        self.derived(Body::Conflict(kinds::Conflict {
            left: older.id().to_owned(),
            left_text: older.shown(),
            right: newer.id().to_owned(),
            right_text: newer.shown(),
            by: by.to_owned(),
            reason: shortened(reason),
        }))
    }
}

/// A reason may quote words of any length, and its record has to stay a line that can be read.
fn shortened(reason: &str) -> String {
    match reason.len() > LONGEST_REASON {
        true => format!("{} [...]", &reason[..reason.floor_char_boundary(LONGEST_REASON)]),
        false => reason.to_owned(),
    }
}

/// Whether the newer of two that contradict each other is what the same voice says now of the same subject, or says it of
/// a file that is another by then: no person needs to be asked.
fn takes_its_place(older: &RecordClaim<'_>, newer: &RecordClaim<'_>) -> bool {
    let is_later = older.record.ts < newer.record.ts;
    let same_subject = older
        .subject
        .is_some_and(|subject| newer.subject.is_some_and(|other| other.eq_ignore_ascii_case(subject)));
    let same_author = older.author.is_some() && older.author == newer.author;
    let sources = |claim: &RecordClaim<'_>| claim.record.origin.sources.clone();
    let changed = sources(older).iter().any(|was| {
        let now = sources(newer).into_iter().find(|now| now.path == was.path);
        now.is_some_and(|now| was.blob.is_some() && now.blob.is_some() && now.blob != was.blob)
    });
    is_later && same_subject && (same_author || changed)
}
