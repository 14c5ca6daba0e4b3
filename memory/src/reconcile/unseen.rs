//! What was never compared with all there is, as the log tells.

use std::collections::BTreeSet;

use super::Segment;
use super::runs::RunLog;
use crate::records::{Body, Record, Segments};

pub(super) struct Unseen<'a> {
    /// Of which something was taken in.
    taken: BTreeSet<&'a str>,
    /// Those of them that not all of the newest runs have seen.
    sessions: BTreeSet<&'a str>,
    /// Digests of records of no such session that were seen.
    others: BTreeSet<&'a str>,
}

impl<'a> Unseen<'a> {
    /// Once these segments are taken in.
    pub(super) fn of(runs: &RunLog<'a>, segments: &[&'a Segment]) -> Self {
        let names = segments
            .iter()
            .filter_map(|segment| Segments::parse_name(&segment.name));
        let taken = runs.sessions().into_iter().chain(names.map(|(session, _)| session));
        Self {
            taken: taken.collect(),
            sessions: runs.unseen_sessions(),
            others: runs.seen_others(),
        }
    }

    pub(super) fn has(&self, record: &Record) -> bool {
        let session = record.origin.session.as_deref();
        session.is_some_and(|session| self.sessions.contains(session)) || self.has_other(record)
    }

    /// Whether it came from no session that was taken in: somebody wrote it into main, or took back what told of its session.
    fn has_other(&self, record: &Record) -> bool {
        let is_said = !record.is_derived() && !matches!(record.body, Body::Decision(_) | Body::Tombstone(_));
        let session = record.origin.session.as_deref();
        let is_of_none = session.is_none_or(|session| !self.taken.contains(session));
        is_said && is_of_none && !self.others.contains(digest(record).as_str())
    }

    /// Digests of these.
    pub(super) fn others(&self, all: &[Record]) -> Vec<String> {
        all.iter().filter(|record| self.has_other(record)).map(digest).collect()
    }
}

/// Sixteen hexadecimal digits; an id may be of any length.
fn digest(record: &Record) -> String {
    blake3::hash(record.id.as_bytes()).to_hex()[..16].to_owned()
}
