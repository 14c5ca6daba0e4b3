//! Decides pairs that rules leave open with a model, if the user configured one.
//!
//! Rules cannot tell whether two notes with different words are duplicates. A model often can, but it is often wrong,
//! its input is untrusted text, and its answer is kept for years. Therefore pairs are sent as data in a frame that the
//! data cannot close, without secrets and within a token limit. Each batch contains control pairs with known answers
//! (`controls.rs`), and the answer is parsed strictly (`answer.rs`). For pairs without a usable answer, the result of
//! the rules is kept.

mod answer;
mod controls;
mod pair;
mod prompt;
mod reconciler;

pub(super) use pair::{ModelVerdict, OpenPair};
pub(super) use prompt::{AGENT_INSTRUCTIONS, Batch};
pub(super) use reconciler::with_veto;
pub use reconciler::{ModelReport, Reconciler, ReconcilerLimits, control_pairs};
