//! Which runs took in which sessions, and which runs knew of which.
//!
//! Two people who reconcile on two branches each leave a run that the other did not know of. Once both are merged, what one
//! took in has never been compared with what the other did; the next run sees that by the two having no successor.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::records::{Body, Record, Segments};

/// What `reconciled.jsonl` says.
#[derive(Default)]
pub(super) struct Runs<'a> {
    after: BTreeMap<&'a str, Vec<&'a str>>,
    /// What each run knew that came from no session.
    others: BTreeMap<&'a str, &'a str>,
    /// Length in bytes and run of each segment.
    segments: BTreeMap<&'a str, (u64, &'a str)>,
}

impl<'a> Runs<'a> {
    pub(super) fn of(log: &'a [Record]) -> Self {
        let mut runs = Self::default();
        for record in log {
            match &record.body {
                Body::Run { after, others } => {
                    runs.after
                        .insert(&record.id, after.iter().map(String::as_str).collect());
                    let others = others.as_deref().map(|others| (record.id.as_str(), others));
                    runs.others.extend(others);
                }
                Body::Reconciled { segment, bytes, run } => {
                    let known = runs.segments.entry(segment).or_insert((*bytes, run));
                    // One that grew was taken in twice.
                    *known = (*known).max((*bytes, run));
                }
                _ => {}
            }
        }
        runs
    }

    /// Whether a segment was taken in as it is.
    pub(super) fn has(&self, segment: &str, bytes: u64) -> bool {
        self.segments.get(segment).is_some_and(|(known, _)| *known >= bytes)
    }

    /// The sessions of which something was taken in.
    pub(super) fn sessions(&self) -> BTreeSet<&'a str> {
        let names = self.segments.keys();
        names
            .filter_map(|segment| Some(Segments::parse_name(segment)?.0))
            .collect()
    }

    /// Whether one of the newest runs knew what main holds that came from no session; its digest is given.
    pub(super) fn know(&self, others: &str) -> bool {
        self.heads().iter().any(|head| self.others.get(head) == Some(&others))
    }

    /// The runs that no other run knew of.
    pub(super) fn heads(&self) -> Vec<&'a str> {
        let known: HashSet<&str> = self.after.values().flatten().copied().collect();
        let heads = self.after.keys().filter(|run| !known.contains(*run));
        heads.copied().collect()
    }

    /// Sessions whose records some run has not seen, where there is more than one head: those that all but one of the
    /// heads do not share.
    pub(super) fn unseen_sessions(&self) -> BTreeSet<&'a str> {
        let heads = self.heads();
        if heads.len() < 2 {
            return BTreeSet::new();
        }
        let known: Vec<BTreeSet<&str>> = heads.iter().map(|head| self.known_to(head)).collect();
        let by_all = |run: &str| known.iter().all(|known| known.contains(run));
        let sessions = self.segments.iter().filter(|(_, (_, run))| !by_all(run));
        sessions
            .filter_map(|(segment, _)| Some(Segments::parse_name(segment)?.0))
            .collect()
    }

    /// A run and all that it knew of.
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
}
