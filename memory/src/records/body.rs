//! What a record says, by its type, and how that is written.

use serde::ser::SerializeMap;
use serde_json::Number;

use super::members::{Map, Members};
use super::moment::Moment;

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
        /// Who says so.
        author: Option<String>,
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
        /// From 0 to 1.
        confidence: Option<Number>,
        /// Who says so.
        author: Option<String>,
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
        /// The id of the one that holds instead.
        newer: Option<String>,
        /// From when on, RFC 3339.
        since: Option<Moment>,
    },
    /// Two records say the same, and one of them is recalled for both.
    Same {
        /// The id of that one.
        kept: String,
        /// The id of the other.
        folded: String,
        /// Who found so: the rules, or a model by its name.
        by: String,
        /// Why.
        reason: String,
    },
    /// Two records that were in doubt have nothing to settle: both are so.
    Distinct {
        /// The older record's id.
        left: String,
        /// The newer record's id.
        right: String,
        /// Who found so: a model by its name.
        by: String,
        /// Why.
        reason: String,
    },
    /// Two records that cannot both be so, or may not be, for a person to settle.
    Conflict {
        /// The older record's id.
        left: String,
        /// What it says.
        left_text: String,
        /// The newer record's id.
        right: String,
        /// What it says.
        right_text: String,
        /// Who found so: the rules, or a model by its name.
        by: String,
        /// Why.
        reason: String,
    },
    /// A segment whose records are in main.
    Reconciled {
        /// The segment's name.
        segment: String,
        /// Its length in bytes.
        bytes: u64,
        /// The id of the run that took it in.
        run: String,
    },
    /// A reconciliation.
    Run {
        /// The ids of the runs that it knew of and no other run did.
        after: Vec<String>,
    },
    /// Records of main that came from no session that was taken in, and were compared with all there was.
    Compared {
        /// The first sixteen hexadecimal digits of the BLAKE3 hash of each one's id.
        others: Vec<String>,
        /// The id of the run that did it.
        run: String,
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
            Self::Same { .. } => "same",
            Self::Distinct { .. } => "distinct",
            Self::Conflict { .. } => "conflict",
            Self::Reconciled { .. } => "reconciled",
            Self::Run { .. } => "run",
            Self::Compared { .. } => "compared",
            Self::Tombstone { .. } => "tombstone",
            Self::Other { kind } => kind,
        }
    }

    pub(super) fn take(kind: String, members: &mut Members) -> Self {
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
                author: members.take("author"),
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
                confidence: members.take("confidence"),
                author: members.take("author"),
            },
            "decision" => Self::Decision {
                conflict: text(members, "conflict"),
                keep: list(members, "keep"),
                drop: list(members, "drop"),
                note: members.take("note"),
            },
            "supersedes" => Self::Supersedes {
                older: text(members, "older"),
                newer: members.take("newer"),
                since: members.take("since"),
            },
            "same" => Self::Same {
                kept: text(members, "kept"),
                folded: text(members, "folded"),
                by: text(members, "by"),
                reason: text(members, "reason"),
            },
            "distinct" => Self::Distinct {
                left: text(members, "left"),
                right: text(members, "right"),
                by: text(members, "by"),
                reason: text(members, "reason"),
            },
            "conflict" => Self::Conflict {
                left: text(members, "left"),
                left_text: text(members, "left_text"),
                right: text(members, "right"),
                right_text: text(members, "right_text"),
                by: text(members, "by"),
                reason: text(members, "reason"),
            },
            "reconciled" => Self::Reconciled {
                segment: text(members, "segment"),
                bytes: members.take("bytes").unwrap_or_default(),
                run: text(members, "run"),
            },
            "run" => Self::Run {
                after: list(members, "after"),
            },
            "compared" => Self::Compared {
                others: list(members, "others"),
                run: text(members, "run"),
            },
            "tombstone" => Self::Tombstone {
                forget: text(members, "forget"),
            },
            _ => Self::Other { kind },
        }
    }

    pub(super) fn write<M: SerializeMap>(&self, map: &mut Map<M>) -> Result<(), M::Error> {
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
                author,
            } => {
                map.text("pattern", pattern)?;
                map.list("entities", entities)?;
                map.some("confidence", confidence)?;
                map.some("author", author)
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
                confidence,
                author,
            } => {
                map.text("attempt", attempt)?;
                map.some("count", count)?;
                map.text("outcome", outcome)?;
                map.some("confidence", confidence)?;
                map.some("author", author)
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
            Self::Supersedes { older, newer, since } => {
                map.text("older", older)?;
                map.some("newer", newer)?;
                map.some("since", since)
            }
            Self::Same {
                kept,
                folded,
                by,
                reason,
            } => {
                map.text("kept", kept)?;
                map.text("folded", folded)?;
                map.text("by", by)?;
                map.text("reason", reason)
            }
            Self::Distinct {
                left,
                right,
                by,
                reason,
            } => {
                map.text("left", left)?;
                map.text("right", right)?;
                map.text("by", by)?;
                map.text("reason", reason)
            }
            Self::Conflict {
                left,
                left_text,
                right,
                right_text,
                by,
                reason,
            } => {
                map.text("left", left)?;
                map.text("left_text", left_text)?;
                map.text("right", right)?;
                map.text("right_text", right_text)?;
                map.text("by", by)?;
                map.text("reason", reason)
            }
            Self::Reconciled { segment, bytes, run } => {
                map.text("segment", segment)?;
                map.number("bytes", *bytes)?;
                map.text("run", run)
            }
            Self::Run { after } => map.list("after", after),
            Self::Compared { others, run } => {
                map.list("others", others)?;
                map.text("run", run)
            }
            Self::Tombstone { forget } => map.text("forget", forget),
            Self::Other { .. } => Ok(()),
        }
    }
}
