//! What is decided on pairs of claims, and written down of it.

use std::collections::HashMap;

use super::Judging;
use super::claim::Told;
use super::judge::{Judgement, Relation};
use super::model::{Asked, Open, Reconciler, Settled};
use super::plan::open_conflicts;
use crate::records::{Body, Record, Standing, ordered};

/// By whom a decision is that no model had a part in.
const RULES: &str = "rules";
/// Two claims that have so much in common may well be the same, though rules see no reason why.
const LIKELY: f32 = 0.7;

/// Two claims.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    older: &'a Told<'a>,
    newer: &'a Told<'a>,
}

/// A pair with what rules say of it.
struct Judged<'a> {
    pair: Pair<'a>,
    judgement: Judgement,
    /// How much the two have in common; asked for where a model is there for what rules leave open.
    likeness: f32,
}

impl<'a> Pair<'a> {
    pub(super) fn of(one: &'a Told<'a>, other: &'a Told<'a>) -> Self {
        let (older, newer) = if one.is_older(other) {
            (one, other)
        } else {
            (other, one)
        };
        Self { older, newer }
    }

    /// Whether it was found before that both are so.
    pub(super) fn is_distinct(&self, standing: &Standing) -> bool {
        standing.are_distinct(self.older.id(), self.newer.id())
    }

    fn judged(self, judging: &Judging<'_>) -> Judged<'a> {
        let (older, newer) = (self.older.claim(), self.newer.claim());
        let judge = judging.judge;
        Judged {
            pair: self,
            judgement: judge.judge(&older, &newer),
            likeness: judging.reconciler.map_or(0.0, |_| judge.likeness(&older, &newer)),
        }
    }
}

/// The pairs of open conflicts that rules were in doubt about: a model that is there now may know.
pub(super) fn doubts_by_rules<'a>(all: &[Record], claims: &'a [Told<'a>]) -> Vec<Pair<'a>> {
    let places: HashMap<&str, &Told<'_>> = claims.iter().map(|claim| (claim.id(), claim)).collect();
    let by_rules = |conflict: &Record| matches!(&conflict.body, Body::Conflict { by, .. } if by == RULES);
    let open = open_conflicts(all).into_iter().filter(by_rules);
    let pair = |conflict: Record| {
        let (left, right) = conflict.sides()?;
        Some(Pair::of(places.get(left)?, places.get(right)?))
    };
    open.filter_map(pair).collect()
}

/// The records of what is decided on these pairs: by rules, and by a model on those that rules leave open.
pub(super) fn judged<'a>(pairs: impl Iterator<Item = Pair<'a>>, judging: &Judging<'_>) -> (Vec<Record>, Option<Asked>) {
    let of_interest = |judged: &Judged<'_>| {
        !matches!(
            judged.judgement.relation,
            Relation::Unrelated | Relation::Refines | Relation::RefinedBy
        ) || judged.is_open()
    };
    let judged: Vec<Judged<'_>> = pairs.map(|pair| pair.judged(judging)).filter(of_interest).collect();
    let (settled, asked) = match judging.reconciler {
        Some(reconciler) => settled(&judged, reconciler, judging),
        None => (HashMap::new(), None),
    };
    let by_model = judging.reconciler.map(Reconciler::by).unwrap_or_default();
    let records = judged
        .iter()
        .enumerate()
        .filter_map(|(at, judged)| match settled.get(&at) {
            Some(said) => judged.settled(said, &by_model),
            None => judged.by_rules(),
        });
    (records.collect(), asked)
}

