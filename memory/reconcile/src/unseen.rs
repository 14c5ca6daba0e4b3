//! Records that the log does not list as compared with all others.

use std::collections::BTreeSet;

use muninn_team::records::{Body, Record, Segments};

use super::Segment;
use super::runs::RunLog;

pub(super) struct Unseen<'a> {
    /// Sessions with a reconciled segment.
    taken: BTreeSet<&'a str>,
    /// Reconciled sessions that not all heads have seen.
    sessions: BTreeSet<&'a str>,
    /// Digests of seen records from no reconciled session.
    others: BTreeSet<&'a str>,
}

impl<'a> Unseen<'a> {
    /// The unseen records after these segments are reconciled.
    pub(super) fn of(runs: &RunLog<'a>, segments: &[&'a Segment]) -> Self {
        let names = segments.iter().filter_map(|segment| Segments::parse_name(&segment.name));
        let taken = runs.sessions().into_iter().chain(names.map(|(session, _)| session));
        Self { taken: taken.collect(), sessions: runs.unseen_sessions(), others: runs.seen_others() }
    }

    pub(super) fn has(&self, record: &Record) -> bool {
        let session = record.origin.session.as_deref();
        session.is_some_and(|session| self.sessions.contains(session)) || self.has_other(record)
    }

    /// Returns whether a record came from no reconciled session: a person wrote it into main, or reverted the log of
    /// its session.
    fn has_other(&self, record: &Record) -> bool {
        let is_statement = !record.is_derived()
            && !matches!(record.body, Body::Decision(_) | Body::Tombstone(_) | Body::Use(_) | Body::Questions(_));
        let session = record.origin.session.as_deref();
        let is_of_none = session.is_none_or(|session| !self.taken.contains(session));
        is_statement && is_of_none && !self.others.contains(digest(record).as_str())
    }

    /// Digests of records from no reconciled session.
    pub(super) fn others(&self, all: &[Record]) -> Vec<String> {
        all.iter().filter(|record| self.has_other(record)).map(digest).collect()
    }
}

/// A digest of 16 hexadecimal digits, because an id can have any length.
fn digest(record: &Record) -> String {
    blake3::hash(record.id.as_bytes()).to_hex()[..16].to_owned()
}
