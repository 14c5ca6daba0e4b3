//! Splits a file into chunks, which are ranked and packed.
//!
//! A chunk is what a reader would quote: a whole function with its comment, a section under its heading. With a
//! grammar, the parsed definitions determine the lines ([`definitions`]); otherwise indentation does ([`outline`]).

mod cut;
mod definition;
mod definitions;
mod extent;
mod outline;
mod piece;
mod runs;

pub(crate) use cut::{Cut, cut, is_data};
pub(super) use piece::number;
pub(crate) use piece::{Chunk, MAX_LINES};
