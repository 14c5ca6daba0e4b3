//! What a receipt tells of each try at a backend.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One try at one backend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Try {
    /// The backend's name.
    pub backend: String,
    /// What came of it.
    pub happened: TryOutcome,
    /// How long it took, in milliseconds.
    pub ms: f64,
}

/// What came of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TryOutcome {
    /// It answered with this status.
    Answered(u16),
    /// Nobody answers there.
    NotConnected,
    /// The connection broke before the answer.
    Broken,
    /// The answer did not begin in time.
    TimedOut,
    /// It was not asked, because it keeps failing.
    CircuitOpen,
    /// The request could not be put into its words, or its address is none.
    NotSent,
}

impl fmt::Display for TryOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryOutcome::Answered(status) => write!(formatter, "{status}"),
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
    fn a_try_reads_the_same_from_a_receipt() {
        let tried = Try {
            backend: "a".into(),
            happened: TryOutcome::Answered(503),
            ms: 1.5,
        };
        let text = serde_json::to_string(&tried).unwrap();
        assert_eq!(text, r#"{"backend":"a","happened":{"answered":503},"ms":1.5}"#);
        assert_eq!(serde_json::from_str::<Try>(&text).unwrap(), tried);
    }
}
