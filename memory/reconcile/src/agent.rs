//! Undecided pairs, and an agent's decisions on them.
//!
//! An agent gets the pairs as a model does: a batch with control pairs, whose answer is read strictly. The batch follows from
//! main alone, so its id tells whether a pair has changed since.

use std::collections::HashMap;

use muninn_team::Store;
use muninn_team::records::{Body, Home, MAIN, RULES, Record, RecordStatus, WithdrawnRecords, kinds};
use serde::Serialize;
use serde_json::Value;

use super::claim::RecordClaim;
use super::decide::Pair;
use super::edit::edit;
use super::error::{ReconcileError, ResolveError};
use super::files::MemoryFiles;
use super::judge::Relation;
use super::model::{AGENT_INSTRUCTIONS, Batch, ModelVerdict, OpenPair, with_veto};
use super::pairs::open_pairs;
use crate::Judge;

/// Undecided pairs for one answer.
#[derive(Debug, Serialize)]
pub struct UndecidedBatch {
    /// Names these pairs with these texts.
    pub id: String,
    pub instructions: &'static str,
    /// The pairs, and control pairs with known answers.
    pub pairs: Vec<Value>,
    /// Number of undecided pairs in main that nobody was asked about. The batch has the most certain ones.
    pub undecided: usize,
}

/// Counts of an agent's decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AgentDecisions {
    pub duplicates: usize,
    pub both: usize,
    /// Pairs of which the newer memory replaces the older one.
    pub replaced: usize,
    pub conflicts: usize,
    /// Pairs of which the agent is unsure. They stay undecided, and no agent is asked again.
    pub unsure: usize,
    /// Ids of the records that were written.
    pub records: Vec<String>,
}

/// The next undecided pairs; `None` if there are none.
///
/// # Errors
/// Where main cannot be read.
pub fn undecided_batch(home: &Home, judge: &dyn Judge) -> Result<Option<UndecidedBatch>, ReconcileError> {
    with_undecided(home, |pairs| {
        let batch = Batch::of(&pairs.open(judge), 0);
        (!batch.is_empty()).then(|| UndecidedBatch {
            id: batch.id(),
            instructions: AGENT_INSTRUCTIONS,
            pairs: batch.lines(),
            undecided: pairs.0.len(),
        })
    })
}

/// Reads the undecided pairs of main.
fn with_undecided<T>(home: &Home, read: impl FnOnce(&Undecided<'_>) -> T) -> Result<T, ReconcileError> {
    let mut main = MemoryFiles::at(home).records(MAIN, &mut Vec::new())?;
    main.sort_by(|one, other| one.id.cmp(&other.id));
    let withdrawn = WithdrawnRecords::of(home)?;
    Ok(read(&Undecided::of(&withdrawn.shown(&main))))
}

/// The estimated cost of a request to a model about all undecided pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndecidedCost {
    pub pairs: usize,
    /// Estimated tokens of prompts and answers.
    pub tokens: u64,
}

/// Estimates what it costs to ask a model about all undecided pairs.
///
/// # Errors
/// Where main cannot be read.
pub fn undecided_cost(home: &Home, judge: &dyn Judge) -> Result<UndecidedCost, ReconcileError> {
    with_undecided(home, |pairs| {
        let open = pairs.open(judge);
        UndecidedCost { pairs: open.len(), tokens: Batch::all_of(&open).map(|batch| batch.tokens()).sum() }
    })
}

