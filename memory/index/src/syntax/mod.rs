//! The stored syntax of a file, from which the graph of a worktree is built without parsing again.
//!
//! It depends only on the file's content and name, and is cached with its digest by blob. Names are stored once in one
//! string; everything else is numbers, so the syntax of every file fits in memory.

mod entries;
mod make;
mod manifest;
mod symbol;

pub use entries::Syntax;
pub(super) use entries::{CallEntry, ImportEntry, NameId, SymbolEntry};
pub(super) use manifest::Manifest;
pub use symbol::Symbol;
