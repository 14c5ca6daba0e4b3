//! Putting blocks into prompts: which turn a block belongs to, where it stands, and how it gets there again.
//!
//! `chain` gives every text block of a conversation a key that depends on all text before it. `replay` looks the keys up
//! in the ledger and says which blocks were made for this conversation. `splice` inserts bytes and touches no others.

mod chain;
mod replay;
mod splice;

pub use chain::{Boundary, Chain, Seed};
pub use replay::{Replay, Replayed, choose, replay};
pub use splice::splice;
