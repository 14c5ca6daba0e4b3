use std::io;
use std::path::PathBuf;

#[cfg(unix)]
use muninn_config::ownership::OwnershipError;
use muninn_notebooks::personal::PersonalError;
use thiserror::Error;

/// Why a change is not committed.
#[derive(Debug, Error)]
pub enum VersionError {
    /// git cannot be started.
    #[error("cannot run git: {0}")]
    Start(io::Error),
    /// git failed.
    #[error("git {what}: {message}")]
    Git {
        /// The command.
        what: &'static str,
        /// The error output of git.
        message: String,
    },
    /// git took too long, or Muninn ends.
    #[error("git {0} did not end in time")]
    Ended(&'static str),
    /// Another git works in the repository.
    #[error("another git works in the repository")]
    Busy,
    /// A person is in the middle of something.
    #[error("the repository has {0}: changes are committed when it is gone")]
    UnderWay(&'static str),
    /// The configuration of the repository may name programs.
    #[error(
        "{} sets `{key}`, and git does not run with it, because the directory may come from elsewhere; remove it with \
         `git config --file {} --unset-all {key}`, or set it in your global configuration",
        path.display(),
        path.display()
    )]
    Setting {
        /// The file.
        path: PathBuf,
        key: String,
    },
    /// A part of the repository, or a file with patterns, is no plain file, or names another place.
    #[error("{} leads elsewhere or is no plain file, and git does not run with it; remove it", .0.display())]
    Elsewhere(PathBuf),
    /// The repository belongs to another user.
    #[cfg(unix)]
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
    /// A remote below the directory would run the programs that it names.
    #[error(
        "`git_remote` = \"{0}\" lies in the directory of personal memory, which may come from elsewhere; nothing is pushed"
    )]
    RemoteInside(String),
    /// The repository has more files than a memory.
    #[error("the repository has too many files")]
    TooMany,
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The settings, or a file.
    #[error(transparent)]
    Personal(#[from] PersonalError),
}
