//! The files by which a git directory is recognised: `HEAD`, `commondir`, and the `.git` file that points to it.
//!
//! They belong to the repository, which is not trusted. Only regular files are opened, because a named pipe blocks for
//! ever, and only their beginning is read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use gix::bstr::ByteSlice as _;
use muninn_base::beginning;

/// Maximum size of a `.git` file in bytes, the same as git's.
const MAX_GIT_FILE: u64 = 1 << 20;
/// Maximum size of `commondir`. Paths are shorter.
const MAX_COMMON_DIR: u64 = 1 << 16;
/// The part of `HEAD` that git reads to recognise a repository.
const HEAD_BYTES: u64 = 255;

/// The use of a `.git` entry.
pub(super) enum DotGit {
    /// There is no `.git`, or one that is neither a file nor a directory.
    None,
    Directory,
    /// A file with the path of a git directory.
    File(PathBuf),
}

/// Why a `.git` file names no git directory.
#[derive(Debug, thiserror::Error)]
pub enum GitFileError {
    /// The file cannot be read.
    #[error("it cannot be read")]
    Read(#[source] io::Error),
    /// The file has more than a mebibyte.
    #[error("it is larger than a path can be")]
    TooLarge,
    /// The file does not begin with `gitdir: `.
    #[error("it does not begin with `gitdir: `")]
    Format,
    /// The file names nothing.
    #[error("no path follows `gitdir: `")]
    NoPath,
}

impl DotGit {
    /// Reads the `.git` entry of a directory. Links are followed, and a relative path counts from the directory.
    pub(super) fn of(directory: &Path) -> Result<Self, GitFileError> {
        let path = directory.join(".git");
        let Ok(metadata) = path.metadata() else {
            return Ok(Self::None);
        };
        if metadata.is_dir() {
            return Ok(Self::Directory);
        }
        if !metadata.is_file() {
            return Ok(Self::None);
        }
        if metadata.len() > MAX_GIT_FILE {
            return Err(GitFileError::TooLarge);
        }
        let text = beginning(&path, MAX_GIT_FILE).map_err(GitFileError::Read)?;
        let target = text.strip_prefix(b"gitdir: ").ok_or(GitFileError::Format)?;
        let target = without_line_end(target);
        if target.is_empty() {
            return Err(GitFileError::NoPath);
        }
        Ok(Self::File(directory.join(target.to_path_lossy())))
    }
}

/// Returns whether git takes a directory for a git directory: its HEAD has the form of a reference or of an id, and the
/// repository has objects and references.
pub(super) fn is_git_dir(directory: &Path) -> bool {
    let common_dir = || common_dir(directory).ok();
    has_head(directory)
        && common_dir().is_some_and(|common| common.join("objects").is_dir() && common.join("refs").is_dir())
}

fn has_head(git_dir: &Path) -> bool {
    let head = git_dir.join("HEAD");
    if let Ok(target) = fs::read_link(&head) {
        return target.as_os_str().as_encoded_bytes().starts_with(b"refs/");
    }
    let Ok(text) = beginning(&head, HEAD_BYTES) else {
        return false;
    };
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => text.len() >= 40 && text[..40].iter().all(u8::is_ascii_hexdigit),
    }
}

/// Returns the directory that all worktrees of a repository share: the one that `commondir` names, or else the git
/// directory itself.
pub(super) fn common_dir(git_dir: &Path) -> io::Result<PathBuf> {
    match beginning(&git_dir.join("commondir"), MAX_COMMON_DIR) {
        Ok(text) => {
            let path = without_line_end(&text);
            if path.is_empty() {
                return Err(io::Error::other("`commondir` is empty"));
            }
            git_dir.join(path.to_path_lossy()).canonicalize()
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => git_dir.canonicalize(),
        Err(error) => Err(error),
    }
}

fn without_line_end(mut text: &[u8]) -> &[u8] {
    while let Some(shorter) = text.strip_suffix(b"\n").or(text.strip_suffix(b"\r")) {
        text = shorter;
    }
    text
}
