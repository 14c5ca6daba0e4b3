//! The structure of a worktree: the definitions of each name and their callers.
//!
//! The graph consists of plain arrays that are built at once from the [`Syntax`] of all files. A query is a lookup in
//! one array and a slice of another. The arrays are never updated: after a change they are rebuilt, which takes a
//! fraction of a second for a million lines.
//!
//! Imports are resolved to files by the rules of each language, as far as paths and manifests allow. Calls are resolved
//! by name, without types. Each edge has a confidence and its basis.

mod arrays;
mod build;
mod calls;
mod files;
mod queries;
mod resolve;

pub use arrays::Graph;
pub(super) use arrays::{Edge, Entry};
pub use queries::{Call, Defined, DefinitionId, Site};
