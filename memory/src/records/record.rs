//! What a record says.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Number;
use serde_json::value::RawValue;
use thiserror::Error;
use ulid::{Generator, Ulid};

use super::members::Members;
use super::source::Source;

/// One thing that was learned, decided or taken back: a line of a file.
///
/// Written with its members in this order: `id`, `ts`, `type`, those of the type, `session`, `branch`, `commit`,
/// `sources`, `task`, and then those that this version does not know, as they were written.
#[derive(Debug, Clone)]
pub struct Record {
    /// By which others refer to it: a ULID, unless somebody else wrote it; empty where the line has none.
    pub id: String,
    /// When it was written, RFC 3339.
    pub ts: String,
    /// What it says.
    pub body: Body,
    /// Where it comes from.
    pub origin: Origin,
    /// Members that are not known, or not of the type that they should be.
    unknown: Vec<(String, Box<RawValue>)>,
}

/// What a record says, by its type. Numbers are kept as they are written.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// For a question, these files mattered.
    ContextHit {
        /// Of the question, so that the same one is known again without its text.
        query_hash: String,
        /// The question itself, where the user wants it kept.
        query: Option<String>,
        /// The question's words that the repository itself contains.
        terms: Vec<String>,
        /// Paths, the most important first.
        files: Vec<String>,
        /// From 0 to 1.
        relevance: Option<Number>,
    },
    /// These belong together.
    Pattern {
        /// What the pattern is.
        pattern: String,
        /// Paths or symbols.
        entities: Vec<String>,
        /// From 0 to 1.
        confidence: Option<Number>,
    },
    /// What a session came to.
    SessionSummary {
        /// Paths.
        files_touched: Vec<String>,
        /// In words, if the user allows words.
        learnings: Vec<String>,
        /// Whose words these are.
        author: Option<String>,
    },
    /// Something that is so.
    Learning {
        /// In words.
        text: String,
        /// What it is about.
        subject: Option<String>,
        /// From 0 to 1.
        confidence: Option<Number>,
        /// Who says so.
        author: Option<String>,
    },
    /// Something that did not work.
    Failure {
        /// What was tried.
        attempt: String,
        /// How often.
        count: Option<u64>,
        /// What came of it.
        outcome: String,
    },
    /// How a conflict was settled.
    Decision {
        /// The conflict.
        conflict: String,
        /// The ids that are kept.
        keep: Vec<String>,
        /// The ids that are not.
        drop: Vec<String>,
        /// Why.
        note: Option<String>,
    },
    /// An older record no longer holds.
    Supersedes {
        /// The older record's id.
        older: String,
        /// From when on, RFC 3339.
        since: Option<String>,
    },
    /// A record that nobody wants to see again.
    Tombstone {
        /// Its id.
        forget: String,
    },
    /// A type that a later version knows, with all its members among the unknown.
    Other {
        /// Its name; empty where the line has none.
        kind: String,
    },
}

/// Where a record comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The session that wrote it.
    pub session: Option<String>,
    /// The branch that it was written on.
    pub branch: Option<String>,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// The files that it rests on.
    pub sources: Vec<Source>,
    /// The task that was worked on.
    pub task: Option<String>,
}

/// An id above all that this process has given, so that records sort as they were learned.
fn next_id() -> String {
    static GENERATOR: Mutex<Generator> = Mutex::new(Generator::new());
    let mut generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    let id = generator.generate().unwrap_or_else(|_| Ulid::generate());
    id.to_string()
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
    pub fn new(body: Body, origin: Origin) -> Self {
        let now = jiff::Timestamp::now();
        let ts = now.round(jiff::Unit::Millisecond).unwrap_or(now).to_string();
        Self {
            id: next_id(),
            ts,
            body,
            origin,
            unknown: Vec::new(),
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`InvalidRecord`] where it is none. A member of the wrong type is no error: it is kept as it is, and counts as
    /// absent.
    pub fn parse(line: &str) -> Result<Self, InvalidRecord> {
        let mut members: Members = serde_json::from_str(line)?;
        if members.is_empty() {
            return Err(InvalidRecord::Nothing);
        }
        let id = members.take("id").unwrap_or_default();
        let ts = members.take("ts").unwrap_or_default();
        let kind = members.take("type").unwrap_or_default();
        let body = Body::take(kind, &mut members);
        let origin = Origin {
            session: members.take("session"),
            branch: members.take("branch"),
            commit: members.take("commit"),
            sources: members.take("sources").unwrap_or_default(),
            task: members.take("task"),
        };
        Ok(Self {
            id,
            ts,
            body,
            origin,
            unknown: members.rest(),
        })
    }

    /// The line, without the line's end.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What a member says that is not known: its text, or its texts; nothing where it holds neither.
    pub(super) fn unknown_texts(&self, name: &str) -> Vec<String> {
        let value = self
            .unknown
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.get());
        let one = |value: &str| serde_json::from_str(value).ok().map(|text: String| vec![text]);
        let all = |value: &str| serde_json::from_str(value).ok();
        value
            .and_then(|value| one(value).or_else(|| all(value)))
            .unwrap_or_default()
    }
}

