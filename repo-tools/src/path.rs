//! Paths inside a worktree, checked once when they are made.

use std::borrow::Borrow;
use std::fmt;
use std::path::{Path, PathBuf};

/// A path relative to the root of a worktree: UTF-8, `/`-separated on every platform, without `.`, `..`, empty
/// components or a `.git` component.
///
/// Holding one proves only that it is well formed. Whether it leads somewhere inside the worktree is for
/// [`crate::Worktree::resolve`] to say, because a symlink may be in the way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Box<str>);

/// Why a path was refused.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// Absolute, empty, with `..` or `.`, inside `.git`, or with a character that no portable path has.
    #[error("{path:?} is not a plain path inside the worktree")]
    Malformed {
        /// The path as it was given.
        path: String,
    },
    /// There is no such file.
    #[error("{path} does not exist in the worktree")]
    NotFound {
        /// The path as it was given.
        path: RelPath,
    },
    /// A symlink on the way leads out of the worktree, or into another repository.
    #[error("{path} leads out of the worktree")]
    Outside {
        /// The path as it was given.
        path: RelPath,
    },
    /// The file system refused.
    #[error("cannot resolve {path}")]
    Io {
        /// The path as it was given.
        path: RelPath,
        /// What the file system said.
        source: std::io::Error,
    },
}

impl RelPath {
    /// Checks and takes a `/`-separated path.
    ///
    /// # Errors
    /// [`PathError::Malformed`] for everything that is not plainly inside.
    pub fn new(path: &str) -> Result<Self, PathError> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
        let foreign = |c: char| c == '\0' || (cfg!(windows) && matches!(c, '\\' | ':'));
        if path.split('/').all(plain) && !path.contains(foreign) {
            Ok(Self(path.into()))
        } else {
            Err(PathError::Malformed { path: path.to_owned() })
        }
    }

    /// Takes a path that a walk found below a root; `None` if it is not UTF-8 or not well formed.
    pub fn from_relative(path: &Path) -> Option<Self> {
        let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
        Self::new(&parts?.join("/")).ok()
    }

    /// The path with `/` between its components.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// What follows the last `.` of the file name; empty for `Makefile` and `.gitignore`.
    pub fn extension(&self) -> &str {
        match self.file_name().rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => extension,
            _ => "",
        }
    }

    /// The same path in the platform's own form, relative.
    pub fn to_path_buf(&self) -> PathBuf {
        self.0.split('/').collect()
    }
}

impl Borrow<str> for RelPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_plain_paths_only() {
        for good in [
            "a",
            "src/lib.rs",
            ".github/workflows/ci.yml",
            "ünï/cödé.py",
            "a..b/c...d",
            ".gitignore",
        ] {
            assert_eq!(RelPath::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            "a/.git/config",
            ".GIT/x",
            "a\0b",
        ] {
            assert!(matches!(RelPath::new(bad), Err(PathError::Malformed { .. })), "{bad:?}");
        }
    }

    #[test]
    fn names_its_parts() {
        let path = RelPath::new("src/render.test.ts").unwrap();
        assert_eq!((path.file_name(), path.extension()), ("render.test.ts", "ts"));
        assert_eq!(RelPath::new(".env").unwrap().extension(), "");
        assert_eq!(RelPath::from_relative(Path::new("a/b")).unwrap().as_str(), "a/b");
        assert!(RelPath::from_relative(Path::new("../b")).is_none());
    }
}
