use std::collections::{BTreeSet, HashSet};
use std::fs::{DirEntry, FileType};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use muninn_base::{RelPath, Until};
use parking_lot::Mutex;

use super::walker::{Found, Walker};
use crate::secret::is_secret;
use crate::worktree::Worktree;

#[derive(Debug, Clone, Copy)]
pub struct WalkLimits {
    /// Maximum size of a file, in bytes; larger files are skipped.
    pub max_file_bytes: u64,
    /// Maximum number of files.
    pub max_files: usize,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self { max_file_bytes: 1 << 20, max_files: 200_000 }
    }
}

/// Maximum number of threads; more would wait for the file system.
const MAX_THREADS: usize = 4;

/// The result of a walk.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files, sorted by path.
    pub files: Vec<FileEntry>,
    /// The skipped entries, by reason.
    pub skipped: SkipCounts,
    /// Whether a limit or the deadline ended the walk early.
    pub cut: bool,
}

/// The metadata of a file. A walk opens no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    pub path: RelPath,
    /// The size in bytes.
    pub size: u64,
    /// The modification time.
    pub modified: SystemTime,
}

/// The number of skipped files, by reason. Ignored files are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct SkipCounts {
    /// Files with the name of a secret.
    pub secret: usize,
    /// Files larger than the limit.
    pub too_large: usize,
    /// Files with a NUL byte near the start. A walk opens no file, so readers count these.
    pub binary: usize,
    /// Files with a name that is not UTF-8.
    pub not_utf8: usize,
    /// Symlinks, pipes, sockets and devices.
    pub not_regular: usize,
    /// Files that the file system refused.
    pub unreadable: usize,
    pub nested_repositories: usize,
    /// Directories that count as ignored because an ignore file is too large, too costly or unreadable.
    #[serde(skip_serializing_if = "is_zero")]
    pub ignore_files: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl SkipCounts {
    /// Adds the counts of another search.
    pub fn merge(&mut self, other: &Self) {
        self.secret += other.secret;
        self.too_large += other.too_large;
        self.binary += other.binary;
        self.not_utf8 += other.not_utf8;
        self.not_regular += other.not_regular;
        self.unreadable += other.unreadable;
        self.nested_repositories += other.nested_repositories;
        self.ignore_files += other.ignore_files;
    }

    /// Formats the counts that are useful to a user: `too large: 2, not readable: 1`. Empty if these counts are zero.
    /// Secrets, binary files and special files are always skipped, so they are not mentioned.
    pub fn describe(&self) -> String {
        let named = [
            (self.too_large, "too large"),
            (self.unreadable, "not readable"),
            (self.not_utf8, "named with other bytes than UTF-8"),
            (self.nested_repositories, "repositories of their own"),
            (self.ignore_files, "directories with an ignore file that is too large or not readable"),
        ];
        let words = named.iter().filter(|(count, _)| *count > 0);
        let words: Vec<_> = words.map(|(count, why)| format!("{why}: {count}")).collect();
        words.join(", ")
    }
}

/// Lists the files of a worktree that git does not ignore, including hidden files, but without `.git`, `.muninn`,
/// nested repositories, symlinks and secrets.
///
/// Binary files are listed, because only reading detects them ([`crate::read_text`]) and a walk opens no file.
pub fn walk(worktree: &Worktree, limits: &WalkLimits) -> Walk {
    walk_until(worktree, limits, None)
}

/// Like [`walk`], with a deadline; returns the files found by then.
pub fn walk_until(worktree: &Worktree, limits: &WalkLimits, until: Option<&Until>) -> Walk {
    collect(worktree, limits, until, |_, _| true)
}

/// Like [`walk`], limited to some paths: files, or directories with all files below them. Only these and the
/// directories above them are read.
pub fn walk_at(worktree: &Worktree, limits: &WalkLimits, paths: &BTreeSet<RelPath>) -> Walk {
    collect(worktree, limits, None, under(paths))
}

/// The directories that a walk enters.
#[derive(Debug, Default)]
pub struct Directories {
    /// The directories without the root, unsorted.
    pub paths: Vec<RelPath>,
    /// Whether there are more than the maximum.
    pub cut: bool,
}

/// Lists the directories that [`walk`] enters, or only `top` and those below it; at most `max`.
pub fn walked_directories(worktree: &Worktree, top: Option<&RelPath>, max: usize) -> Directories {
    let tops: BTreeSet<RelPath> = top.cloned().into_iter().collect();
    let below = under(&tops);
    let found = Mutex::new(Directories::default());
    let walker = Walker {
        worktree,
        wanted: |path: &Path, directory: bool| directory && (tops.is_empty() || below(path, directory)),
        max_depth: usize::MAX,
        threads: 1,
    };
    walker.run(|| {
        |entry: Found<'_>| match entry {
            Found::Directory(path) => add_directory(&mut found.lock(), path, top, max),
            _ => ControlFlow::Continue(()),
        }
    });
    found.into_inner()
}

