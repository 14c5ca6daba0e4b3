//! The deep lane: whether a model explores for a request, which one, and where its result goes.
//!
//! A request that asks for the deep lane waits for the exploration, and its result is packed into the same prompt
//! ([`DeepLane::Inline`]). If the user's configuration asks for it, a model explores in the background, and its result is
//! packed at the conversation's next turn ([`background`]), through the ledger like every other block.

mod background;
mod drive;
mod explorations;
mod explorer;
mod lane;
mod progress;

pub(super) use background::{BackgroundQuestion, PendingResults, begin};
pub(super) use drive::drive;
pub(super) use explorations::{BackgroundExplorations, BackgroundResult};
pub(crate) use explorer::Explorer;
pub use lane::{DeepLane, choose_deep_lane, rename_candidates, strip_deep_suffix};
pub use progress::{ProgressReceiver, ProgressSender};
