//! Paths inside a worktree, checked when they are constructed.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path relative to the root of a worktree: UTF-8, `/`-separated on every platform, without `.`, `..`, empty
/// components or a `.git` component.
///
/// A `RelPath` is well formed, but a component can be a symlink. Use `crate::Worktree::resolve` to check that the
/// path leads to a file inside the worktree.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Box<str>);

/// Why a path was refused.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The path is absolute or empty, contains `..`, `.` or `.git`, or has a character that is not portable.
    #[error("{path:?} is not a plain path inside the worktree")]
    Malformed {
        /// The path as it was given.
        path: String,
    },
    /// The file does not exist.
    #[error("{path} does not exist in the worktree")]
    NotFound {
        /// The path as it was given.
        path: RelPath,
    },
    /// A symlink in the path leads out of the worktree, or the path leads into another repository.
    #[error("{path} leads out of the worktree, or into another repository")]
    Outside {
        /// The path as it was given.
        path: RelPath,
    },
    /// The file system reported an error.
    #[error("cannot resolve {path}")]
    Io {
        /// The path as it was given.
        path: RelPath,
        /// The error of the file system.
        source: std::io::Error,
    },
}

impl RelPath {
    /// Checks a `/`-separated path.
    ///
    /// # Errors
    /// [`PathError::Malformed`] if the path breaks a rule of [`RelPath`].
    pub fn new(path: &str) -> Result<Self, PathError> {
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
        let foreign = |c: char| c == '\0' || (cfg!(windows) && matches!(c, '\\' | ':'));
        if path.split('/').all(plain) && !path.contains(foreign) {
            Ok(Self(path.into()))
        } else {
            Err(PathError::Malformed { path: path.to_owned() })
        }
    }

    /// Converts a relative path of the file system; `None` if it is not UTF-8 or not well formed.
    pub fn from_relative(path: &Path) -> Option<Self> {
        let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
        Self::new(&parts?.join("/")).ok()
    }

    /// Returns the path with `/` between its components.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the text behind the last `.` of the file name; empty for `Makefile` and `.gitignore`.
    pub fn extension(&self) -> &str {
        match self.file_name().rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => extension,
            _ => "",
        }
    }

    /// Returns the relative path with the platform's separators.
    pub fn to_path_buf(&self) -> PathBuf {
        self.0.split('/').collect()
    }
}

impl RelPath {
    /// Returns the path for a line of output: quoted and escaped if it contains control characters, so that a file name
    /// cannot fake an output line.
    pub fn printed(&self) -> Cow<'_, str> {
        if self.0.contains(char::is_control) {
            Cow::Owned(format!("\"{}\"", self.0.escape_debug()))
        } else {
            Cow::Borrowed(&self.0)
        }
    }

    /// Returns the parent directory; `None` at the top.
    pub fn parent(&self) -> Option<Self> {
        let (parent, _) = self.0.rsplit_once('/')?;
        Some(Self(parent.into()))
    }

    /// Returns whether the path is `directory` or lies below it.
    pub fn is_under(&self, directory: &Self) -> bool {
        let rest = self.0.strip_prefix(&*directory.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
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
    fn only_plain_relative_paths_are_valid() {
        for valid in ["a", "src/lib.rs", ".github/workflows/ci.yml", "ünï/cödé.py", "a..b/c...d", ".gitignore"] {
            assert_eq!(RelPath::new(valid).unwrap().as_str(), valid);
        }
        for invalid in ["", "/", "/etc/passwd", "..", "a/../b", "a//b", "a/", "./a", "a/.git/config", ".GIT/x", "a\0b"]
        {
            assert!(matches!(RelPath::new(invalid), Err(PathError::Malformed { .. })), "{invalid:?}");
        }
    }

    #[test]
    fn names_its_parts() {
        let path = RelPath::new("src/render.test.ts").unwrap();
        assert_eq!((path.file_name(), path.extension()), ("render.test.ts", "ts"));
        assert_eq!(RelPath::new(".env").unwrap().extension(), "");
        assert_eq!(RelPath::from_relative(Path::new("a/b")).unwrap().as_str(), "a/b");
        assert!(RelPath::from_relative(Path::new("../b")).is_none());
        assert_eq!(path.parent(), RelPath::new("src").ok());
        assert_eq!(RelPath::new("a").unwrap().parent(), None);
        let under = |a: &str, b: &str| RelPath::new(a).unwrap().is_under(&RelPath::new(b).unwrap());
        assert!(under("a/b", "a") && under("a", "a") && !under("ab", "a") && !under("a", "a/b"));
    }

    #[test]
    fn control_characters_are_escaped_in_output() {
        let printed = |path: &str| RelPath::new(path).unwrap().printed().into_owned();
        assert_eq!(printed("sr\u{e7}/a b.rs"), "sr\u{e7}/a b.rs");
        assert_eq!(printed("a\nb.rs:1:x"), "\"a\\nb.rs:1:x\"");
    }
}
