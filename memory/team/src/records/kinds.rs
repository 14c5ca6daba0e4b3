//! The types of records. Each has a Rust type whose fields are the record's members, in the order in which they are
//! written.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::members::Members;
use super::moment::Moment;

/// The author of what rules found.
pub const RULES: &str = "rules";

/// Defines a struct for each record type, and [`Body`] over all of them. Empty members are not written, and absent
/// members are empty.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:literal => $kind:ident { $($(#[$about:meta])* $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
            #[serde(default)]
            pub struct $kind {
                $($(#[$about])* #[serde(skip_serializing_if = "is_empty")] pub $field: $type,)+
            }
        )+

        /// The content of a record by its type. Numbers keep their written form.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "type")]
        pub enum Body {
            $($(#[$doc])* #[serde(rename = $name)] $kind($kind),)+
            /// A type of a later version. All its members are kept as unknown members.
            #[serde(untagged)]
            Other {
                /// The type's name; empty if the line has none.
                #[serde(rename = "type", skip_serializing_if = "is_empty")]
                kind: String,
            },
        }

        impl Body {
            /// The name of the record's type.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$kind(_) => $name,)+
                    Self::Other { kind } => kind,
                }
            }

            /// Takes the members of this record type.
            pub(super) fn take(kind: String, members: &mut Members<'_>) -> Result<Self, serde_json::Error> {
                Ok(match kind.as_str() {
                    $($name => Self::$kind(members.take()?),)+
                    _ => Self::Other { kind },
                })
            }
        }
    };
}

fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Conflict {
    /// Returns whether a model or an agent says that its sides contradict each other. Otherwise they are an undecided pair: rules
    /// found it, or whoever was asked is unsure.
    pub fn is_judged(&self) -> bool {
        self.by != RULES && self.certainty.is_none()
    }
}

kinds! {
    /// Files that were relevant to a question.
    "context_hit" => ContextHit {
        /// Hash of the question, by which a repeated question is recognised without its text.
        query_hash: String,
        /// The question's text, if the user allows it to be kept.
        query: Option<String>,
        /// Words of the question that occur in the repository.
        terms: Vec<String>,
        /// Paths, the most important first.
        files: Vec<String>,
        /// From 0 to 1.
        relevance: Option<Number>,
    }

    /// Files or symbols that belong together.
    "pattern" => Pattern {
        /// The pattern in words.
        pattern: String,
        /// Paths or symbols.
        entities: Vec<String>,
        /// From 0 to 1.
        confidence: Option<Number>,
        author: Option<String>,
    }

    /// A summary of a session.
    "session_summary" => SessionSummary {
        /// Paths.
        files_touched: Vec<String>,
        /// Text, if the user allows text to be kept.
        learnings: Vec<String>,
        author: Option<String>,
    }

    /// A statement about the project.
    "learning" => Learning {
        /// The statement.
        text: String,
        subject: Option<String>,
        /// From 0 to 1.
        confidence: Option<Number>,
        author: Option<String>,
    }

    /// A failed attempt.
    "failure" => Failure {
        attempt: String,
        /// Number of times.
        count: Option<u64>,
        outcome: String,
        /// From 0 to 1.
        confidence: Option<Number>,
        author: Option<String>,
    }

    /// A person's decision on a conflict.
    "decision" => Decision {
        /// The conflict's id.
        conflict: String,
        /// Ids of the records that are kept.
        keep: Vec<String>,
        /// Ids of the records that are dropped.
        drop: Vec<String>,
        /// The reason.
        note: Option<String>,
        /// The person.
        author: Option<String>,
        /// Ids of the earlier decisions on the conflict that the person knew.
        over: Option<Vec<String>>,
    }

    /// A newer record replaces an older one.
    "supersedes" => Supersedes {
        /// The older record's id.
        older: String,
        /// The newer record's id.
        newer: Option<String>,
        /// The date from which the older record no longer holds, RFC 3339.
        since: Option<Moment>,
        /// The evidence.
        reason: Option<String>,
    }

    /// Two records are duplicates; recall returns the newer one. Earlier versions kept the one with the smaller id, and wrote
    /// no end.
    "same" => Same {
        /// The newer record's id.
        kept: String,
        /// The older record's id.
        folded: String,
        /// The date from which the newer record stands for the older one, RFC 3339.
        until: Option<Moment>,
        /// `rules`, or the model's name.
        by: String,
        reason: String,
    }

    /// Two records that could be duplicates, and are not.
    "distinct" => Distinct {
        /// The older record's id.
        left: String,
        /// The newer record's id.
        right: String,
        /// `rules`, the model's name, or the person who kept them apart.
        by: String,
        reason: String,
    }

    /// Two records that contradict each other, as a judge found, or that may: an undecided pair.
    "conflict" => Conflict {
        /// The older record's id.
        left: String,
        /// The older record's text.
        left_text: String,
        /// The newer record's id.
        right: String,
        /// The newer record's text.
        right_text: String,
        /// `rules`, or the judge: a model, or an agent.
        by: String,
        reason: String,
        /// The evidence that the newer record replaces the older; a person accepts it, or does not.
        proposal: Option<String>,
        /// How probable a contradiction is, from 0 to 1; absent if a judge found it.
        certainty: Option<Number>,
    }

    /// A segment whose records are in main.
    "reconciled" => Reconciled {
        /// The segment's name.
        segment: String,
        /// The segment's length in bytes.
        bytes: u64,
        /// The id of the run that reconciled it.
        run: String,
    }

    /// A reconciliation run.
    "run" => Run {
        /// Ids of the runs that this run knew and that no other run had as a predecessor.
        after: Vec<String>,
    }

    /// Records of main that came from no reconciled session, and were compared with all records.
    "compared" => Compared {
        /// First 16 hexadecimal digits of the BLAKE3 hash of each record's id.
        others: Vec<String>,
        /// The id of the run.
        run: String,
    }

    /// What became of the notes that a prompt carried. A note is a record that others can refer to.
    "use" => Use {
        /// Ids of the notes in the prompt, in full or as a line.
        shown: Vec<String>,
        /// Ids of those that the agent used.
        used: Vec<String>,
        /// Ids of those that a decision of the turn contradicts.
        contradicted: Vec<String>,
    }

    /// Questions that an older record answers: the record's `answers`.
    "questions" => Questions {
        /// The older record's id.
        of: String,
        author: Option<String>,
    }

    /// A deleted record.
    "tombstone" => Tombstone {
        /// The deleted record's id.
        forget: String,
    }
}
