//! The tools: questions about a worktree for models, the command line and other doors.
//!
//! A [`Tool`] is a row: a [`ToolDescription`], an argument type with a JSON Schema from `schemars`, a function that answers
//! and one that formats the answer. Typed callers such as the command line call the first function and render the answer
//! themselves. Callers with a name and JSON, such as the explorer, use a [`Registry`]. It reads the JSON tolerantly and
//! limits each call: at most five seconds, a panic is an error, and the text is redacted and at most 256 KiB. Every tool
//! stays inside the worktree and the scope, never shows a secret file, and names the limits that shortened its answer.
//!
//! The tools here need only the engine. The application has tools that need its use cases, with descriptions as here.

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
pub use code::{NameArguments, OutlineArguments, SymbolsArguments, callers, definition, outline, references, symbols};
pub use context::ToolContext;
pub use error::ToolError;
pub use files::{ReadArguments, TreeArguments, read, tree};
pub use output::Output;
pub use registry::{Registry, engine_tools};
pub use schema::{Effect, ToolDescription};
pub use search::{GrepArguments, grep};
pub use tool::Tool;
