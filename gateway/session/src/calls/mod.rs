//! The files that a tool call uses, for all clients and formats.

mod file_use;
mod named;
mod resolver;
mod shell;

pub(super) use file_use::{FileUse, NamedFile};
pub(super) use named::Call;
pub use named::{has_file_tools, has_shell};
pub(super) use resolver::PathResolver;