/// Records an agent's answer about the batch of this id. `by` names the agent.
///
/// # Errors
/// [`ResolveError`]; then nothing has changed.
pub fn settle(
    store: &Store,
    judge: &dyn Judge,
    (batch, answer): (&str, &str),
    by: &str,
) -> Result<AgentDecisions, ResolveError> {
    edit(store, |main, withdrawn| {
        let (records, decisions) = {
            let shown = withdrawn.shown(main);
            let pairs = Undecided::of(&shown);
            let open = pairs.open(judge);
            let asked = Batch::of(&open, 0);
            if asked.is_empty() || asked.id() != batch.trim() {
                return Err(ResolveError::OtherPairs);
            }
            let verdicts = asked.answered(answer).map_err(|refusal| ResolveError::Answer(refusal.to_string()))?;
            let status = RecordStatus::of(shown.iter().copied());
            let mut decisions = AgentDecisions::default();
            let mut records = Vec::new();
            for (at, verdict) in verdicts {
                let verdict = with_veto(verdict, open[at].opposes);
                let undecided = &pairs.0[at];
                records.push(if verdict.newer_holds {
                    let over = status.decisions_on(undecided.id);
                    let decision = undecided.replaced(&verdict, by, over);
                    Record::new(Body::Decision(decision), store.home().origin()?, store.clock())
                } else {
                    let (older, newer) = undecided.pair().claims();
                    undecided.pair().by_judge(&verdict, &judge.judge(&older, &newer), by)
                });
                decisions.count(&verdict);
            }
            decisions.records = records.iter().map(|record| record.id.clone()).collect();
            (records, decisions)
        };
        main.extend(records);
        Ok(decisions)
    })
}

/// The undecided pairs of main that nobody was asked about, the most certain first.
struct Undecided<'a>(Vec<UndecidedPair<'a>>);

struct UndecidedPair<'a> {
    /// The id of the record that lists the pair.
    id: &'a str,
    older: RecordClaim<'a>,
    newer: RecordClaim<'a>,
    certainty: Option<f64>,
}

impl<'a> Undecided<'a> {
    /// The pairs among main's records, which are sorted by id.
    fn of(main: &[&'a Record]) -> Self {
        let by_id: HashMap<&str, &'a Record> = main.iter().map(|record| (record.id.as_str(), *record)).collect();
        let claim = |id: &str| by_id.get(id).copied().and_then(RecordClaim::of);
        let pair = |listed: Record| {
            let listed = by_id.get(listed.id.as_str()).copied()?;
            let Body::Conflict(conflict) = &listed.body else { return None };
            let [older, newer] = [claim(&conflict.left)?, claim(&conflict.right)?];
            (conflict.by == RULES).then(|| UndecidedPair {
                id: &listed.id,
                older,
                newer,
                certainty: conflict.certainty.as_ref().and_then(serde_json::Number::as_f64),
            })
        };
        let mut pairs: Vec<UndecidedPair<'_>> = open_pairs(main).into_iter().filter_map(pair).collect();
        pairs.sort_by(|one, other| other.certainty.unwrap_or(0.0).total_cmp(&one.certainty.unwrap_or(0.0)));
        Self(pairs)
    }

    fn open(&self, judge: &dyn Judge) -> Vec<OpenPair<'_>> {
        self.0.iter().map(|pair| pair.open(judge)).collect()
    }
}

impl UndecidedPair<'_> {
    fn open(&self, judge: &dyn Judge) -> OpenPair<'_> {
        let (older, newer) = self.pair().claims();
        OpenPair { older, newer, opposes: judge.opposes(&older, &newer) }
    }

    fn pair(&self) -> Pair<'_> {
        Pair::of(&self.older, &self.newer)
    }

    /// The decision that the newer memory holds instead of the older one.
    fn replaced(&self, verdict: &ModelVerdict, by: &str, over: Vec<String>) -> kinds::Decision {
        kinds::Decision {
            conflict: self.id.to_owned(),
            keep: vec![self.newer.id().to_owned()],
            drop: vec![self.older.id().to_owned()],
            note: Some(verdict.reason.clone()),
            author: Some(by.to_owned()),
            over: Some(over),
        }
    }
}

impl AgentDecisions {
    fn count(&mut self, verdict: &ModelVerdict) {
        let counter = match verdict.relation {
            Relation::Same => &mut self.duplicates,
            Relation::Unrelated | Relation::Refines => &mut self.both,
            Relation::Contradicts if verdict.newer_holds => &mut self.replaced,
            Relation::Contradicts => &mut self.conflicts,
            Relation::Undecided => &mut self.unsure,
        };
        *counter += 1;
    }
}
