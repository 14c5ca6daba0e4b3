//! Layer 1: what is derived from a worktree's files, and costs no more than time to lose.
//!
//! A file is cut into chunks, and their words, names and costs are its [`Digest`], which depends on nothing but the
//! file's content and is kept in the [`crate::cache`] by blob. A [`Snapshot`] holds the digests of a worktree at one
//! moment as an index in memory; an [`Indexer`] makes the next one out of the last, the cache, and what changed on disk.
//! A snapshot is a value: questions are answered from one while the next is made, so a refresh never makes a question
//! wait, and a question never sees half a refresh.

mod candidates;
mod chunk;
mod co_change;
mod digest;
mod graph;
mod history;
mod indexer;
mod language;
pub mod lexical;
mod reader;
mod segment;
mod snapshot;
mod syntax;
pub mod vectors;
mod watch;

pub use candidates::candidates;
pub use co_change::{CoChange, Companion, Companions};
pub use digest::{Digest, Span, digest};
pub use graph::{Call, Defined, DefinitionId, Graph, Site};
pub use history::{History, ReadHistory};
pub use indexer::{Indexer, Progress, Refreshed};
pub use language::{FileRole, Form, file_role, language};
pub use segment::{File, FileFacts};
pub use snapshot::{Field, Posting, Snapshot};
pub use syntax::{Symbol, Syntax};
pub use watch::{Changes, WatchError, Watcher};
