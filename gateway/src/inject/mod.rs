//! Inserting and replaying blocks.
//!
//! `chain` computes a key for every text block of a conversation from all text before it. `replay` looks the keys up in
//! the ledger and returns the blocks of this conversation. `splice` inserts bytes and changes no others.

mod chain;
mod replay;
mod splice;

pub use chain::{Boundary, Chain, Seed};
pub use replay::{Replay, ReplayedTurn, choose, replay};
pub use splice::splice;
