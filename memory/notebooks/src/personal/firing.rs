//! Which reminders are due, and what became of each: a database in the state directory of this machine.
//!
//! A due time is claimed, durably, before anything is done about it. So two programs never act on the same one, and one that is
//! killed meanwhile is known: its claim has no result, and it is not repeated. Times that passed while nobody looked are made
//! up for once, or left out, as the reminder says; their number is kept with the claim.

mod approval;
mod due;
mod error;
mod firings;
mod maker;

pub use due::{Claim, Firing};
pub use error::FiringError;
pub use firings::Firings;
pub(super) use firings::schedule_words;
pub use maker::{Maker, Makers};
