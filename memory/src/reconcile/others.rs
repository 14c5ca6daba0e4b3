//! What main holds that came from no session's file.
//!
//! Somebody wrote it there, or took back with git what told of its session. It is compared with all that there is, and once
//! more when it is not the same any more: each run leaves a digest of it.

use std::collections::BTreeSet;

use super::Segment;
use super::runs::Runs;
use crate::records::{Body, Record, Segments};

pub(super) struct Others<'a> {
    /// Those of which something was taken in.
    sessions: BTreeSet<&'a str>,
    /// Of their ids; `None` where there are none.
    pub(super) digest: Option<String>,
    /// Whether a run has seen just these.
    pub(super) are_known: bool,
}

impl<'a> Others<'a> {
    /// Those of `all`, which is sorted by id, once these segments are taken in.
    pub(super) fn of(all: &[Record], runs: &Runs<'a>, taken: &[&'a Segment]) -> Self {
        let names = taken.iter().filter_map(|segment| Segments::parse_name(&segment.name));
        let sessions = runs.sessions().into_iter().chain(names.map(|(session, _)| session));
        let mut others = Self {
            sessions: sessions.collect(),
            digest: None,
            are_known: true,
        };
        let mut hasher = blake3::Hasher::new();
        for record in all.iter().filter(|record| others.are_with(record)) {
            hasher.update(record.id.as_bytes()).update(b"\n");
        }
        if hasher.count() > 0 {
            let digest = hasher.finalize().to_hex()[..16].to_owned();
            others.are_known = runs.know(&digest);
            others.digest = Some(digest);
        }
        others
    }

    /// Whether a record is one of them.
    pub(super) fn are_with(&self, record: &Record) -> bool {
        let is_said = !record.is_derived() && !matches!(record.body, Body::Decision { .. } | Body::Tombstone { .. });
        let session = record.origin.session.as_deref();
        is_said && session.is_none_or(|session| !self.sessions.contains(session))
    }
}
