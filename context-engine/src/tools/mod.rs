//! The tools: questions about a worktree for models, the command line and other doors.
//!
//! A [`Tool`] has a name, a description, an argument type with a JSON Schema from `schemars`, and one implementation.
//! Typed callers such as the command line build the arguments, call [`Tool::answer`] and render the answer themselves.
//! Callers with a name and JSON, such as the explorer, use a [`Registry`]. It reads the JSON tolerantly and limits each
//! call: at most five seconds, a panic is an error, and the text is redacted and at most 256 KiB. Every tool stays
//! inside the worktree and the scope, never shows a secret file, and names the limits that shortened its answer.
//!
//! The tools here need only the engine. The application adds tools that need its use cases with [`Registry::add`].

mod arguments;
mod candidate_files;
mod code;
mod context;
mod error;
mod files;
mod history;
mod memory;
mod output;
mod parameter;
mod registry;
mod schema;
mod search;
mod tool;

pub(crate) use arguments::path_of;
pub use arguments::{Globs, PathArgument, Paths, page};
pub use code::{Callers, Definition, NameArguments, Outline, OutlineArguments, References, Symbols, SymbolsArguments};
pub use context::ToolContext;
pub use error::ToolError;
pub use files::{Find, FindArguments, List, ListArguments, Read, ReadArguments, Tree, TreeArguments};
pub use history::{GitLog, GitLogArguments, Log};
pub use memory::{Metis, MetisArguments, PlanningDocuments, Recall, RecallArguments};
pub use output::Output;
pub use parameter::Parameter;
pub use registry::Registry;
pub use schema::ToolDescription;
pub use search::{Grep, GrepArguments};
pub use tool::{Effect, Tool};
