//! A copy of a directory as a repository that a benchmark may change: a repository is cloned, and any other directory is
//! copied and made a repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use muninn_repo_tools::{WalkLimits, Worktree, read_text, walk};
use muninn_tests::git;

use super::{at, files_below, progress};

/// The age of all files. An index looks twice at a file that was just written, because it may change again within a tick
/// of the file system's clock. A checkout of yesterday is the usual case.
const AGE: Duration = Duration::from_secs(24 * 3600);
/// Larger files are mostly tables, and do not count towards the lines that are asked for.
const MAX_COUNTED_BYTES: usize = 256 << 10;
/// The order of entries if not all are copied, because names that begin alike are often alike.
const SEED: u64 = 0x636f_7270;
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A copy, with the files and lines that the engine would index.
pub(crate) struct Corpus {
    pub(crate) root: PathBuf,
    pub(crate) files: usize,
    pub(crate) lines: usize,
    /// Holds the copy if `work` is not given, and has room for caches.
    pub(crate) temporary: tempfile::TempDir,
}

impl Corpus {
    /// Copies `root` into `work`, or takes the copy that an earlier run left there.
    pub(crate) fn of(root: &Path, work: Option<&Path>, lines: Option<usize>) -> Result<Self> {
        let temporary = tempfile::tempdir()?;
        let dir = work.unwrap_or(temporary.path());
        fs::create_dir_all(dir).with_context(at(dir))?;
        let root = root.canonicalize().with_context(at(root))?;
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let part = lines.map_or_else(|| "all".to_owned(), |lines| lines.to_string());
        let to = dir.join(format!("{name}+{part}"));
        if !to.is_dir() {
            copy(&root, &to, lines)?;
        }
        let root = to.canonicalize().with_context(at(&to))?;
        let (files, lines) = size(&root)?;
        progress(&format!("{files} files, {lines} lines"));
        Ok(Self { root, files, lines, temporary })
    }
}

/// Copies `root` to `to`, which must not exist: all of it, or whole entries, drawn with a fixed seed, until there are
/// `lines` lines.
pub(crate) fn copy(root: &Path, to: &Path, lines: Option<usize>) -> Result<()> {
    let part = to.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part).with_context(at(&part))?;
    }
    if lines.is_none() && is_repository(root) {
        let [from, into] = [root, &part].map(|path| path.to_string_lossy().into_owned());
        git(root, &["clone", "--quiet", &from, &into])?;
        age(&part).with_context(at(&part))?;
        git(&part, &["update-index", "-q", "--refresh"])?;
    } else {
        let entries = fs::read_dir(root).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let mut entries: Vec<PathBuf> = entries.with_context(at(root))?;
        entries.sort();
        fastrand::Rng::with_seed(SEED).shuffle(&mut entries);
        let mut copied = 0;
        for entry in entries {
            if lines.is_some_and(|lines| copied >= lines) {
                break;
            }
            for file in files_below(&entry).with_context(at(&entry))? {
                let copy = part.join(file.strip_prefix(root)?);
                copied += copy_file(&file, &copy).with_context(at(&file))?;
            }
        }
        age(&part).with_context(at(&part))?;
        git(&part, &["init", "--quiet", "--template="])?;
        git(&part, &["add", "--all"])?;
        git(&part, &["commit", "--quiet", "--message=as it is"])?;
    }
    fs::rename(&part, to).with_context(at(&part))
}

fn size(root: &Path) -> Result<(usize, usize)> {
    let worktree = Worktree::discover(root)?;
    let limits = WalkLimits { max_file_bytes: MAX_FILE_BYTES, ..WalkLimits::default() };
    let texts = walk(&worktree, &limits).files.into_iter();
    let texts = texts.filter_map(|entry| read_text(&worktree, &entry.path, MAX_FILE_BYTES).ok());
    Ok(texts.fold((0, 0), |(files, lines), file| (files + 1, lines + file.text.lines().count())))
}

/// Whether a directory is a worktree's root. A folder in a worktree is just a folder.
fn is_repository(root: &Path) -> bool {
    let top = git(root, &["rev-parse", "--show-toplevel"]);
    let top = top.ok().and_then(|top| Path::new(top.trim_end()).canonicalize().ok());
    top.is_some() && top == root.canonicalize().ok()
}

fn copy_file(from: &Path, to: &Path) -> io::Result<usize> {
    let bytes = fs::read(from)?;
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::write(to, &bytes)?;
    let is_text = bytes.len() <= MAX_COUNTED_BYTES && std::str::from_utf8(&bytes).is_ok() && !bytes.contains(&0);
    Ok(if is_text { bytes.iter().filter(|byte| **byte == b'\n').count() } else { 0 })
}

fn age(dir: &Path) -> io::Result<()> {
    let then = SystemTime::now() - AGE;
    for file in files_below(dir)? {
        fs::File::options().write(true).open(file)?.set_modified(then)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_entries_are_copied_up_to_the_lines_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["a", "b", "c"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join("x.rs"), "1\n2\n").unwrap();
        }
        let corpus = Corpus::of(dir.path(), None, Some(3)).unwrap();
        assert_eq!((corpus.files, corpus.lines), (2, 4));
        assert_eq!(git(&corpus.root, &["status", "--porcelain"]).unwrap(), "");
        let clone = dir.path().join("clone");
        copy(&corpus.root, &clone, None).unwrap();
        assert_eq!(git(&clone, &["log", "--format=%s"]).unwrap(), "as it is\n");
        let files = ["a", "b", "c"].map(|folder| clone.join(folder).join("x.rs"));
        let copied = files.iter().find(|file| file.exists()).unwrap();
        assert!(fs::metadata(copied).unwrap().modified().unwrap().elapsed().unwrap() > AGE / 2);
    }
}
