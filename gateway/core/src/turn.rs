//! The life of a request before it is sent: earlier blocks are replayed, a new block is added, and both go on the receipt.
//!
//! Nothing here may keep a request from being answered. On a fault nothing is added, the receipt gives the reason, and
//! the body leaves as the client sent it, with the replayed blocks if replay worked.

mod budget;
mod clock;
mod holdout;
mod no_pack;
mod plan;
mod planner;
mod planning;

pub(super) use budget::preview;
pub use clock::millis;
pub(super) use clock::now_ms;
pub(super) use holdout::is_held_out;
pub(super) use no_pack::NoPackReason;
pub use plan::Plan;
pub(super) use plan::chain;
pub use planning::{PlanRequest, new_receipt, plan, replay_only};
