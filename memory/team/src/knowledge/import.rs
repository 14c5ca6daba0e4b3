//! Imports knowledge from another repository: files that are missing here are copied, and nothing else changes.

use std::path::{Path, PathBuf};

use muninn_base::page_files::is_directory;
use muninn_base::{Links, RelPath, read_regular};
use muninn_repo_tools::Worktree;
use muninn_repo_tools::front_matter::{FrontMatter, quoted};
use muninn_text::redact::redact;
use serde::Serialize;
use thiserror::Error;

use super::listing::Listing;
use super::write::{KnowledgeDir, WriteError};
use super::{MAX_FILE_BYTES, ROOT, front};

/// The result of an import. Paths begin at `.muninn/knowledge`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// The name of the other repository or folder.
    pub from: String,
    /// New files.
    pub imported: Vec<RelPath>,
    /// Files that exist here with the same content.
    pub same: Vec<RelPath>,
    /// Files that were not copied.
    pub refused: Vec<RefusedFile>,
}

/// A file that was not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedFile {
    /// Its path below the other folder.
    pub path: String,
    pub reason: String,
}

/// Why nothing was imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// Not a directory.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// The given path.
        path: PathBuf,
    },
    /// A repository without knowledge.
    #[error("the repository {path} has no {ROOT} of its own")]
    NoKnowledge {
        /// The given path.
        path: PathBuf,
    },
    /// The source is this worktree's own knowledge.
    #[error("{path} is this worktree's own knowledge")]
    Itself {
        /// The given path.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Why one file is not copied.
#[derive(Debug, Error)]
enum CopyError {
    #[error("it holds a secret")]
    Secret,
    #[error("it grew beyond what is read")]
    TooLarge,
    #[error("it is not UTF-8")]
    NotUtf8,
    #[error("a different file with this name exists and was not replaced")]
    Differs,
    #[error(transparent)]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Copies missing files from a repository, from its `.muninn/knowledge`, or from a folder of Markdown.
///
/// # Errors
/// [`ImportError`]. Files that are not copied are listed in the result.
pub fn import(worktree: &Worktree, from: &Path) -> Result<ImportReport, ImportError> {
    let mut folder = KnowledgeDir::of(worktree)?;
    let (top, name) = source(from)?;
    if top.starts_with(worktree.root().join(ROOT)) {
        return Err(ImportError::Itself { path: from.to_owned() });
    }
    let listing = Listing::below(&top, &top);
    let mut imported = ImportReport { from: name, ..ImportReport::default() };
    for skipped in listing.skipped {
        imported.refuse(skipped.path, format!("it {}", skipped.reason));
    }
    for file in listing.files {
        match copy(&mut folder, &top, &file.path, &imported.from) {
            Ok(true) => imported.imported.push(file.path),
            Ok(false) => imported.same.push(file.path),
            Err(error) => imported.refuse(file.path.to_string(), error.to_string()),
        }
    }
    Ok(imported)
}

impl ImportReport {
    fn refuse(&mut self, path: String, reason: String) {
        self.refused.push(RefusedFile { path, reason });
    }
}

/// The source folder, and the name of its repository. A symlink given by the user is followed; symlinks inside the
/// folder are not.
fn source(from: &Path) -> Result<(PathBuf, String), ImportError> {
    let not_a_directory = || ImportError::NotADirectory { path: from.to_owned() };
    let given = from.canonicalize().map_err(|_| not_a_directory())?;
    if !given.is_dir() {
        return Err(not_a_directory());
    }
    let inside = given.join(ROOT);
    let top = if is_directory(&given.join(".muninn")) && is_directory(&inside) {
        inside
    } else if given.join(".git").symlink_metadata().is_ok() {
        return Err(ImportError::NoKnowledge { path: from.to_owned() });
    } else {
        given
    };
    let named = if top.ends_with(ROOT) { top.ancestors().nth(2) } else { Some(top.as_path()) };
    let name = named.and_then(Path::file_name).unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    Ok((top, name))
}

/// Copies one file. Returns whether it is new.
fn copy(folder: &mut KnowledgeDir, top: &Path, path: &RelPath, from: &str) -> Result<bool, CopyError> {
    let text = read(&top.join(path.to_path_buf()))?;
    if redact(&text) != text {
        return Err(CopyError::Secret);
    }
    let signed = signed(&text, from);
    if folder.create(path, signed.as_bytes())? {
        return Ok(true);
    }
    let here = folder.path(path);
    match read(&here).ok() {
        Some(here) if here == text || here == signed => Ok(false),
        _ => Err(CopyError::Differs),
    }
}

fn read(path: &Path) -> Result<String, CopyError> {
    let bytes = read_regular(path, Links::Refuse, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => CopyError::TooLarge,
        _ => error.into(),
    })?;
    String::from_utf8(bytes).map_err(|_| CopyError::NotUtf8)
}

/// Adds `source: import from NAME`, unless the file has a source or invalid front matter.
fn signed(text: &str, from: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let line = format!("source: {}{end}", quoted(&format!("import from {from}")));
    let read = FrontMatter::of(text).ok().flatten();
    match read {
        Some(read) if read.entry("source").is_some() || !read.unparsed_lines.is_empty() => text.to_owned(),
        Some(read) => {
            let closing = read.last_line as usize - 1;
            let at: usize = text.split_inclusive('\n').take(closing).map(str::len).sum();
            format!("{}{line}{}", &text[..at], &text[at..])
        }
        None if !front(text).understood => text.to_owned(),
        None => {
            let (mark, rest) = text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
            format!("{mark}---{end}{line}---{end}{rest}")
        }
    }
}
