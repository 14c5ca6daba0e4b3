//! Where records live: a repository, or a directory that knows nothing of git.
//!
//! The same files are in each, under the same names. Those of a repository are below `.muninn/memory/`, since the rest of it
//! is the user's; a directory has them at its top. Only a repository has branches: in a directory all that is there counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use muninn_repo_tools::{Checkout, RelPath, Worktree};

use super::record::Origin;
use super::segment::SegmentError;
use crate::private_file;

/// Where records live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// Below `.muninn/memory/` of a worktree, for git, once `muninn init` has made that. What is learned on a branch
    /// belongs to it.
    Repository(Worktree),
    /// A directory in the user's state directory. It is made when it is first written to, and nobody else may look into
    /// it.
    State(PathBuf),
    /// Any other directory, which has to be there.
    Directory(PathBuf),
}

impl Home {
    /// The directory below which its files are: of a repository the worktree's root.
    #[must_use]
    pub fn root(&self) -> &Path {
        match self {
            Self::Repository(worktree) => worktree.root(),
            Self::State(root) | Self::Directory(root) => root,
        }
    }

    /// The worktree, where it is one.
    #[must_use]
    pub fn worktree(&self) -> Option<&Worktree> {
        match self {
            Self::Repository(worktree) => Some(worktree),
            Self::State(_) | Self::Directory(_) => None,
        }
    }

    /// The path below the root of what has this path in a repository, such as [`MAIN`](super::MAIN).
    #[must_use]
    pub fn path<'p>(&self, in_repository: &'p str) -> &'p str {
        match self {
            Self::Repository(_) => in_repository,
            Self::State(_) | Self::Directory(_) => {
                let path = in_repository.strip_prefix(".muninn/").unwrap_or(in_repository);
                path.strip_prefix("memory/").unwrap_or(path)
            }
        }
    }

    /// The absolute path of one of its files, or an error where a link leads out of it.
    pub(super) fn resolve(&self, path: &RelPath) -> io::Result<PathBuf> {
        match self {
            Self::Repository(worktree) => worktree.resolve(path).map_err(io::Error::other),
            Self::State(root) | Self::Directory(root) => {
                let real = root.join(path.to_path_buf()).canonicalize()?;
                match real.starts_with(root.canonicalize()?) {
                    true => Ok(real),
                    false => Err(io::Error::other(format!("{path} leads out of {}", root.display()))),
                }
            }
        }
    }

    /// A directory below the root, made as far as it is missing. Nothing is made through a link, nor in a repository
    /// without `.muninn`.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub(crate) fn own_directory(&self, path: &str) -> Result<PathBuf, SegmentError> {
        let failed = |path: &Path, source| SegmentError::Io {
            path: path.to_owned(),
            source,
        };
        if let Self::State(root) = self {
            private_file::dir(root).map_err(|source| failed(root, source))?;
        }
        let mut is_invited = self.worktree().is_none();
        let mut dir = self.root().to_owned();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            dir.push(name);
            match dir.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => return Err(SegmentError::NotADirectory { path: dir }),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_invited => {
                    return Err(SegmentError::NotInitialised { path: dir });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    make(&dir).map_err(|source| failed(&dir, source))?;
                }
                Err(source) => return Err(failed(&dir, source)),
            }
            is_invited = true;
        }
        Ok(dir)
    }

    /// What is checked out; nothing without git.
    pub(crate) fn checkout(&self) -> Checkout {
        self.worktree().map(Worktree::checkout).unwrap_or_default()
    }

    /// Whether a repository has no branch checked out, as it has none while it is being rebased.
    pub(crate) fn is_detached(&self) -> bool {
        self.worktree().is_some_and(|worktree| worktree.branch().is_none())
    }

    /// Whether what was learned on a branch, or on these commits of none, belongs to what is checked out. Without git all
    /// does.
    pub(crate) fn holds(&self, branch: Option<&str>, commits: &[String]) -> bool {
        let Some(worktree) = self.worktree() else { return true };
        match branch {
            Some(branch) => worktree.has_branch(branch),
            None => !commits.is_empty() && commits.iter().all(|commit| worktree.has_commit(commit)),
        }
    }

    /// Where a record comes from that is written now: a branch and a commit, where there is git.
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            branch: self.worktree().and_then(Worktree::branch),
            commit: self.worktree().and_then(Worktree::head_commit),
            ..Origin::default()
        }
    }
}

fn make(dir: &Path) -> io::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::records::{MAIN, SESSIONS, Segments};

    #[test]
    fn a_directory_has_the_files_of_a_repository_at_its_top() {
        let home = Home::Directory(PathBuf::from("/d"));
        let paths = [MAIN, SESSIONS, ".muninn/cache"].map(|path| home.path(path));
        assert_eq!(paths, ["main.jsonl", "sessions", "cache"]);
    }

    #[test]
    fn nothing_is_made_uninvited() {
        let dir = tempfile::tempdir().unwrap();
        let bare = Fixture::with(&[]);
        let missing = dir.path().join("missing");
        assert!(matches!(
            Segments::of(&bare.home()),
            Err(SegmentError::NotInitialised { .. })
        ));
        assert!(matches!(
            Segments::of(&Home::Directory(missing.clone())),
            Err(SegmentError::Io { .. })
        ));
        assert!(!missing.exists() && !bare.path(".muninn").exists());
        Segments::of(&Home::State(missing.clone())).unwrap();
        assert!(missing.join("sessions").is_dir());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_read_or_made_through_a_link_out() {
        use std::os::unix::fs::symlink;
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("main.jsonl"), "{}").unwrap();
        let repository = Fixture::with(&[(".muninn/memory/inside", "")]);
        for home in [
            repository.home(),
            Home::Directory(dir.path().join("any")),
            Home::State(dir.path().join("state")),
        ] {
            let there = home.root().join(home.path(".muninn/memory/inside"));
            let folder = there.parent().unwrap();
            fs::create_dir_all(folder).unwrap();
            fs::write(&there, "").unwrap();
            symlink(outside.path(), folder.join("sessions")).unwrap();
            symlink(outside.path().join("main.jsonl"), folder.join("main.jsonl")).unwrap();
            let resolve = |path| home.resolve(&RelPath::new(home.path(path)).unwrap());
            assert!(resolve(MAIN).is_err() && resolve(".muninn/memory/sessions/main.jsonl").is_err());
            assert!(resolve(".muninn/memory/inside").is_ok());
            assert!(matches!(Segments::of(&home), Err(SegmentError::NotADirectory { .. })));
        }
    }
}
