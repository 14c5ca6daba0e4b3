//! Layer 1: the index derived from a worktree's files. It can be rebuilt at any time.
//!
//! A file is split into chunks; their words, names and syntax are its [`Digest`], which depends only on the file's
//! content and is cached by blob in [`crate::cache`]. A [`Snapshot`] holds the digests of a worktree at one moment as
//! an index in memory; an [`Indexer`] computes the next snapshot from the last, the cache, and changes on disk. A
//! snapshot is immutable: questions use one while the next is built, so a refresh never delays a question, and a
//! question never sees a partial refresh.

pub mod cache;
mod chunk;
mod co_change;
mod digest;
mod graph;
mod history;
mod indexer;
mod language;
mod reader;
mod rows;
mod segment;
mod snapshot;
mod syntax;
pub mod vectors;

pub use co_change::{CoChange, Companion, Companions};
pub use digest::{Digest, Span, digest};
pub use graph::{Call, Defined, DefinitionId, Graph, Site};
pub use history::{History, ReadHistory};
pub use indexer::{Indexer, Refreshed};
pub use language::{FileKind, FileRole, Form, file_role, is_boilerplate, language};
pub use segment::{File, FileFacts};
pub use snapshot::{Field, Posting, Snapshot};
pub use syntax::{Symbol, Syntax};
