//! The path of a page: relative to the wiki, without `.md`.

use std::fmt;

use muninn_base::RelPath;
use muninn_repo_tools::is_secret;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use unicode_normalization::UnicodeNormalization as _;

/// The most characters of a path, and the most bytes of a part of it: file systems refuse longer names.
const MOST_CHARACTERS: usize = 250;
const MOST_PART_BYTES: usize = 200;
/// The extension of a page's file.
pub(super) const EXTENSION: &str = ".md";
/// Names that Windows reserves, in any case and with any extension.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// A page's path, in Unicode's composed form (NFC): `projects/mind-map`. It is valid on every platform.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PagePath(String);

/// Why a path names no page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PagePathError {
    #[error("a page needs a path, such as projects/mind-map")]
    Empty,
    /// It is absolute, has an empty part, `.` or `..`, or leads into git's directory.
    #[error("`{0}` is no plain relative path: write parts separated by `/`, without `.` and `..`")]
    Malformed(String),
    /// It has a character that some platform refuses.
    #[error("`{path}` contains {found:?}, which is not allowed in a page's path")]
    Character {
        path: String,
        /// The character.
        found: char,
    },
    /// A part is reserved on Windows, hidden, or ends with a dot or a blank.
    #[error("`{part}` is no portable name: it is reserved, begins with a dot, or ends with a dot or a blank")]
    Name { part: String },
    /// It, or a part of it, is too long.
    #[error("the path has more than {MOST_CHARACTERS} characters, or a part of more than {MOST_PART_BYTES} bytes")]
    TooLong,
}

impl PagePath {
    /// Checks a path. An extension `.md` is taken off, and decomposed letters (NFD) are composed.
    pub fn new(path: &str) -> Result<PagePath, PagePathError> {
        let composed: String = path.nfc().collect();
        let path = composed.strip_suffix(EXTENSION).unwrap_or(&composed);
        if path.is_empty() {
            return Err(PagePathError::Empty);
        }
        if path.chars().count() > MOST_CHARACTERS || path.split('/').any(|part| part.len() > MOST_PART_BYTES) {
            return Err(PagePathError::TooLong);
        }
        let foreign =
            |c: char| c.is_control() || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '[' | ']');
        if let Some(found) = path.chars().find(|c| foreign(*c)) {
            let path = path.escape_debug().to_string();
            return Err(PagePathError::Character { path, found });
        }
        let malformed = |_| PagePathError::Malformed(path.to_owned());
        RelPath::new(path).map_err(malformed)?;
        let file = RelPath::new(&format!("{path}{EXTENSION}")).map_err(malformed)?;
        if let Some(part) = path.split('/').find(|part| !is_portable(part)) {
            let part = part.to_owned();
            return Err(PagePathError::Name { part });
        }
        if is_secret(&file) {
            let part = file.file_name().to_owned();
            return Err(PagePathError::Name { part });
        }
        Ok(PagePath(path.to_owned()))
    }

    /// The path of a file with the extension `.md`; `None` for other files and other names.
    pub fn of_file(file: &str) -> Option<PagePath> {
        file.strip_suffix(EXTENSION).and_then(|path| PagePath::new(path).ok())
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The first folder; `None` for a page at the top.
    pub fn area(&self) -> Option<&str> {
        self.0.split_once('/').map(|(area, _)| area)
    }

    /// The folder; empty at the top.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The page's file, relative to the wiki.
    pub fn file(&self) -> String {
        format!("{}{EXTENSION}", self.0)
    }

    /// The form in which paths are compared where case does not matter. Two pages of a wiki never share one.
    pub fn folded(&self) -> String {
        folded(&self.0)
    }

    /// The page that a relative link names, from the folder of this page.
    pub fn relative(&self, link: &str) -> Option<PagePath> {
        let from_top = link.strip_prefix('/');
        let mut parts: Vec<&str> = match from_top {
            Some(_) => Vec::new(),
            None => self.folder().split('/').filter(|part| !part.is_empty()).collect(),
        };
        for part in from_top.unwrap_or(link).split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                part => parts.push(part),
            }
        }
        PagePath::new(&parts.join("/")).ok()
    }

    /// The file of another page, relative to the folder of this one: `../http/errors.md`.
    pub(super) fn relative_to(&self, target: &PagePath) -> String {
        let folders = |path: &'_ PagePath| -> Vec<String> {
            let parts = path.folder().split('/').filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        let (here, there) = (folders(self), folders(target));
        let common = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
        let mut parts = vec!["..".to_owned(); here.len() - common];
        parts.extend(there.into_iter().skip(common));
        parts.push(format!("{}{EXTENSION}", target.name()));
        parts.join("/")
    }
}

/// A text in composed form and lower case.
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.nfc().flat_map(char::to_lowercase).collect() }
}

fn is_portable(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part);
    let is_reserved = RESERVED.iter().any(|reserved| stem.eq_ignore_ascii_case(reserved));
    !is_reserved && !part.starts_with('.') && !part.ends_with(['.', ' ']) && !part.starts_with(' ')
}

impl fmt::Display for PagePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PagePath {
    type Error = PagePathError;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        PagePath::new(&path)
    }
}

impl From<PagePath> for String {
    fn from(path: PagePath) -> Self {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_paths_name_pages() {
        for (given, expected) in [
            ("a", "a"),
            ("projects/mind-map.md", "projects/mind-map"),
            ("Größe/naïve Idee", "Größe/naïve Idee"),
            ("cafe\u{301}", "café"),
            ("C#/F#.md", "C#/F#"),
        ] {
            assert_eq!(PagePath::new(given).unwrap().as_str(), expected);
        }
        let page = PagePath::new("a/b/c").unwrap();
        assert_eq!((page.name(), page.folder(), page.area()), ("c", "a/b", Some("a")));
        assert_eq!(page.file(), "a/b/c.md");
    }

    #[test]
    fn other_paths_are_refused() {
        let long = "x".repeat(300);
        let deep = "ab/".repeat(100) + "c";
        for path in [
            "", ".md", "/etc/passwd", "../up", "a/../b", "a//b", "a/./b", "a/", "a\\b", "c:d", "a\nb", "nul",
            "x/Con.txt", ".git/x", "a/.hidden", "dot.", "blank ", "a|b", "[[x]]", &long, &deep, ".env",
        ] {
            assert!(PagePath::new(path).is_err(), "{path}");
        }
    }

    #[test]
    fn links_are_relative_to_the_folder_of_their_page() {
        let page = PagePath::new("a/b/c").unwrap();
        let target = |link: &str| page.relative(link).map(String::from);
        assert_eq!(target("d.md").as_deref(), Some("a/b/d"));
        assert_eq!(target("../d").as_deref(), Some("a/d"));
        assert_eq!(target("/d/e").as_deref(), Some("d/e"));
        assert_eq!(target("../../../d"), None);
        for (other, file) in [("a/b/d", "d.md"), ("a/x", "../x.md"), ("y/z", "../../y/z.md"), ("a/b/e/f", "e/f.md")] {
            let other = PagePath::new(other).unwrap();
            assert_eq!(page.relative_to(&other), file);
            assert_eq!(page.relative(file), Some(other));
        }
    }
}
