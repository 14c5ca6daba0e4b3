//! A copy of a directory, as a repository that may be written to.
//!
//! The benchmark edits files in a repository. It leaves the given directory alone: a repository is cloned, and any other
//! directory is copied and made a repository there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use muninn_repo_tools::{WalkLimits, Worktree, read_text, walk};

use crate::command_line::{at, progress};
use muninn_tests::git;

/// Files are made so old: a file that was written just now is looked at twice by an index, as it may change again
/// within a tick of the file system's clock. A checkout of yesterday is the usual case, and is measured.
const AGE: Duration = Duration::from_secs(24 * 3600);
/// Larger files are mostly tables, and do not count towards the lines that are asked for.
const MAX_COUNTED_BYTES: usize = 256 << 10;
/// The order of entries where not all are copied; names that begin alike are often alike.
const SEED: u64 = 0x636f_7270;
/// As the engine has it.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Copies `root` to `to`, which must not exist: all of it, or whole entries of it, drawn with a fixed seed, until
/// `lines` lines are there.
///
/// # Errors
/// When a file cannot be read or written, or git refuses.
pub fn copy(root: &Path, to: &Path, lines: Option<usize>) -> Result<()> {
    let part = to.with_extension("part");
    match fs::remove_dir_all(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error).with_context(at(&part)),
        _ => {}
    }
    if lines.is_none() && is_repository(root) {
        let [from, into] = [root, &part].map(|path| path.to_string_lossy().into_owned());
        git(root, &["clone", "--quiet", &from, &into])?;
        age(&part)?;
        git(&part, &["update-index", "-q", "--refresh"])?;
    } else {
        let mut copied = 0;
        let mut entries = sorted(root)?;
        fastrand::Rng::with_seed(SEED).shuffle(&mut entries);
        for entry in entries {
            if lines.is_some_and(|lines| copied >= lines) {
                break;
            }
            let name = entry.file_name().unwrap_or_default().to_owned();
            copied += copy_entry(&entry, &part.join(name))?;
        }
        progress(&format!("copied {copied} lines of text"));
        age(&part)?;
        git(&part, &["init", "--quiet", "--template="])?;
        git(&part, &["add", "--all"])?;
        git(&part, &["commit", "--quiet", "--message=as it is"])?;
    }
    fs::rename(&part, to).with_context(at(&part))
}

/// Files and lines that the engine would index.
///
/// # Errors
/// When it is no repository.
pub fn size(root: &Path) -> Result<(usize, usize)> {
    let worktree = Worktree::discover(root)?;
    let limits = WalkLimits { max_file_bytes: MAX_FILE_BYTES, ..WalkLimits::default() };
    let texts = walk(&worktree, &limits).files.into_iter();
    let texts = texts.filter_map(|entry| read_text(&worktree, &entry.path, MAX_FILE_BYTES).ok());
    Ok(texts.fold((0, 0), |(files, lines), file| (files + 1, lines + file.text.lines().count())))
}

/// Whether a directory is a worktree's root; a folder in one is just a folder.
fn is_repository(root: &Path) -> bool {
    let top = git(root, &["rev-parse", "--show-toplevel"]);
    let top = top.ok().and_then(|top| Path::new(top.trim_end()).canonicalize().ok());
    top.is_some() && top == root.canonicalize().ok()
}

fn sorted(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(at(dir))?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().with_context(at(dir))?;
    paths.sort();
    Ok(paths)
}

/// Copies a file or a directory and returns its lines of text. Links, and what belongs to git, stay behind.
fn copy_entry(from: &Path, to: &Path) -> Result<usize> {
    let kind = fs::symlink_metadata(from).with_context(at(from))?.file_type();
    if kind.is_dir() && from.file_name().is_some_and(|name| name != ".git") {
        fs::create_dir_all(to).with_context(at(from))?;
        let mut lines = 0;
        for entry in sorted(from)? {
            lines += copy_entry(&entry, &to.join(entry.file_name().unwrap_or_default()))?;
        }
        return Ok(lines);
    }
    if !kind.is_file() {
        return Ok(0);
    }
    let bytes = fs::read(from).with_context(at(from))?;
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).and_then(|()| fs::write(to, &bytes)).with_context(at(from))?;
    let is_text = bytes.len() <= MAX_COUNTED_BYTES && std::str::from_utf8(&bytes).is_ok() && !bytes.contains(&0);
    Ok(if is_text { bytes.iter().filter(|byte| **byte == b'\n').count() } else { 0 })
}

/// Makes all files of a tree look old.
fn age(dir: &Path) -> Result<()> {
    let then = SystemTime::now() - AGE;
    for path in sorted(dir)? {
        let kind = fs::symlink_metadata(&path).with_context(at(&path))?.file_type();
        if kind.is_dir() && path.file_name().is_some_and(|name| name != ".git") {
            age(&path)?;
        } else if kind.is_file() {
            let opened = fs::File::options().write(true).open(&path);
            let aged = opened.and_then(|file| file.set_modified(then));
            aged.with_context(at(&path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn directory_is_copied_into_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let (root, to) = (dir.path().join("root"), dir.path().join("copy"));
        for folder in ["a", "b", "c"] {
            write(&root.join(folder).join("x.rs"), "1\n2\n");
        }
        copy(&root, &to, Some(3)).unwrap();
        assert!(to.join(".git").is_dir() && !root.join(".git").exists());
        assert_eq!(size(&to).unwrap(), (2, 4), "two entries whole, and no third");
        assert_eq!(git(&to, &["status", "--porcelain"]).unwrap(), "");
        let copied = ["a", "b"].map(|folder| to.join(folder).join("x.rs"));
        let copied = copied.iter().find(|file| file.exists()).unwrap();
        let modified = fs::metadata(copied).unwrap().modified().unwrap();
        assert!(modified.elapsed().unwrap() > AGE / 2);
    }

    #[test]
    fn a_repository_is_cloned() {
        let dir = tempfile::tempdir().unwrap();
        let (root, to) = (dir.path().join("root"), dir.path().join("copy"));
        write(&root.join("a.rs"), "1\n");
        git(&root, &["init", "--quiet"]).unwrap();
        git(&root, &["add", "a.rs"]).unwrap();
        git(&root, &["commit", "--quiet", "--message=mine"]).unwrap();
        write(&root.join("untracked.rs"), "1\n");
        copy(&root, &to, None).unwrap();
        assert_eq!(size(&to).unwrap(), (1, 1));
        assert_eq!(git(&to, &["log", "--format=%s"]).unwrap(), "mine\n");
    }
}
