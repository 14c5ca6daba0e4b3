//! The errors of tool calls.

use muninn_base::RelPath;
use muninn_code::{CodeError, OutlineError};
use muninn_repo_tools::history::HistoryError;
use muninn_repo_tools::metis::MetisError;
use muninn_repo_tools::{FilterError, GrepError, ListError, ReadError};

/// Why a tool call failed. Models get the message, so it also names the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// No tool has this name.
    #[error("there is no tool {name:?}; there are {}", .known.join(", "))]
    Unknown {
        /// The name that was called.
        name: String,
        /// The names of all tools.
        known: Vec<&'static str>,
    },
    /// A required argument is missing or empty.
    #[error("`{0}` is missing: call it with a text")]
    Missing(&'static str),
    /// There is no such argument.
    #[error("there is no argument `{name}`; there are {}", .known.join(", "))]
    UnknownArgument {
        /// The name that was written.
        name: String,
        /// The names of the arguments.
        known: Vec<&'static str>,
    },
    /// An argument's value is of another type.
    #[error("`{name}` takes {expected}")]
    WrongType {
        /// The argument.
        name: String,
        /// The kind of values that the argument takes.
        expected: &'static str,
    },
    /// An argument has the wrong type.
    #[error("the arguments cannot be read")]
    Arguments(#[from] serde_json::Error),
    /// A path is malformed, or leads out of the worktree.
    #[error("{0:?} is no path inside the repository")]
    Path(String),
    /// A path names the worktree's root where a file is required.
    #[error("`path` is a directory: name a file")]
    Root,
    /// A path is outside of the scope.
    #[error("{path} is outside of {scope}, which this exploration is about")]
    OutOfScope { path: RelPath, scope: RelPath },
    /// A file is outside of the scope.
    #[error("{0} is outside of what this exploration is about")]
    FileOutOfScope(RelPath),
    /// The last line is before the first.
    #[error("`last` ({last}) is before `first` ({first})")]
    Backwards {
        /// The first line.
        first: u32,
        /// The last line.
        last: u32,
    },
    /// A listing of all definitions of the worktree was requested.
    #[error("say which file or directory, or a part of the name")]
    Everything,
    #[error("{0} broke on this call")]
    Panicked(&'static str),
    /// A search was refused.
    #[error(transparent)]
    Grep(#[from] GrepError),
    /// A glob is malformed.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory cannot be listed.
    #[error(transparent)]
    List(#[from] ListError),
    /// A code question was refused.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// A file has no outline.
    #[error(transparent)]
    Outline(#[from] OutlineError),
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The tool is about a worktree, and there is none.
    #[error("there is no git repository")]
    NoWorktree,
    /// A use case of the application failed.
    #[error(transparent)]
    Application(Box<dyn std::error::Error + Send + Sync>),
    /// The planning document does not exist or cannot be read.
    #[error(transparent)]
    Metis(#[from] MetisError),
}
