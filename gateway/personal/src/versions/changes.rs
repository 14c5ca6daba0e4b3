//! The files of a memory that differ from the newest commit.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use muninn_notebooks::personal::layout::{self, FileKind};

use super::VersionError;
use super::repository::{IGNORE_FILE, Repository, file_error, succeeded};
use crate::process::{End, MOST_KEPT};

/// More changed files than this are one commit: somebody copied them here.
pub(super) const MOST_CHANGES: usize = 50;
/// The bytes of the list of all files, which has about 100 for each.
const MOST_LISTED: usize = 16 << 20;
/// The files of one call of git.
const CHUNK: usize = 5_000;
/// The mode of a file in a tree.
const MODE: &str = "100644";

/// A changed file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// Its path, which has no character that git gives a meaning.
    path: String,
    /// Its content as an object of git; `None` if it was removed.
    object: Option<String>,
}

impl Change {
    pub(super) fn subject(&self) -> String {
        let verb = if self.object.is_some() { "Update" } else { "Remove" };
        format!("{verb} {}", self.path)
    }

    /// The change in the language of `git fast-import`.
    pub(super) fn command(&self) -> String {
        match &self.object {
            Some(object) => format!("M {MODE} {object} {}\n", self.path),
            None => format!("D {}\n", self.path),
        }
    }

    /// The change in the language of `git update-index --index-info`.
    ///
    /// `none`: the object of a removed file, zeros of the length that the repository's objects have.
    pub(super) fn index_entry(&self, none: &str) -> String {
        match &self.object {
            Some(object) => format!("{MODE} {object}\t{}\0", self.path),
            None => format!("0 {none}\t{}\0", self.path),
        }
    }
}

/// The newest commit; `None` before the first one.
pub(super) async fn head(repository: &Repository<'_>) -> Result<Option<String>, VersionError> {
    let arguments = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
    let asked = repository.output(&arguments, "", MOST_KEPT).await?;
    match asked.end {
        End::Exited(status) if status.code() == Some(1) && asked.stderr.is_empty() => Ok(None),
        _ => succeeded("rev-parse", asked).map(|head| Some(head.trim().to_owned())),
    }
}

/// The changed files of the directory. Files that are no part of a memory are not looked at, whether git knows them or not.
pub(super) async fn changes(
    root: &Path,
    repository: &Repository<'_>,
    head: Option<&str>,
) -> Result<Vec<Change>, VersionError> {
    let known = match head {
        Some(head) => known(repository, head).await?,
        None => BTreeMap::new(),
    };
    let listing = layout::list(root).map_err(file_error(root))?;
    let mut paths: Vec<String> = listing.files.into_iter().map(|file| file.path).collect();
    if is_file(root, IGNORE_FILE) {
        paths.insert(0, IGNORE_FILE.to_owned());
    }
    let new: Vec<&String> = paths.iter().filter(|path| !known.contains_key(*path)).collect();
    let ignored = ignored(repository, &new).await?;
    paths.retain(|path| !ignored.contains(path));
    let objects = objects(repository, &paths, false).await?;
    let mut changed: Vec<String> = Vec::new();
    for (path, object) in paths.iter().zip(&objects) {
        if known.get(path) != Some(object) {
            changed.push(path.clone());
        }
    }
    let written = objects_of(repository, changed).await?;
    let gone = known.into_keys().filter(|path| {
        let metadata = root.join(path).symlink_metadata();
        metadata.is_err_and(|error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    });
    let removed = gone.map(|path| Change { path, object: None });
    Ok(removed.collect::<Vec<_>>().into_iter().chain(written).collect())
}

/// Writes the objects of changed files.
async fn objects_of(repository: &Repository<'_>, paths: Vec<String>) -> Result<Vec<Change>, VersionError> {
    let objects = objects(repository, &paths, true).await?;
    let changes = paths.into_iter().zip(objects).map(|(path, object)| Change { path, object: Some(object) });
    Ok(changes.collect())
}

fn is_file(root: &Path, name: &str) -> bool {
    let metadata = root.join(name).symlink_metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() <= FileKind::Settings.most_bytes())
}

/// The files of a commit that are kept, with their objects. One that is no plain file there has none.
async fn known(repository: &Repository<'_>, head: &str) -> Result<BTreeMap<String, String>, VersionError> {
    let arguments = ["ls-tree", "-r", "-z", "--full-tree", head];
    let listed = succeeded("ls-tree", repository.output(&arguments, "", MOST_LISTED).await?)?;
    if !listed.is_empty() && !listed.ends_with('\0') {
        return Err(VersionError::TooMany);
    }
    let mut known = BTreeMap::new();
    for entry in listed.split_terminator('\0') {
        let Some((about, path)) = entry.split_once('\t') else {
            continue;
        };
        if FileKind::of(path).is_some() || path == IGNORE_FILE {
            let object = about.strip_prefix(MODE).and_then(|about| about.rsplit(' ').next());
            known.insert(path.to_owned(), object.unwrap_or_default().to_owned());
        }
    }
    Ok(known)
}

/// The objects of files, in their order. `write`: whether git keeps them. No filter changes the contents.
async fn objects(repository: &Repository<'_>, paths: &[String], write: bool) -> Result<Vec<String>, VersionError> {
    let mut objects = Vec::new();
    for paths in paths.chunks(CHUNK) {
        let lines: String = paths.iter().map(|path| format!("{path}\n")).collect();
        let arguments = ["--no-filters", "--stdin-paths", "-w"];
        let arguments = &arguments[..if write { 3 } else { 2 }];
        let printed = repository.run("hash-object", arguments, &lines).await?;
        objects.extend(printed.lines().map(str::to_owned));
    }
    if objects.len() == paths.len() { Ok(objects) } else { Err(VersionError::TooMany) }
}

/// Those of new files that the user's patterns leave out.
async fn ignored(repository: &Repository<'_>, paths: &[&String]) -> Result<Vec<String>, VersionError> {
    let mut ignored = Vec::new();
    for paths in paths.chunks(CHUNK) {
        let names: String = paths.iter().map(|path| format!("{path}\0")).collect();
        let arguments = ["check-ignore", "--no-index", "-z", "--stdin"];
        let asked = repository.output(&arguments, &names, MOST_KEPT).await?;
        // 1: none is.
        if matches!(asked.end, End::Exited(status) if status.code() == Some(1)) {
            continue;
        }
        let printed = succeeded("check-ignore", asked)?;
        ignored.extend(printed.split_terminator('\0').map(str::to_owned));
    }
    Ok(ignored)
}