impl Body {
    /// What its type is called.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::ContextHit { .. } => "context_hit",
            Self::Pattern { .. } => "pattern",
            Self::SessionSummary { .. } => "session_summary",
            Self::Learning { .. } => "learning",
            Self::Failure { .. } => "failure",
            Self::Decision { .. } => "decision",
            Self::Supersedes { .. } => "supersedes",
            Self::Tombstone { .. } => "tombstone",
            Self::Other { kind } => kind,
        }
    }

    fn take(kind: String, members: &mut Members) -> Self {
        let text = |members: &mut Members, name: &str| members.take::<String>(name).unwrap_or_default();
        let list = |members: &mut Members, name: &str| members.take::<Vec<String>>(name).unwrap_or_default();
        match kind.as_str() {
            "context_hit" => Self::ContextHit {
                query_hash: text(members, "query_hash"),
                query: members.take("query"),
                terms: list(members, "terms"),
                files: list(members, "files"),
                relevance: members.take("relevance"),
            },
            "pattern" => Self::Pattern {
                pattern: text(members, "pattern"),
                entities: list(members, "entities"),
                confidence: members.take("confidence"),
            },
            "session_summary" => Self::SessionSummary {
                files_touched: list(members, "files_touched"),
                learnings: list(members, "learnings"),
                author: members.take("author"),
            },
            "learning" => Self::Learning {
                text: text(members, "text"),
                subject: members.take("subject"),
                confidence: members.take("confidence"),
                author: members.take("author"),
            },
            "failure" => Self::Failure {
                attempt: text(members, "attempt"),
                count: members.take("count"),
                outcome: text(members, "outcome"),
            },
            "decision" => Self::Decision {
                conflict: text(members, "conflict"),
                keep: list(members, "keep"),
                drop: list(members, "drop"),
                note: members.take("note"),
            },
            "supersedes" => Self::Supersedes {
                older: text(members, "older"),
                since: members.take("since"),
            },
            "tombstone" => Self::Tombstone {
                forget: text(members, "forget"),
            },
            _ => Self::Other { kind },
        }
    }

    fn write<M: SerializeMap>(&self, map: &mut Map<M>) -> Result<(), M::Error> {
        match self {
            Self::ContextHit {
                query_hash,
                query,
                terms,
                files,
                relevance,
            } => {
                map.text("query_hash", query_hash)?;
                map.some("query", query)?;
                map.list("terms", terms)?;
                map.list("files", files)?;
                map.some("relevance", relevance)
            }
            Self::Pattern {
                pattern,
                entities,
                confidence,
            } => {
                map.text("pattern", pattern)?;
                map.list("entities", entities)?;
                map.some("confidence", confidence)
            }
            Self::SessionSummary {
                files_touched,
                learnings,
                author,
            } => {
                map.list("files_touched", files_touched)?;
                map.list("learnings", learnings)?;
                map.some("author", author)
            }
            Self::Learning {
                text,
                subject,
                confidence,
                author,
            } => {
                map.text("text", text)?;
                map.some("subject", subject)?;
                map.some("confidence", confidence)?;
                map.some("author", author)
            }
            Self::Failure {
                attempt,
                count,
                outcome,
            } => {
                map.text("attempt", attempt)?;
                map.some("count", count)?;
                map.text("outcome", outcome)
            }
            Self::Decision {
                conflict,
                keep,
                drop,
                note,
            } => {
                map.text("conflict", conflict)?;
                map.list("keep", keep)?;
                map.list("drop", drop)?;
                map.some("note", note)
            }
            Self::Supersedes { older, since } => {
                map.text("older", older)?;
                map.some("since", since)
            }
            Self::Tombstone { forget } => map.text("forget", forget),
            Self::Other { .. } => Ok(()),
        }
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = Map(serializer.serialize_map(None)?);
        map.text("id", &self.id)?;
        map.text("ts", &self.ts)?;
        map.text("type", self.body.kind())?;
        self.body.write(&mut map)?;
        let origin = &self.origin;
        map.some("session", &origin.session)?;
        map.some("branch", &origin.branch)?;
        map.some("commit", &origin.commit)?;
        map.list("sources", &origin.sources)?;
        map.some("task", &origin.task)?;
        for (name, value) in &self.unknown {
            map.0.serialize_entry(name, value)?;
        }
        map.0.end()
    }
}

/// Writes members that say something: what is empty is left out.
struct Map<M>(M);

impl<M: SerializeMap> Map<M> {
    fn text(&mut self, name: &str, value: &str) -> Result<(), M::Error> {
        match value {
            "" => Ok(()),
            value => self.0.serialize_entry(name, value),
        }
    }

    fn list<T: Serialize>(&mut self, name: &str, values: &[T]) -> Result<(), M::Error> {
        match values {
            [] => Ok(()),
            values => self.0.serialize_entry(name, values),
        }
    }

    fn some<T: Serialize>(&mut self, name: &str, value: &Option<T>) -> Result<(), M::Error> {
        match value {
            None => Ok(()),
            Some(value) => self.0.serialize_entry(name, value),
        }
    }
}
