//! The attempts at backends, as receipts list them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One attempt at one backend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Try {
    /// The backend's name.
    pub backend: String,
    /// The number of its key, from 1, if it has several.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<usize>,
    pub happened: TryOutcome,
    /// Its duration in milliseconds.
    pub ms: f64,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TryOutcome {
    /// The backend answered with this status.
    Answered(u16),
    /// The backend answered with status 200, and the answer was an error of its own.
    Failed,
    /// The same, and the error was about the request or the caller.
    Refused,
    /// The connection was refused.
    NotConnected,
    /// The connection broke before the answer.
    Broken,
    /// The answer did not begin in time.
    TimedOut,
    /// The backend was skipped: its circuit is open.
    CircuitOpen,
    /// The request could not be converted to its format, or its URL is invalid.
    NotSent,
}

/// Why a conversation went to its backend, where there was a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Its prompt cache lives there.
    Kept,
    /// It was kept nowhere.
    New,
    /// The place that was chosen gave no answer.
    Moved,
}

impl fmt::Display for Placement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Placement::Kept => "its prompt cache is there",
            Placement::New => "chosen by load",
            Placement::Moved => "the one before it gave no answer",
        })
    }
}

impl fmt::Display for TryOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryOutcome::Answered(status) => write!(formatter, "{status}"),
            TryOutcome::Failed => formatter.write_str("an error with status 200"),
            TryOutcome::Refused => formatter.write_str("a refusal with status 200"),
            TryOutcome::NotConnected => formatter.write_str("not connected"),
            TryOutcome::Broken => formatter.write_str("broken"),
            TryOutcome::TimedOut => formatter.write_str("timed out"),
            TryOutcome::CircuitOpen => formatter.write_str("circuit open"),
            TryOutcome::NotSent => formatter.write_str("not sent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempt_round_trips_through_a_receipt() {
        let tried = Try { backend: "a".into(), key: None, happened: TryOutcome::Answered(503), ms: 1.5 };
        let text = serde_json::to_string(&tried).unwrap();
        assert_eq!(text, r#"{"backend":"a","happened":{"answered":503},"ms":1.5}"#);
        assert_eq!(serde_json::from_str::<Try>(&text).unwrap(), tried);
    }
}
