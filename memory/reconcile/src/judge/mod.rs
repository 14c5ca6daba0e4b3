//! The relation of two claims, without a language model.
//!
//! Vector similarity cannot tell a duplicate from a contradiction: "on" and "off" are very similar. So the tokens of two
//! texts are aligned (`align.rs`), what differs is typed (`features.rs`), and boosted trees that were fitted to labelled
//! pairs give the probabilities of each relation (`trees.rs`). The negation of the same sentence is an exact rule.
//!
//! Without a model only the same statement is a duplicate ([`muninn_team::records`] has the closed list of harmless differences):
//! a text that is merely alike would hide the other one. A pair that the probabilities take for a duplicate stays apart,
//! and is left to a model or, if the claims can be about different things, to a person.
//!
//! English prose only: code, and texts in other languages, are unrelated unless they are the same statement.

mod align;
mod candidates;
mod comparison;
mod decide;
mod features;
mod judgement;
mod kind;
mod polarity;
mod quantity;
mod tokens;
mod trees;
mod words;

pub use candidates::{ClaimTokens, WIDE, to_judge};
pub use comparison::{Claim, ParsedClaim, compare, judge, opposes, says_it_replaces};
pub(super) use judgement::ParsedText;
pub use judgement::{FittedJudge, Judgement, Relation};
