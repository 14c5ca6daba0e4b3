use std::io;
use std::path::PathBuf;

use muninn_base::page_files::FileError;
use muninn_repo_tools::front_matter::{EditError, UnclosedFrontMatter};
use muninn_team::knowledge::Full;
use thiserror::Error;

use super::path::{PagePath, PagePathError};

/// Why a wiki cannot be read or changed. Nothing is changed then.
#[derive(Debug, Error)]
pub enum WikiError {
    /// The folder does not exist.
    #[error("there is no folder {}", .0.display())]
    NoFolder(PathBuf),
    /// The caller's key does not allow the folder, which lies outside of the repository.
    #[error("the access key does not allow the wiki's folder")]
    NotAllowed,
    /// The path names no page.
    #[error(transparent)]
    Path(#[from] PagePathError),
    /// There is no such page.
    #[error("there is no page {path}{}", near.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default())]
    NoPage {
        path: PagePath,
        /// The page that may be meant.
        near: Option<PagePath>,
    },
    #[error("there is a page {0}")]
    Exists(PagePath),
    /// The page was changed since the version that the caller has.
    #[error("{page} was changed since it was read: its etag is {etag}")]
    Changed {
        page: PagePath,
        /// The version now.
        etag: String,
    },
    /// The text contains a secret, which must not reach git.
    #[error("the text holds a secret")]
    Secret,
    /// The page would be written, but not read.
    #[error(transparent)]
    Full(#[from] Full),
    /// The front matter of the text is never closed.
    #[error(transparent)]
    FrontMatter(#[from] UnclosedFrontMatter),
    /// The front matter cannot be changed.
    #[error(transparent)]
    FrontMatterKey(#[from] EditError),
    /// Parts of the page that are to stay cannot be read.
    #[error("{0} is not UTF-8, so it can only be replaced with its front matter")]
    NotUtf8(PagePath),
    /// A link of another page cannot be changed.
    #[error("cannot move the page: {page} has a link to it that cannot be changed: {reason}")]
    Link {
        /// The page with the link.
        page: PagePath,
        reason: String,
    },
    /// The page cannot be read.
    #[error("cannot read {page}: {source}")]
    Read {
        page: PagePath,
        /// The system's error.
        source: io::Error,
    },
    /// The page cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// What Muninn keeps of the wiki cannot be written.
    #[error("cannot use {}: {source}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
