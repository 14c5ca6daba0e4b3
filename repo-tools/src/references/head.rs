use std::io;
use std::path::PathBuf;

/// Why references cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The repository cannot be opened.
    #[error("the git repository at {} cannot be opened", path.display())]
    Repository {
        /// The git directory.
        path: PathBuf,
        /// The error of gix.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A reference cannot be read or changed.
    #[error("{reference} of {} cannot be used", path.display())]
    Reference {
        /// The reference, such as `HEAD`.
        reference: String,
        /// The git directory.
        path: PathBuf,
        /// The error of gix.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The references are in tables, and there is no `git` to read them.
    #[error(
        "the references of {} are stored as reftable, which needs the program `git`, version 2.45 or newer, on PATH",
        path.display()
    )]
    NoGit {
        /// The git directory.
        path: PathBuf,
        /// The error of starting it.
        source: io::Error,
    },
    /// `git` failed.
    #[error("`git {command}` fails in {}, whose references are stored as reftable: {message}", path.display())]
    Git {
        command: &'static str,
        /// The git directory.
        path: PathBuf,
        /// The error output of git.
        message: String,
    },
}

/// Where a reference must be before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// At this object; `None`: the reference must not exist.
    At(Option<gix::ObjectId>),
    /// Anywhere.
    Any,
}

pub(crate) struct ReferenceChange {
    /// The full name.
    pub(crate) name: String,
    /// Where it must be before.
    pub(crate) expected: Expected,
    /// Where it is afterwards; `None` removes it.
    pub(crate) to: Option<gix::ObjectId>,
}

/// The current position of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The full name of the branch; `None` on a detached HEAD.
    pub(crate) name: Option<String>,
    /// The commit; `None` on a branch without commits.
    pub(crate) commit: Option<gix::ObjectId>,
}

impl Head {
    /// The short name of the branch.
    pub(crate) fn branch(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
    }
}
