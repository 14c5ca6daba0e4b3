//! What a record says.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ulid::Ulid;

use super::kinds::{Body, Conflict};
use super::members::{Members, Unknown};
use super::moment::Moment;
use super::source::Source;
use crate::Clock;

/// One thing that was learned, decided or taken back: a line of a file.
///
/// Written with its members in this order: `id`, `ts`, `type`, those of the type, `session`, `branch`, `commit`,
/// `sources`, `task`, and then those that this version does not know, as they were written.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// By which others refer to it: a ULID, unless somebody else wrote it; empty where the line has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// When it was written, RFC 3339.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub ts: Moment,
    /// What it says.
    #[serde(flatten)]
    pub body: Body,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// Members that are not known, or not of the type that they should be.
    #[serde(flatten)]
    unknown: Unknown,
}

/// Where a record comes from.
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
    /// The files that it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// The task that was worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// What a line says of a record of any type.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    id: String,
    ts: Moment,
    #[serde(rename = "type")]
    kind: String,
}

/// Why a line is no record.
#[derive(Debug, Error)]
pub enum InvalidRecord {
    /// No JSON object: torn, or something else.
    #[error("not a JSON object: {0}")]
    Json(#[from] serde_json::Error),
    /// It has no members.
    #[error("it says nothing")]
    Nothing,
}

impl Record {
    /// A new one, written now.
    #[must_use]
    pub fn new(body: Body, origin: Origin, clock: &Clock) -> Self {
        Self {
            id: clock.id().to_string(),
            ts: Moment::at(clock.now()),
            body,
            origin,
            unknown: Unknown::default(),
        }
    }

    /// A record that follows from others: whoever comes to it, at whatever time, writes the same line. `about` are what it
    /// follows from, in an order that does not matter, and `ts` when the last of these was written. Its id is a ULID of
    /// that time, whose random part is a hash.
    #[must_use]
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
        Self {
            id: id.to_string(),
            ts: ts.clone(),
            body,
            origin: Origin::default(),
            unknown: Unknown::default(),
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`InvalidRecord`] where it is none. A member of the wrong type is no error: it is kept as it is, and counts as
    /// absent.
    pub fn parse(line: &str) -> Result<Self, InvalidRecord> {
        let mut members: Members<'_> = serde_json::from_str(line)?;
        if members.is_empty() {
            return Err(InvalidRecord::Nothing);
        }
        let Head { id, ts, kind } = members.take()?;
        Ok(Self {
            id,
            ts,
            body: Body::take(kind, &mut members)?,
            origin: members.take()?,
            unknown: members.rest(),
        })
    }

    /// The same with an id: one without gets one that follows from its line.
    #[must_use]
    pub(crate) fn identified(self) -> Self {
        if self.id.is_empty() { self.renamed() } else { self }
    }

    /// The same with an id that follows from its line: another one has its own.
    #[must_use]
    pub(crate) fn renamed(mut self) -> Self {
        self.id = Self::derived(Body::Other { kind: String::new() }, &[&self.line()], &self.ts).id;
        self
    }

    /// Whether its id follows from what it is about.
    pub(crate) fn is_derived(&self) -> bool {
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

    /// The line, without the line's end.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The ids of the older and the newer record of a conflict; `None` of any other record.
    pub(crate) fn sides(&self) -> Option<(&str, &str)> {
        match &self.body {
            Body::Conflict(Conflict { left, right, .. }) => Some((left, right)),
            _ => None,
        }
    }

    /// What a member says that is not known: its text, or its texts; nothing where it holds neither.
    pub(crate) fn unknown_texts(&self, name: &str) -> Vec<String> {
        let one = |value: &str| serde_json::from_str(value).ok().map(|text: String| vec![text]);
        let all = |value: &str| serde_json::from_str(value).ok();
        let value = self.unknown.get(name);
        value
            .and_then(|value| one(value).or_else(|| all(value)))
            .unwrap_or_default()
    }
}
