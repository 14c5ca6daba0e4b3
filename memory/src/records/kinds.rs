//! What a record says, by its type: a Rust type for each, whose fields are its members in the order in which they are
//! written.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::members::Members;
use super::moment::Moment;

/// Makes a type of each kind, and [`Body`] of all of them. What is empty is not written, and what is absent is empty.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $name:literal => $kind:ident { $($(#[$about:meta])+ $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$doc])+
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
            #[serde(default)]
            pub struct $kind {
                $($(#[$about])+ #[serde(skip_serializing_if = "is_empty")] pub $field: $type,)+
            }
        )+

        /// What a record says, by its type. Numbers are kept as they are written.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "type")]
        pub enum Body {
            $($(#[$doc])+ #[serde(rename = $name)] $kind($kind),)+
            /// A type that a later version knows, with all its members among the unknown.
            #[serde(untagged)]
            Other {
                /// Its name; empty where the line has none.
                #[serde(rename = "type", skip_serializing_if = "is_empty")]
                kind: String,
            },
        }

        impl Body {
            /// What its type is called.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$kind(_) => $name,)+
                    Self::Other { kind } => kind,
                }
            }

            /// Takes what a record of this type says out of its members.
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

kinds! {
    /// For a question, these files mattered.
    "context_hit" => ContextHit {
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
    }

    /// These belong together.
    "pattern" => Pattern {
        /// What the pattern is.
        pattern: String,
        /// Paths or symbols.
        entities: Vec<String>,
        /// From 0 to 1.
        confidence: Option<Number>,
        /// Who says so.
        author: Option<String>,
    }

    /// What a session came to.
    "session_summary" => SessionSummary {
        /// Paths.
        files_touched: Vec<String>,
        /// In words, if the user allows words.
        learnings: Vec<String>,
        /// Whose words these are.
        author: Option<String>,
    }

    /// Something that is so.
    "learning" => Learning {
        /// In words.
        text: String,
        /// What it is about.
        subject: Option<String>,
        /// From 0 to 1.
        confidence: Option<Number>,
        /// Who says so.
        author: Option<String>,
    }

    /// Something that did not work.
    "failure" => Failure {
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
    }

    /// How a conflict was settled.
    "decision" => Decision {
        /// The conflict.
        conflict: String,
        /// The ids that are kept.
        keep: Vec<String>,
        /// The ids that are not.
        drop: Vec<String>,
        /// Why.
        note: Option<String>,
    }

    /// An older record no longer holds.
    "supersedes" => Supersedes {
        /// The older record's id.
        older: String,
        /// The id of the one that holds instead.
        newer: Option<String>,
        /// From when on, RFC 3339.
        since: Option<Moment>,
    }

    /// Two records say the same, and one of them is recalled for both.
    "same" => Same {
        /// The id of that one.
        kept: String,
        /// The id of the other.
        folded: String,
        /// Who found so: the rules, or a model by its name.
        by: String,
        /// Why.
        reason: String,
    }

    /// Two records that were in doubt have nothing to settle: both are so.
    "distinct" => Distinct {
        /// The older record's id.
        left: String,
        /// The newer record's id.
        right: String,
        /// Who found so: a model by its name.
        by: String,
        /// Why.
        reason: String,
    }

    /// Two records that cannot both be so, or may not be, for a person to settle.
    "conflict" => Conflict {
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
    }

    /// A segment whose records are in main.
    "reconciled" => Reconciled {
        /// The segment's name.
        segment: String,
        /// Its length in bytes.
        bytes: u64,
        /// The id of the run that took it in.
        run: String,
    }

    /// A reconciliation.
    "run" => Run {
        /// The ids of the runs that it knew of and no other run did.
        after: Vec<String>,
    }

    /// Records of main that came from no session that was taken in, and were compared with all there was.
    "compared" => Compared {
        /// The first sixteen hexadecimal digits of the BLAKE3 hash of each one's id.
        others: Vec<String>,
        /// The id of the run that did it.
        run: String,
    }

    /// A record that nobody wants to see again.
    "tombstone" => Tombstone {
        /// Its id.
        forget: String,
    }
}
