//! Checks of a git directory before gix opens it.
//!
//! gix opens the files of a git directory by their names and reads most of them whole. In a repository from an archive or
//! a shared directory, any of them can be a pipe, a socket, a link to an endless device, or too large to hold.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use muninn_base::{Links, RegularFileError, beginning, read_regular_text};

/// Maximum size of a file that names one thing: a path, a reference or a commit.
const POINTER: u64 = 64 << 10;
/// Maximum size of a configuration file: several thousand branches. gix needs about fifty times as much memory.
const CONFIG: u64 = 512 << 10;
/// Maximum size of the list of alternates: some hundred paths. gix compares each with all others.
const ALTERNATES: u64 = 16 << 10;
/// Maximum size of a list with a line for each reference, commit or change. 64 MB are about 800,000 references.
const LIST: u64 = 64 << 20;
/// The same of references that are not sorted, which gix sorts at each opening. git writes sorted ones since 2018.
const UNSORTED: u64 = 4 << 20;
/// Maximum size of an index: about a million files.
const INDEX: u64 = 128 << 20;
/// Maximum size of a file that gix maps into memory.
const MAPPED: u64 = 16 << 30;

/// The files of a worktree's own git directory that gix opens.
const OWN_FILES: [(&str, u64); 4] =
    [("HEAD", POINTER), ("config.worktree", CONFIG), ("index", INDEX), ("logs/HEAD", LIST)];

/// The files that gix opens in the git directory that worktrees share.
const SHARED_FILES: [(&str, u64); 9] = [
    ("config", CONFIG),
    ("packed-refs", LIST),
    ("shallow", LIST),
    ("info/attributes", CONFIG),
    ("info/grafts", LIST),
    ("objects/info/alternates", ALTERNATES),
    ("objects/info/commit-graph", MAPPED),
    ("objects/info/commit-graphs/commit-graph-chain", CONFIG),
    ("objects/pack/multi-pack-index", MAPPED),
];

/// Maximum number of entries that are checked below a directory.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of alternate object directories that are checked.
const MAX_ALTERNATES: usize = 64;

/// A file of a git directory that cannot be read safely.
#[derive(Debug, thiserror::Error)]
#[error("{} is not read: {source}", path.display())]
pub(crate) struct GitMetadataError {
    path: PathBuf,
    source: io::Error,
}

/// Checks the files that gix opens in every repository.
pub(crate) fn check_git_files(git_dir: &Path, common_dir: &Path) -> Result<(), GitMetadataError> {
    let own = OWN_FILES.iter().map(|file| (git_dir, file));
    let shared = SHARED_FILES.iter().map(|file| (common_dir, file));
    own.chain(shared).try_for_each(|(directory, (name, cap))| check_file(&directory.join(name), *cap))?;
    let packed = common_dir.join("packed-refs");
    let header = beginning(&packed, 256).unwrap_or_default();
    let header = header.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_sorted = header.starts_with(b"# pack-refs with:") && header.ends_with(b" sorted ");
    check_file(&packed, if is_sorted { LIST } else { UNSORTED })
}

/// Checks references, their logs and objects, which have no fixed names. Takes a millisecond for some hundred files.
pub(crate) fn check_git_trees(git_dir: &Path, common_dir: &Path) -> Result<(), GitMetadataError> {
    for directory in [git_dir, common_dir] {
        check_tree(&directory.join("refs"), POINTER)?;
        check_tree(&directory.join("reftable"), LIST)?;
        check_tree(&directory.join("logs/refs"), LIST)?;
        if git_dir == common_dir {
            break;
        }
    }
    let objects = common_dir.join("objects");
    check_tree(&objects, MAPPED)?;
    for alternate in alternates(&objects)? {
        check_tree(&alternate, MAPPED)?;
    }
    Ok(())
}

