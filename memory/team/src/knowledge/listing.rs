//! Lists the Markdown files below a directory without following symlinks, and the files that were skipped.

use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use muninn_base::RelPath;
use muninn_base::page_files::is_directory;
use muninn_base::stamp::Stamp;
use muninn_repo_tools::{Worktree, is_secret};

use super::{MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES, ROOT};

/// The files of a directory.
#[derive(Default)]
pub struct Listing {
    /// Files sorted by path, from the root of the listing.
    pub files: Vec<MarkdownFile>,
    pub skipped: Vec<SkippedFile>,
    /// Total size of the files.
    pub(super) bytes: u64,
    bounds: Bounds,
}

/// Which files are listed.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The most files.
    pub files: usize,
    /// The most bytes of one file.
    pub file_bytes: u64,
    /// The most bytes of all files.
    pub bytes: u64,
    /// Whether hidden files and directories are listed: those of git, of editors and of forges.
    pub hidden: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { files: MAX_FILES, file_bytes: MAX_FILE_BYTES, bytes: MAX_TOTAL_BYTES, hidden: true }
    }
}

/// A listed file.
pub struct MarkdownFile {
    /// Its path, from the root of the listing.
    pub path: RelPath,
    pub size: u64,
    pub modified: SystemTime,
}

impl From<&MarkdownFile> for Stamp {
    fn from(file: &MarkdownFile) -> Self {
        Self { path: file.path.to_string(), size: file.size, modified: file.modified }
    }
}

pub struct SkippedFile {
    /// Its path, from the root of the listing.
    pub(super) path: String,
    pub(super) reason: SkipReason,
}

/// Why a file was skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    Symlink,
    Name,
    TooDeep,
    TooLarge { bytes: u64, most: u64 },
    TooMuch,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symlink => f.write_str("is a symlink, which is not followed"),
            Self::Name => f.write_str("has a name that is not portable, or that of a file of secrets"),
            Self::TooDeep => write!(f, "lies more than {MAX_DEPTH} directories deep"),
            Self::TooLarge { bytes, most } => write!(f, "has {bytes} bytes, and {most} are the most that is read"),
            Self::TooMuch => f.write_str("exceeds the limit on knowledge as a whole"),
        }
    }
}

impl fmt::Display for SkippedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: skipped: it {}", self.path.escape_debug(), self.reason)
    }
}

impl Listing {
    /// Lists a worktree's `.muninn/knowledge`, if it is a real directory, and the wiki in another folder of it.
    pub(super) fn of_worktree(worktree: &Worktree, wiki: Option<&RelPath>) -> Self {
        let root = worktree.root();
        let is_set_up = is_directory(&root.join(".muninn"));
        let mut listing = if is_set_up { Self::below(root, &root.join(ROOT)) } else { Self::default() };
        if let Some(wiki) = wiki.filter(|wiki| !wiki.to_path_buf().starts_with(ROOT)) {
            listing.bounds.hidden = false;
            listing.visit(root, &root.join(wiki.to_path_buf()), 0);
            listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        }
        listing
    }

    /// Lists the files below a directory, with other bounds than those of knowledge.
    pub fn with_bounds(root: &Path, bounds: Bounds) -> Self {
        let mut listing = Self { bounds, ..Self::default() };
        listing.visit(root, root, 0);
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        listing
    }

    /// Lists the files below `top`, with paths from `root`.
    pub(super) fn below(root: &Path, top: &Path) -> Self {
        let mut listing = Self::default();
        listing.visit(root, top, 0);
        listing.files.sort_by(|a, b| a.path.cmp(&b.path));
        listing
    }

    fn visit(&mut self, root: &Path, path: &Path, depth: usize) {
        let Ok(metadata) = path.symlink_metadata() else {
            return;
        };
        if metadata.is_dir() && depth < MAX_DEPTH {
            let mut entries: Vec<_> = std::fs::read_dir(path).into_iter().flatten().flatten().collect();
            // Sorted, so that the files beyond a limit do not depend on the file system's order.
            entries.sort_by_key(std::fs::DirEntry::file_name);
            if !self.bounds.hidden {
                entries.retain(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
            }
            entries.iter().for_each(|entry| self.visit(root, &entry.path(), depth + 1));
            return;
        }
        let below = path.strip_prefix(root).unwrap_or(path);
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        let reason = if metadata.is_symlink() {
            SkipReason::Symlink
        } else if metadata.is_dir() {
            SkipReason::TooDeep
        } else if !metadata.is_file() || !is_markdown {
            return;
        } else {
            match portable(below) {
                None => SkipReason::Name,
                Some(_) if metadata.len() > self.bounds.file_bytes => {
                    SkipReason::TooLarge { bytes: metadata.len(), most: self.bounds.file_bytes }
                }
                Some(_) if self.files.len() >= self.bounds.files || self.bytes + metadata.len() > self.bounds.bytes => {
                    SkipReason::TooMuch
                }
                Some(path) => {
                    self.bytes += metadata.len();
                    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
                    let size = metadata.len();
                    return self.files.push(MarkdownFile { path, size, modified });
                }
            }
        };
        let path = below.to_string_lossy().into_owned();
        self.skipped.push(SkippedFile { path, reason });
    }
}

/// Returns a path that is valid on every platform.
fn portable(path: &Path) -> Option<RelPath> {
    let foreign = |c: char| c.is_control() || matches!(c, '\\' | ':');
    let path = RelPath::from_relative(path)?;
    (!path.as_str().contains(foreign) && !is_secret(&path)).then_some(path)
}
