//! The figures of an answer that is over.

use std::time::Duration;

use muninn_wire::convert::AnswerConverter;
use muninn_wire::convert::answer::Usage;
use muninn_wire::convert::request::Dropped;

/// The usage and the losses of an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerEnd {
    /// The usage that the backend reported.
    pub usage: Usage,
    /// The parts of the answer that its conversion left out.
    pub dropped: Dropped,
}

impl AnswerEnd {
    pub(super) fn of(converter: &AnswerConverter) -> AnswerEnd {
        AnswerEnd { usage: converter.usage(), dropped: converter.dropped().clone() }
    }
}

impl From<Usage> for AnswerEnd {
    /// The end of an answer without a conversion.
    fn from(usage: Usage) -> AnswerEnd {
        AnswerEnd { usage, dropped: Dropped::default() }
    }
}

/// The figures of a finished answer, complete or left by its client.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerSummary {
    /// The time from the request to the first byte of the answer, if one was sent.
    pub first_byte: Option<Duration>,
    /// Its usage and its losses.
    pub end: AnswerEnd,
}
