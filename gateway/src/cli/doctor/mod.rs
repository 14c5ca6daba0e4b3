//! `muninn doctor`: checks everything that a gateway needs, and says what to do about each problem.
//!
//! It changes nothing. All checks run at once, each for at most [`TIMEOUT`], so that a backend that does not answer cannot
//! hold up the command.

mod command;
mod finding;
mod journal;
mod ledger;
mod local;
mod memory;
mod personal;
mod probe;
mod remote;
mod timeout;

pub(crate) use command::Doctor;
pub(super) use timeout::TIMEOUT;
