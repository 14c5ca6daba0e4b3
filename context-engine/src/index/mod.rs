//! What is known of a worktree's files, in memory.
//!
//! A [`Snapshot`] is a value: questions are answered from one while the next is made, so a refresh never makes a
//! question wait, and a question never sees half a refresh.

mod build;
mod digest;
mod snapshot;

pub(crate) use build::Indexer;
pub(crate) use digest::{Span, digest};
pub(crate) use snapshot::{FileFacts, Snapshot};
