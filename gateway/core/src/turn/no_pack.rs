use muninn_ledger::Outcome;
use muninn_session::SideRequest;
use thiserror::Error;

use super::super::enter::EnterError;

/// Why a turn gets no new block. The message is the receipt's reason.
#[derive(Debug, Error)]
pub(crate) enum NoPackReason {
    #[error("the client switched new context off")]
    NotWanted,
    #[error("held out: `holdout` in [context] leaves this conversation without context")]
    HeldOut,
    #[error("a side request: {}", .0.name())]
    SideRequest(SideRequest),
    #[error("context.enabled is false")]
    Disabled,
    #[error("the conversation's token budget is used up")]
    NoBudget,
    #[error("there is no new question")]
    NoQuestion,
    #[error("this turn got its block in an earlier request")]
    HasBlock,
    #[error("this turn was sent without a block before, and stays without")]
    WentWithout,
    #[error("the background exploration has not finished")]
    StillExploring,
    #[error("the deadline passed before anything was found")]
    DeadlineExceeded,
    #[error("{0}")]
    NothingFound(String),
    #[error(transparent)]
    NoRepository(#[from] EnterError),
}

impl NoPackReason {
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            NoPackReason::NotWanted | NoPackReason::HeldOut | NoPackReason::Disabled => Outcome::Off,
            _ => Outcome::None,
        }
    }
}
