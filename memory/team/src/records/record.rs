//! A record of memory.

use muninn_base::Clock;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use ulid::Ulid;

use super::kinds::{Body, Conflict};
use super::members::{Members, Unknown};
use super::moment::Moment;
use super::source::Source;

/// A statement that was learned, decided or withdrawn: one line of a file.
///
/// Members are written in this order: `id`, `ts`, `type`, the members of the type, `session`, `branch`, `commit`,
/// `sources`, `reason`, `answers`, `task`, `stated`, then unknown members as they were read.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// The id by which other records refer to this one. A ULID, unless another program wrote the line; empty if the
    /// line has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Time of writing, RFC 3339.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub ts: Moment,
    /// The content.
    #[serde(flatten)]
    pub body: Body,
    /// Session, branch, commit, sources and task.
    #[serde(flatten)]
    pub origin: Origin,
    /// Members that are unknown or have the wrong type.
    #[serde(flatten)]
    unknown: Unknown,
}

/// The origin of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// The session that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The branch that it was written on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit that was checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The files that the record is based on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Why it is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Questions that it answers, in words that it need not contain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// The task that was worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Whether somebody stated it with `remember` or `forget`, and it was not learned from traffic.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stated: bool,
}

/// Members that every record type has.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    id: String,
    ts: Moment,
    #[serde(rename = "type")]
    kind: String,
}

/// Why a line is not a record.
#[derive(Debug, Error)]
pub enum InvalidRecord {
    /// The line is not a JSON object, for instance because it is incomplete.
    #[error("not a JSON object: {0}")]
    Json(#[from] serde_json::Error),
    /// An object without members.
    #[error("it says nothing")]
    Nothing,
}

impl Record {
    /// Creates a record with a new id and the current time.
    pub fn new(body: Body, origin: Origin, clock: &Clock) -> Self {
        Self { id: clock.id().to_string(), ts: Moment::at(clock.now()), body, origin, unknown: Unknown::default() }
    }

    /// Creates a derived record. The same input always yields the same line, on any machine and at any time. `about`
    /// are the ids of the records that it is derived from, in any order, and `ts` is the time of the latest of them.
    /// The id is a ULID of that time whose random part is a hash.
    pub fn derived(body: Body, about: &[&str], ts: &Moment) -> Self {
        let mut about = about.to_vec();
        about.sort_unstable();
        let mut hasher = blake3::Hasher::new_derive_key("muninn derived record 1");
        for part in std::iter::once(&body.kind()).chain(&about) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut random = [0; 16];
        random.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        let millis = ts.timestamp().map_or(0, jiff::Timestamp::as_millisecond);
        let id = Ulid::from_parts(u64::try_from(millis).unwrap_or(0), u128::from_le_bytes(random));
        Self { id: id.to_string(), ts: ts.clone(), body, origin: Origin::default(), unknown: Unknown::default() }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`InvalidRecord`]. A member of the wrong type is no error: its text is kept, and it counts as absent.
    pub fn parse(line: &str) -> Result<Self, InvalidRecord> {
        let mut members: Members<'_> = serde_json::from_str(line)?;
        if members.is_empty() {
            return Err(InvalidRecord::Nothing);
        }
        let Head { id, ts, kind } = members.take()?;
        Ok(Self { id, ts, body: Body::take(kind, &mut members)?, origin: members.take()?, unknown: members.rest() })
    }

    /// The record with an id. A record without one gets an id derived from its line.
    #[must_use]
    pub fn identified(self) -> Self {
        if self.id.is_empty() { self.renamed() } else { self }
    }

    /// The record with an id derived from its line, because another record has its id.
    #[must_use]
    pub fn renamed(mut self) -> Self {
        self.id = Self::derived(Body::Other { kind: String::new() }, &[&self.line()], &self.ts).id;
        self
    }

    /// Returns whether the record is derived from others.
    pub fn is_derived(&self) -> bool {
        matches!(
            self.body,
            Body::Same(_)
                | Body::Distinct(_)
                | Body::Conflict(_)
                | Body::Supersedes(_)
                | Body::Run(_)
                | Body::Compared(_)
                | Body::Reconciled(_)
        )
    }

    /// The record as a line, without a newline.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("all keys are strings")
    }

    /// The ids of the older and the newer side of a conflict; `None` for other records.
    pub fn sides(&self) -> Option<(&str, &str)> {
        match &self.body {
            Body::Conflict(Conflict { left, right, .. }) => Some((left, right)),
            _ => None,
        }
    }

    /// The text, or the list of texts, of an unknown member; empty if it holds neither.
    pub(crate) fn unknown_texts(&self, name: &str) -> Vec<String> {
        let one = |value: &str| serde_json::from_str(value).ok().map(|text: String| vec![text]);
        let all = |value: &str| serde_json::from_str(value).ok();
        let value = self.unknown.get(name);
        value.and_then(|value| one(value).or_else(|| all(value))).unwrap_or_default()
    }
}
