//! Mutations: an agent that failed three times in the same way declares what it does differently.
//!
//! The kinds are rules of debugging. M5 is the one of the worklog's specification. The others follow David J. Agans,
//! *Debugging: The 9 Indispensable Rules* (2002), and Andreas Zeller, *Why Programs Fail* (2nd edition, 2009).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MutationKind {
    /// Make it fail at will first: the smallest input or test that shows the failure (Agans, rule 2; Zeller, chapter 4).
    M1,
    /// Look instead of guessing: read the whole error, log, print, use a debugger (Agans, rule 3).
    M2,
    /// Halve the search space: bisect the history, the input or the code (Agans, rule 4; Zeller, chapter 5).
    M3,
    /// Go back to the last working state, and change one thing at a time (Agans, rules 5 and 6).
    M4,
    /// Do less: a smaller goal that can be checked by itself (the specification's example).
    M5,
    /// Check what seemed certain: versions, paths, configuration, documentation, and that the changed code runs (Agans,
    /// rules 1 and 7).
    M6,
    /// Leave the approach: another design, another library, or a question to a person (Agans, rule 8).
    M7,
}

impl MutationKind {
    pub const ALL: [MutationKind; 7] = [
        MutationKind::M1,
        MutationKind::M2,
        MutationKind::M3,
        MutationKind::M4,
        MutationKind::M5,
        MutationKind::M6,
        MutationKind::M7,
    ];

    /// The name in words.
    pub fn words(self) -> &'static str {
        match self {
            MutationKind::M1 => "Reproduce First",
            MutationKind::M2 => "Observe",
            MutationKind::M3 => "Bisect",
            MutationKind::M4 => "Change One Thing",
            MutationKind::M5 => "Reduce Scope",
            MutationKind::M6 => "Check Assumptions",
            MutationKind::M7 => "Change Approach",
        }
    }

    /// All kinds on one line, for messages.
    pub fn listed() -> String {
        MutationKind::ALL.map(|kind| format!("{kind} {}", kind.words())).join(", ")
    }
}

impl fmt::Display for MutationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A text that names no kind of mutation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is no kind of mutation: {}", MutationKind::listed())]
pub struct UnknownMutation {
    /// The text.
    pub name: String,
}

impl FromStr for MutationKind {
    type Err = UnknownMutation;

    fn from_str(text: &str) -> Result<Self, UnknownMutation> {
        let found = MutationKind::ALL.into_iter().find(|kind| {
            kind.to_string().eq_ignore_ascii_case(text.trim()) || kind.words().eq_ignore_ascii_case(text.trim())
        });
        found.ok_or_else(|| UnknownMutation { name: text.escape_debug().to_string() })
    }
}

/// A declared mutation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mutation {
    pub kind: MutationKind,
    /// What failed.
    pub failed_on: String,
    /// What is done instead.
    pub switching_to: String,
    /// The reason.
    pub rationale: String,
}
