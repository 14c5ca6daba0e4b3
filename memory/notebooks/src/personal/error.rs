//! Errors of personal memory.

use std::io;
use std::path::PathBuf;

use muninn_text::embed::LoadError;
use thiserror::Error;

use super::limits::MOST_TIMEOUT_SECONDS;

/// Why personal memory was not read or written.
#[derive(Debug, Error)]
pub enum PersonalError {
    /// A file system error.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file or the directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Nobody has set personal memory up.
    #[error("there is no personal memory at {}; `muninn personal init` sets it up", .0.display())]
    NotSetUp(PathBuf),
    /// A text is empty.
    #[error("`{0}` is empty")]
    Empty(&'static str),
    /// A text is too long.
    #[error("`{name}` has {bytes} bytes; the maximum is {most}")]
    TooLong {
        /// The name of the text.
        name: &'static str,
        /// Its size.
        bytes: usize,
        /// The largest size.
        most: usize,
    },
    /// The file of a day is full.
    #[error(
        "{} cannot grow beyond {most} bytes, which is the most that exports and versions take; move lines of it elsewhere, \
         or wait for the next day (UTC)",
        path.display()
    )]
    DayFull {
        /// The file.
        path: PathBuf,
        /// The most bytes.
        most: u64,
    },
    /// The id of a reminder cannot be the name of a file.
    #[error("`{0}` cannot be an id: use letters, digits, `-`, `_` and `.`, at most 100, not beginning with `.`")]
    Id(String),
    /// There is no such reminder.
    #[error("there is no reminder `{0}`")]
    NoReminder(String),
    /// A reminder's file is damaged.
    #[error("{} is damaged: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A time or a date is not understood.
    #[error("`{0}` is neither a date nor a time: write 2026-01-31 or 2026-01-31T10:00:00")]
    Time(String),
    /// A duration is not understood, or too long.
    #[error("`{0}` is no duration: write +90m, +1h30m or +2d")]
    Duration(String),
    /// An expression is not understood, or never due.
    #[error("`{expression}` is no schedule: {message}")]
    Schedule {
        expression: String,
        /// What is wrong with it.
        message: String,
    },
    /// A run would be allowed to take too long.
    #[error("`timeout_seconds` is {0}; the maximum is {MOST_TIMEOUT_SECONDS}")]
    Timeout(u64),
    /// The directory of a run is relative: it would be looked for below that of the daemon.
    #[error("the directory `{}` is not absolute", .0.display())]
    RelativeDirectory(PathBuf),
    /// There is no such time zone.
    #[error("there is no time zone `{0}`: write an IANA name such as Europe/Berlin")]
    Zone(String),
    /// The vectors for the search cannot be loaded.
    #[error(transparent)]
    Embed(#[from] &'static LoadError),
}

impl PersonalError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> PersonalError {
        let path = path.into();
        |source| PersonalError::Io { path, source }
    }
}