/// Lists the directories below a folder, or only `top` and those below it; at most `max`. Hidden directories and symlinks
/// are not entered.
pub fn visible_directories(root: &Path, top: Option<&RelPath>, max: usize) -> Directories {
    let mut found = Directories::default();
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(root.join(&directory)).into_iter().flatten().flatten() {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_hidden || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = directory.join(entry.file_name());
            if add_directory(&mut found, &path, top, max).is_break() {
                return found;
            }
            waiting.push(path);
        }
    }
    found
}

/// Adds a directory if it is `top` or below it.
fn add_directory(found: &mut Directories, path: &Path, top: Option<&RelPath>, max: usize) -> ControlFlow<()> {
    let path = RelPath::from_relative(path).filter(|path| top.is_none_or(|top| path.is_under(top)));
    let Some(path) = path else {
        return ControlFlow::Continue(());
    };
    if found.paths.len() == max {
        found.cut = true;
        return ControlFlow::Break(());
    }
    found.paths.push(path);
    ControlFlow::Continue(())
}

/// Returns a predicate for the paths that are one of `paths`, below one of them, or a directory above one of them.
fn under(paths: &BTreeSet<RelPath>) -> impl Fn(&Path, bool) -> bool + Sync {
    let ends: HashSet<PathBuf> = paths.iter().map(RelPath::to_path_buf).collect();
    let ways: HashSet<PathBuf> = ends.iter().flat_map(|end| end.ancestors().skip(1).map(Path::to_owned)).collect();
    move |path, directory| directory && ways.contains(path) || path.ancestors().any(|above| ends.contains(above))
}

fn collect(
    worktree: &Worktree,
    limits: &WalkLimits,
    until: Option<&Until>,
    wanted: impl Fn(&Path, bool) -> bool + Sync,
) -> Walk {
    let found = Mutex::new(Walk::default());
    let (count, cut) = (AtomicUsize::new(0), AtomicBool::new(false));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let walker = Walker { worktree, wanted, max_depth: usize::MAX, threads: cores.min(MAX_THREADS) };
    let ignore_files = walker.run(|| {
        let mut part = Part { walk: Walk::default(), whole: &found };
        let (count, cut) = (&count, &cut);
        move |entry: Found<'_>| {
            let is_full = count.load(Ordering::Relaxed) >= limits.max_files;
            if is_full && !matches!(entry, Found::LeftOut) || until.is_some_and(Until::is_over) {
                cut.store(true, Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            match entry {
                Found::Directory(_) | Found::LeftOut => {}
                Found::NestedRepository(_) => part.walk.skipped.nested_repositories += 1,
                Found::Unreadable => part.walk.skipped.unreadable += 1,
                Found::Entry(path, kind, entry) => {
                    let before = part.walk.files.len();
                    visit(&mut part.walk, path, kind, entry, limits);
                    count.fetch_add(part.walk.files.len() - before, Ordering::Relaxed);
                }
            }
            ControlFlow::Continue(())
        }
    });
    let mut walk = found.into_inner();
    // If several threads reach the limit at the same time, each adds a file, and no thread notices that the limit is
    // exceeded.
    walk.cut = cut.into_inner() || walk.files.len() > limits.max_files;
    walk.skipped.ignore_files = ignore_files;
    walk.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    walk.files.truncate(limits.max_files);
    walk
}

/// The result of one thread, merged into the whole when it is dropped.
struct Part<'a> {
    walk: Walk,
    whole: &'a Mutex<Walk>,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut whole = self.whole.lock();
        whole.files.append(&mut self.walk.files);
        whole.skipped.merge(&self.walk.skipped);
    }
}