/// The object directories that a repository borrows from.
fn alternates(objects: &Path) -> Result<Vec<PathBuf>, GitMetadataError> {
    let path = objects.join("info/alternates");
    let text = match read_regular_text(&path, Links::Follow, ALTERNATES) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::InvalidData => String::new(),
        Err(source) => return Err(GitMetadataError { path, source }),
    };
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.take(MAX_ALTERNATES).map(|line| objects.join(line)).collect())
}

/// Checks the kind and the size of a file, if it exists. Links are followed: some tools share the files of several clones.
fn check_file(path: &Path, cap: u64) -> Result<(), GitMetadataError> {
    let refused = |source: io::Error| GitMetadataError { path: path.to_owned(), source };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() > cap => {
            Err(refused(RegularFileError::TooLarge { cap }.into()))
        }
        Ok(metadata) if metadata.is_file() || metadata.is_dir() => Ok(()),
        Ok(_) => Err(refused(RegularFileError::NotRegular.into())),
        // gix reports a file that it needs and cannot open.
        Err(_) => Ok(()),
    }
}

/// Checks every file below a directory.
fn check_tree(top: &Path, cap: u64) -> Result<(), GitMetadataError> {
    let mut waiting = vec![top.to_owned()];
    let mut left = MAX_ENTRIES;
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten().take(left) {
            left -= 1;
            let path = entry.path();
            let kind = entry.file_type().ok();
            if kind.is_some_and(|kind| kind.is_dir()) {
                waiting.push(path);
            } else if cap != MAPPED || !kind.is_some_and(|kind| kind.is_file()) {
                check_file(&path, cap)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::Worktree;
    use crate::fixture::{Fixture, make_pipe};

    type Make = fn(&Path);

    fn sparse(path: &Path, len: u64) {
        fs::File::create(path).unwrap().set_len(len).unwrap();
    }

    const KINDS: [(&str, Make); 7] = [
        ("pipe", make_pipe),
        ("socket", |path| drop(UnixListener::bind(path).unwrap())),
        ("link to an endless device", |path| symlink("/dev/zero", path).unwrap()),
        ("link to a terminal", |path| symlink("/dev/tty", path).unwrap()),
        ("link to a pipe", |path| {
            let pipe = path.with_extension("p");
            make_pipe(&pipe);
            symlink(pipe, path).unwrap();
        }),
        ("300 MB of nothing", |path| sparse(path, 300 << 20)),
        ("directory", |path| fs::create_dir(path).unwrap()),
    ];

    /// The paths below `.git`.
    const PLACES: [&str; 22] = [
        "HEAD",
        "config",
        "config.worktree",
        "commondir",
        "index",
        "packed-refs",
        "shallow",
        "logs/HEAD",
        "logs/refs/heads/main",
        "refs/heads/main",
        "refs/heads/deep/er/x",
        "refs/tags/x",
        "refs/remotes/origin/HEAD",
        "refs/replace/0123456789012345678901234567890123456789",
        "refs/muninn/journal",
        "info/attributes",
        "objects/info/alternates",
        "objects/info/commit-graph",
        "objects/pack/pack-x.idx",
        "objects/pack/multi-pack-index",
        "objects/01/23456789012345678901234567890123456789",
        "reftable/tables.list",
    ];

    #[test]
    fn no_file_of_a_git_directory_blocks_or_fills_memory() {
        for (kind, make) in KINDS {
            for place in PLACES {
                let repo = Fixture::with(&[("a.txt", "x")]);
                repo.commit();
                let path = repo.path(".git").join(place);
                let heads = repo.path(".git/refs/heads");
                if heads.is_file() && path.starts_with(&heads) {
                    // In a repository with reftable, it is a file.
                    fs::remove_file(&heads).unwrap();
                }
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::remove_file(&path).ok();
                make(&path);
                // A directory is no file that gix could read, and git's packs and graphs are mapped.
                let is_harmless = kind == "directory"
                    || kind == "300 MB of nothing"
                        && (place.contains("pack/") || place.contains("graph") || place.contains("/01/"));
                let found = Worktree::discover(repo.root());
                if let Ok(worktree) = &found {
                    worktree.checkout().ok();
                    worktree.tracked();
                    worktree.has_branch("main").ok();
                    worktree.author();
                    worktree.has_commit("0123456789012345678901234567890123456789").ok();
                    worktree.has_commit(&"1".repeat(64)).ok();
                }
                assert!(is_harmless || found.is_err(), "{kind} at {place}");
            }
        }
    }

    #[test]
    fn a_pipe_that_appears_later_is_found_by_every_call() {
        for place in ["HEAD", "config", "index", "packed-refs", "commondir", "shallow"] {
            let repo = Fixture::with(&[("a.txt", "x")]);
            repo.commit();
            let worktree = repo.worktree();
            let path = repo.path(".git").join(place);
            fs::remove_file(&path).ok();
            make_pipe(&path);
            assert!(worktree.branch().is_err(), "{place}");
            assert!(worktree.head_commit().is_err(), "{place}");
            assert!(worktree.tracked().is_empty(), "{place}");
            assert_eq!(worktree.author(), None, "{place}");
        }
    }

    #[test]
    fn dot_git_files_and_directories_above_do_not_block() {
        for (kind, make) in KINDS {
            let place = tempfile::tempdir().unwrap();
            let inner = place.path().join("inner");
            fs::create_dir(&inner).unwrap();
            make(&place.path().join(".git"));
            assert!(Worktree::discover(&inner).is_err(), "{kind}");
        }
        let place = tempfile::tempdir().unwrap();
        for directory in ["refs", "objects"] {
            fs::create_dir(place.path().join(directory)).unwrap();
        }
        make_pipe(&place.path().join("HEAD"));
        assert!(Worktree::discover(place.path()).is_err(), "a directory that looks like a bare repository");
    }

    #[test]
    fn links_between_clones_are_followed() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        repo.commit();
        for name in ["config", "packed-refs", "objects", "refs", "logs"] {
            let (from, to) = (repo.path(".git").join(name), repo.path(&format!("{name}.shared")));
            if fs::rename(&from, &to).is_ok() {
                symlink(to, from).unwrap();
            }
        }
        assert_eq!(repo.worktree().branch().unwrap().as_deref(), Some("main"));
        assert!(repo.worktree().head_commit().unwrap().is_some());
    }

    #[test]
    fn many_references_are_read_if_they_are_sorted() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        repo.commit();
        let id = repo.git(&["rev-parse", "HEAD"]);
        let lines: String =
            (0..100_000).map(|number| format!("{} refs/remotes/origin/{number:06}\n", id.trim())).collect();
        for (header, is_read) in [("# pack-refs with: peeled fully-peeled sorted \n", true), ("", false)] {
            fs::write(repo.path(".git/packed-refs"), format!("{header}{lines}")).unwrap();
            assert_eq!(Worktree::discover(repo.root()).is_ok(), is_read, "{header}");
        }
    }

    #[test]
    fn a_list_of_thousands_of_alternates_is_refused() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        repo.commit();
        let other = Fixture::with(&[("b.txt", "y")]);
        let line = format!("{}\n", other.path(".git/objects").display());
        for (lines, is_read) in [(1, true), (20_000, false)] {
            fs::write(repo.path(".git/objects/info/alternates"), line.repeat(lines)).unwrap();
            assert_eq!(Worktree::discover(repo.root()).is_ok(), is_read, "{lines} lines");
        }
    }

    #[test]
    fn the_error_names_the_file() {
        let repo = Fixture::with(&[]);
        make_pipe(&repo.path(".git/packed-refs"));
        let error = Worktree::discover(repo.root()).unwrap_err();
        let message = muninn_base::with_causes(&error);
        assert!(message.contains(".git/packed-refs is not read: it is not a regular file"), "{message}");
    }
}
