//! Inserting and replaying blocks.
//!
//! `chain` computes a key for every text block of a conversation from all text before it. `replay` looks the keys up in
//! the ledger and returns the blocks of this conversation.

mod chain;
mod replay;

pub use chain::{Boundary, Chain, Seed};
pub use replay::{Replay, ReplayedTurn, choose, replay};