fn visit(walk: &mut Walk, path: &Path, kind: FileType, entry: &DirEntry, limits: &WalkLimits) {
    let skipped = &mut walk.skipped;
    let Some(path) = RelPath::from_relative(path) else {
        skipped.not_utf8 += 1;
        return;
    };
    let Ok(metadata) = entry.metadata() else {
        skipped.unreadable += 1;
        return;
    };
    if !kind.is_file() {
        skipped.not_regular += 1;
    } else if is_secret(&path) {
        skipped.secret += 1;
    } else if metadata.len() > limits.max_file_bytes {
        skipped.too_large += 1;
    } else {
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        walk.files.push(FileEntry { path, size: metadata.len(), modified });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn paths(walk: &Walk) -> Vec<&str> {
        walk.files.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn ignored_files_are_omitted_and_hidden_files_listed() {
        let repo = Fixture::with(&[
            (".gitignore", "target/\n*.log\n"),
            (".github/ci.yml", "on: push\n"),
            ("src/lib.rs", "x"),
            ("src/a.log", "x"),
            ("target/out.rs", "x"),
            ("local.txt", "x"),
            (".git/info/exclude", "local.txt\n"),
            (".muninn/knowledge/a.md", "x"),
            ("deep/.muninn/a.md", "x"),
        ]);
        let walk = walk(&repo.worktree(), &WalkLimits::default());
        assert_eq!(paths(&walk), [".github/ci.yml", ".gitignore", "deep/.muninn/a.md", "src/lib.rs"]);
        assert_eq!(walk.skipped, SkipCounts::default());
    }

    #[test]
    fn skipped_files_are_counted_by_reason() {
        let repo =
            Fixture::with(&[(".env", "KEY=1"), ("a.txt", "x"), ("big.txt", &"x".repeat(2000)), ("inner/b.txt", "x")]);
        repo.git(&["init", "-q", "inner"]);
        let limits = WalkLimits { max_file_bytes: 1000, ..WalkLimits::default() };
        let found = walk(&repo.worktree(), &limits);
        assert_eq!(paths(&found), ["a.txt"]);
        let expected = SkipCounts { secret: 1, too_large: 1, nested_repositories: 1, ..SkipCounts::default() };
        assert_eq!(found.skipped, expected);
    }

    #[test]
    fn a_walk_ends_at_its_limits() {
        let repo = Fixture::with(&[("a.txt", "x"), ("b.txt", "x"), ("c.txt", "x")]);
        let limits = WalkLimits { max_files: 2, ..WalkLimits::default() };
        let found = walk(&repo.worktree(), &limits);
        assert!(found.cut);
        assert_eq!(found.files.len(), 2);
        let late =
            walk_until(&repo.worktree(), &WalkLimits::default(), Some(&Until::within(std::time::Duration::ZERO)));
        assert!(late.cut && late.files.is_empty());
        repo.write(".gitignore", b"*");
        let late = Until::within(std::time::Duration::ZERO);
        let ignored = walk_until(&repo.worktree(), &WalkLimits::default(), Some(&late));
        assert!(ignored.cut, "the time of ignored files counts, too");
    }

    #[test]
    fn walked_directories_are_listed() {
        let repo = Fixture::with(&[
            (".gitignore", "target/\n"),
            (".muninn/knowledge/a.md", "x"),
            ("a/deep/x.rs", "x"),
            ("ab/z.rs", "x"),
            ("inner/src/b.txt", "x"),
            ("target/debug/a.rs", "x"),
        ]);
        repo.git(&["init", "-q", "inner"]);
        std::fs::create_dir(repo.path("empty")).unwrap();
        let found = |top: Option<&str>, max| {
            let top = top.map(|top| RelPath::new(top).unwrap());
            let mut found = walked_directories(&repo.worktree(), top.as_ref(), max);
            found.paths.sort();
            let names: Vec<_> = found.paths.iter().map(RelPath::as_str).collect();
            (names.join(" "), found.cut)
        };
        assert_eq!(found(None, 4), ("a a/deep ab empty".to_owned(), false));
        assert_eq!(found(Some("a"), 4), ("a a/deep".to_owned(), false));
        assert_eq!(found(Some("target/debug"), 4), (String::new(), false));
        assert!(found(None, 3).1);
    }

    #[test]
    fn only_unexpected_skips_are_described() {
        let mut counts = SkipCounts { secret: 1, binary: 2, not_regular: 3, ..SkipCounts::default() };
        assert_eq!(counts.describe(), "");
        (counts.too_large, counts.unreadable) = (4, 5);
        assert_eq!(counts.describe(), "too large: 4, not readable: 5");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn symlinks_and_names_that_are_not_utf8_are_skipped() {
        use std::os::unix::ffi::OsStrExt;
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("x.txt"), "x").unwrap();
        let repo = Fixture::with(&[("a.txt", "x")]);
        std::os::unix::fs::symlink(outside.path(), repo.path("out")).unwrap();
        std::os::unix::fs::symlink(repo.root(), repo.path("loop")).unwrap();
        std::fs::write(repo.root().join(std::ffi::OsStr::from_bytes(b"\xff.txt")), "x").unwrap();
        let found = walk(&repo.worktree(), &WalkLimits::default());
        assert_eq!(paths(&found), ["a.txt"]);
        assert_eq!((found.skipped.not_regular, found.skipped.not_utf8), (2, 1));
    }
}

#[cfg(test)]
mod rule_tests;
