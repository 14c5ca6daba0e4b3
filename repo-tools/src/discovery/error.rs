use std::io;
use std::path::{Path, PathBuf};

use super::git_dir::GitFileError;

/// The newest version of the format.
pub(crate) const NEWEST_VERSION: i64 = 1;

/// Why no worktree was found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The directory does not exist, or cannot be entered.
    #[error("{} cannot be opened", path.display())]
    NotFound {
        /// The directory as given.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// Neither the directory nor a parent is a git repository.
    #[error("{} is not inside a git repository", path.display())]
    NotARepository {
        /// The directory, made absolute.
        path: PathBuf,
    },
    /// A `.git` exists, but is no repository: a part of it is missing or unreadable.
    #[error("{} is not a valid git repository: a part of it is missing or cannot be read", path.display())]
    Incomplete {
        /// The `.git` directory.
        path: PathBuf,
    },
    /// A `.git` file names no git directory.
    #[error("{} does not name a git repository", path.display())]
    GitFile {
        /// The `.git` file.
        path: PathBuf,
        /// The fault.
        source: GitFileError,
    },
    /// The repository of a linked worktree or a submodule was moved or removed, or cannot be read.
    #[error("{} points to {}, which is not a git repository", path.display(), to.display())]
    BrokenLink {
        /// The `.git` file.
        path: PathBuf,
        /// The path that it contains.
        to: PathBuf,
    },
    /// Another user owns the repository.
    #[error(
        "detected dubious ownership in the repository at {0}: it belongs to another user. If you trust it, run \
         `git config --global --add safe.directory {0}`",
        path.display()
    )]
    DubiousOwnership {
        /// The worktree, or the bare repository.
        path: PathBuf,
    },
    /// A repository without a worktree.
    #[error("{} is a bare repository, or the inside of a git directory: it has no files to read", path.display())]
    Bare {
        /// The repository.
        path: PathBuf,
    },
    /// git itself stops at the format of the repository.
    #[error("the git repository at {} cannot be used", path.display())]
    Format {
        /// The git directory.
        path: PathBuf,
        /// The reason, in git's words.
        source: FormatError,
    },
    /// `core.worktree` names a directory that does not belong to the repository.
    #[error(
        "`core.worktree` of {} names {}, which does not lead back to it. If it is the right directory, create the file \
         .git in it with the line `gitdir: {}`",
        git_dir.display(), worktree.display(), git_dir.display()
    )]
    ForeignWorktree {
        /// The git directory.
        git_dir: PathBuf,
        /// The directory that it names.
        worktree: PathBuf,
    },
    /// A repository that cannot be opened.
    #[error("the git repository at {} cannot be opened", path.display())]
    Broken {
        /// The repository.
        path: PathBuf,
        /// The error of gix.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Why git stops at a repository.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The version is newer than git's.
    #[error("Expected git repo version <= {NEWEST_VERSION}, found {0}")]
    Version(i64),
    /// The version is 1, and no git knows these extensions.
    #[error("unknown repository extension{} found: {}", plural(.0), .0.join(", "))]
    Unknown(Vec<String>),
    /// The version is 0, and these extensions need another one.
    #[error("repo version is 0, but v1-only extension{} found: {}", plural(.0), .0.join(", "))]
    NeedsVersion1(Vec<String>),
    /// An extension has a value that git does not know.
    #[error("invalid value for 'extensions.{name}': '{value}'")]
    Value {
        /// The extension.
        name: &'static str,
        value: String,
    },
    /// The configuration cannot be read.
    #[error("{file} cannot be read")]
    Read {
        /// `config` or `config.worktree`.
        file: &'static str,
        /// The error of the file system.
        source: io::Error,
    },
    /// The configuration is malformed.
    #[error("{file} is malformed")]
    Malformed {
        /// `config` or `config.worktree`.
        file: &'static str,
        /// The error of gix.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl FormatError {
    /// The error of finding a worktree with this git directory.
    pub(super) fn at(self, git_dir: &Path) -> DiscoverError {
        let path = git_dir.to_owned();
        match self {
            Self::Read { .. } | Self::Malformed { .. } => DiscoverError::Broken { path, source: Box::new(self) },
            _ => DiscoverError::Format { path, source: self },
        }
    }
}

pub(crate) fn plural(extensions: &[String]) -> &'static str {
    if extensions.len() == 1 { "" } else { "s" }
}
