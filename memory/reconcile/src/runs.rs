//! The log of runs: which run reconciled which segments, and which runs each run knew.
//!
//! Two people who reconcile on two branches each add a run that the other did not know. Once both are merged, their
//! records have never been compared with each other; the next run detects this by two runs without a successor (heads).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use muninn_team::records::{Body, Record, Segments, kinds};

use super::{PlanInput, Segment};

/// Maximum number of records named in one line of the log.
const OTHERS: usize = 1024;

/// The content of `reconciled.jsonl`.
#[derive(Default)]
pub(super) struct RunLog<'a> {
    after: BTreeMap<&'a str, Vec<&'a str>>,
    /// Records from no session, each with a run that compared it.
    others: BTreeSet<(&'a str, &'a str)>,
    /// Length in bytes, and run, of each segment.
    segments: BTreeMap<&'a str, (u64, &'a str)>,
}

impl<'a> RunLog<'a> {
    pub(super) fn of(log: &'a [Record]) -> Self {
        let mut runs = Self::default();
        for record in log {
            match &record.body {
                Body::Run(kinds::Run { after }) => {
                    runs.after.insert(&record.id, after.iter().map(String::as_str).collect());
                }
                Body::Reconciled(kinds::Reconciled { segment, bytes, run }) => {
                    let known = runs.segments.entry(segment).or_insert((*bytes, run));
                    // A segment that grew was reconciled twice.
                    *known = (*known).max((*bytes, run));
                }
                Body::Compared(kinds::Compared { others, run }) => {
                    let others = others.iter().map(|other| (other.as_str(), run.as_str()));
                    runs.others.extend(others);
                }
                _ => {}
            }
        }
        runs
    }

    /// Returns whether a segment was reconciled at this length.
    pub(super) fn has(&self, segment: &str, bytes: u64) -> bool {
        self.segments.get(segment).is_some_and(|(known, _)| *known >= bytes)
    }

    /// Sessions with a reconciled segment.
    pub(super) fn sessions(&self) -> BTreeSet<&'a str> {
        let names = self.segments.keys();
        names.filter_map(|segment| Some(Segments::parse_name(segment)?.0)).collect()
    }

    /// The heads: runs that no other run knew.
    pub(super) fn heads(&self) -> Vec<&'a str> {
        let known: HashSet<&str> = self.after.values().flatten().copied().collect();
        let heads = self.after.keys().filter(|run| !known.contains(*run));
        heads.copied().collect()
    }

    /// Sessions whose records some head has not seen; empty with one head.
    pub(super) fn unseen_sessions(&self) -> BTreeSet<&'a str> {
        let is_shared = self.is_shared();
        let sessions = self.segments.iter().filter(|(_, (_, run))| !is_shared(run));
        sessions.filter_map(|(segment, _)| Some(Segments::parse_name(segment)?.0)).collect()
    }

    /// Records from no session that all heads have seen.
    pub(super) fn seen_others(&self) -> BTreeSet<&'a str> {
        let is_shared = self.is_shared();
        let others = self.others.iter().filter(|(_, run)| is_shared(run));
        others.map(|(id, _)| *id).collect()
    }

    /// Returns whether all heads know a run; always true with one head.
    fn is_shared(&self) -> impl Fn(&str) -> bool {
        let shared = self.shared();
        move |run| shared.as_ref().is_none_or(|shared| shared.contains(run))
    }

    /// The runs that all heads know; `None` with one head.
    fn shared(&self) -> Option<BTreeSet<&'a str>> {
        let heads = self.heads().into_iter().map(|head| self.known_to(head));
        let heads: Vec<BTreeSet<&str>> = heads.collect();
        let (first, others) = heads.split_first().filter(|(_, others)| !others.is_empty())?;
        let is_shared = |run: &&str| others.iter().all(|known| known.contains(run));
        Some(first.iter().copied().filter(is_shared).collect())
    }

    /// A run and all its predecessors.
    fn known_to(&self, run: &'a str) -> BTreeSet<&'a str> {
        let mut known = BTreeSet::new();
        let mut next = vec![run];
        while let Some(run) = next.pop() {
            if known.insert(run) {
                next.extend(self.after.get(run).into_iter().flatten());
            }
        }
        known
    }

    /// The log with a new run, if there was anything to do. `others` are records from no session that the log covers
    /// from now on.
    pub(super) fn logged(&self, before: &PlanInput, taken: &[&Segment], others: &[String]) -> Vec<Record> {
        let heads = self.heads();
        let mut made = Vec::new();
        if !taken.is_empty() || heads.len() > 1 || !others.is_empty() {
            let names: Vec<String> =
                taken.iter().map(|segment| format!("{} {}", segment.name, segment.bytes)).collect();
            let about = names.iter().chain(others).map(String::as_str);
            let about: Vec<&str> = about.chain(heads.iter().copied()).collect();
            let recent = taken.iter().flat_map(|segment| &segment.records).chain(&before.log);
            let latest = recent.map(|record| &record.ts).max();
            let latest = latest.or_else(|| before.main.iter().map(|record| &record.ts).max());
            let latest = latest.cloned().unwrap_or_default();
            let after = heads.iter().map(|head| (*head).to_owned()).collect();
            let run = Record::derived(Body::Run(kinds::Run { after }), &about, &latest);
            for segment in taken {
                let body = Body::Reconciled(kinds::Reconciled {
                    segment: segment.name.clone(),
                    bytes: segment.bytes,
                    run: run.id.clone(),
                });
                let length = segment.bytes.to_string();
                made.push(Record::derived(body, &[&segment.name, &length, &run.id], &latest));
            }
            for others in others.chunks(OTHERS) {
                let about = others.iter().chain([&run.id]).map(String::as_str);
                let about: Vec<&str> = about.collect();
                let (others, run) = (others.to_vec(), run.id.clone());
                made.push(Record::derived(Body::Compared(kinds::Compared { others, run }), &about, &latest));
            }
            made.push(run);
        }
        before.log.iter().cloned().chain(made).collect()
    }
}
