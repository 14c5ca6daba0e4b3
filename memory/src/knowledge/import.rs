//! Knowledge out of another repository: what is missing here is copied, and nothing else is touched.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use muninn_repo_tools::front_matter::{FrontMatter, quoted};
use muninn_repo_tools::{RelPath, Worktree};
use serde::Serialize;
use thiserror::Error;

use super::listing::{Listing, is_directory};
use super::write::{Folder, WriteError};
use super::{MAX_FILE_BYTES, ROOT, front};
use crate::redact::redact;

/// What came of an import. Paths begin at `.muninn/knowledge`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// The name of the other repository, or of the folder.
    pub from: String,
    /// What is new here.
    pub imported: Vec<RelPath>,
    /// What was here already, word for word.
    pub same: Vec<RelPath>,
    /// What was not copied.
    pub refused: Vec<Refused>,
}

/// A file that was not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Its path below the other folder.
    pub path: String,
    /// Why, for a person.
    pub reason: String,
}

/// Why nothing was imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// There is no such directory.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// What was given.
        path: PathBuf,
    },
    /// A repository, and not one that holds knowledge.
    #[error("the repository {path} has no {ROOT} of its own")]
    NoKnowledge {
        /// What was given.
        path: PathBuf,
    },
    /// Here and there are the same.
    #[error("{path} is this worktree's own knowledge")]
    Itself {
        /// What was given.
        path: PathBuf,
    },
    /// Nothing can be written here.
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
    #[error("another file of that name is here, and stays")]
    Differs,
    #[error(transparent)]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Copies from a repository, its `.muninn/knowledge`, or a plain folder of Markdown what is not here yet.
///
/// # Errors
/// [`ImportError`]. What is refused file by file is told in the result.
pub fn import(worktree: &Worktree, from: &Path) -> Result<Imported, ImportError> {
    let folder = Folder::of(worktree)?;
    let (top, name) = source(from)?;
    if top.starts_with(worktree.root().join(ROOT)) {
        return Err(ImportError::Itself { path: from.to_owned() });
    }
    let listing = Listing::below(&top, &top);
    let mut imported = Imported {
        from: name,
        ..Imported::default()
    };
    for left_out in listing.left_out {
        imported.refuse(left_out.path, format!("it {}", left_out.reason));
    }
    for file in listing.files {
        match copy(&folder, &top, &file.path, &imported.from) {
            Ok(true) => imported.imported.push(file.path),
            Ok(false) => imported.same.push(file.path),
            Err(error) => imported.refuse(file.path.to_string(), error.to_string()),
        }
    }
    Ok(imported)
}

impl Imported {
    fn refuse(&mut self, path: String, reason: String) {
        self.refused.push(Refused { path, reason });
    }
}

/// The folder that is meant, and what its repository is called. Whoever names a symlink means where it leads; one inside
/// is another's word.
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
    let named = if top.ends_with(ROOT) {
        top.ancestors().nth(2)
    } else {
        Some(top.as_path())
    };
    let name = named.and_then(Path::file_name).unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    Ok((top, name))
}

/// Copies one file; whether it is new here, or why it is not copied.
fn copy(folder: &Folder, top: &Path, path: &RelPath, from: &str) -> Result<bool, CopyError> {
    let text = read(&top.join(path.to_path_buf()))?;
    if redact(&text) != text {
        return Err(CopyError::Secret);
    }
    let signed = signed(&text, from);
    if folder.create(path, signed.as_bytes())? {
        return Ok(true);
    }
    let here = folder.path(path);
    let regular = here.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    match read(&here).ok().filter(|_| regular) {
        Some(here) if here == text || here == signed => Ok(false),
        _ => Err(CopyError::Differs),
    }
}

fn read(path: &Path) -> Result<String, CopyError> {
    let file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    let bound = MAX_FILE_BYTES + 1;
    file.take(bound).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == bound {
        return Err(CopyError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_| CopyError::NotUtf8)
}

/// The text with `source: import from NAME`, unless it has a source or its front matter is not understood.
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
            let (mark, rest) = text.split_at(if text.starts_with('\u{feff}') {
                '\u{feff}'.len_utf8()
            } else {
                0
            });
            format!("{mark}---{end}{line}---{end}{rest}")
        }
    }
}