/// What a model says of the pairs that rules leave open, by their places. What rules doubt comes first, and then what is
/// most alike: so far as its tokens go.
fn settled(
    judged: &[Judged<'_>],
    reconciler: &Reconciler<'_>,
    judging: &Judging<'_>,
) -> (HashMap<usize, Settled>, Option<Asked>) {
    let mut open: Vec<usize> = (0..judged.len()).filter(|at| judged[*at].is_open()).collect();
    open.sort_by(|one, other| judged[*one].urgency().cmp(&judged[*other].urgency()));
    open.dedup_by_key(|at| judged[*at].ids());
    let pairs: Vec<Open<'_>> = open
        .iter()
        .map(|at| {
            let Pair { older, newer } = judged[*at].pair;
            let (older, newer) = (older.claim(), newer.claim());
            Open {
                opposes: judging.judge.opposes(&older, &newer),
                older,
                newer,
            }
        })
        .collect();
    let (said, asked) = reconciler.settle(&pairs);
    let by_place = open.into_iter().zip(said).filter_map(|(at, said)| Some((at, said?)));
    (by_place.collect(), Some(asked))
}

impl<'a> Judged<'a> {
    /// Whether rules cannot tell what the two are to each other.
    fn is_open(&self) -> bool {
        match self.judgement.relation {
            Relation::Doubt => true,
            Relation::Unrelated => self.likeness >= LIKELY,
            _ => false,
        }
    }

    fn ids(&self) -> (&'a str, &'a str) {
        (self.pair.older.id(), self.pair.newer.id())
    }

    /// Smaller where it is to be asked sooner.
    fn urgency(&self) -> (bool, u32, (&'a str, &'a str)) {
        let doubt = self.judgement.relation == Relation::Doubt;
        // Of floats from 0 to 1 the bits are in their order.
        (!doubt, u32::MAX - self.likeness.to_bits(), self.ids())
    }

    fn derived(&self, body: Body) -> Record {
        let (older, newer) = self.ids();
        Record::derived(body, &[older, newer], &self.pair.newer.record.ts)
    }

    fn by_rules(&self) -> Option<Record> {
        let Judgement { relation, reason } = &self.judgement;
        let Pair { older, newer } = self.pair;
        match relation {
            Relation::Unrelated | Relation::Refines | Relation::RefinedBy => None,
            Relation::Same => Some(self.same(RULES, reason)),
            Relation::Contradicts if takes_its_place(older, newer) => Some(self.derived(Body::Supersedes {
                older: older.id().to_owned(),
                since: Some(newer.record.ts.clone()),
            })),
            Relation::Contradicts | Relation::Doubt => Some(self.conflict(RULES, reason)),
        }
    }

    /// What a model makes of it. It never takes one for the other's successor: of what contradicts itself only by a
    /// model's word, people decide what holds.
    fn settled(&self, said: &Settled, by: &str) -> Option<Record> {
        let in_doubt = self.judgement.relation == Relation::Doubt;
        let distinct = || {
            let (left, right) = self.ids();
            self.derived(Body::Distinct {
                left: left.to_owned(),
                right: right.to_owned(),
                by: by.to_owned(),
                reason: said.reason.clone(),
            })
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
        self.derived(Body::Same {
            kept,
            folded,
            by: by.to_owned(),
            reason: reason.to_owned(),
        })
    }

    fn conflict(&self, by: &str, reason: &str) -> Record {
        let Pair { older, newer } = self.pair;
        self.derived(Body::Conflict {
            left: older.id().to_owned(),
            left_text: older.text.to_owned(),
            right: newer.id().to_owned(),
            right_text: newer.text.to_owned(),
            by: by.to_owned(),
            reason: reason.to_owned(),
        })
    }
}

/// Whether the newer of two that contradict each other is what the same voice says now of the same subject, or says it of
/// a file that is another by then: no person needs to be asked.
fn takes_its_place(older: &Told<'_>, newer: &Told<'_>) -> bool {
    let is_later = older.record.ts < newer.record.ts;
    let same_subject = older
        .subject
        .is_some_and(|subject| newer.subject.is_some_and(|other| other.eq_ignore_ascii_case(subject)));
    let same_author = older.author.is_some() && older.author == newer.author;
    let sources = |claim: &Told<'_>| claim.record.origin.sources.clone();
    let changed = sources(older).iter().any(|was| {
        let now = sources(newer).into_iter().find(|now| now.path == was.path);
        now.is_some_and(|now| was.blob.is_some() && now.blob.is_some() && now.blob != was.blob)
    });
    is_later && same_subject && (same_author || changed)
}
