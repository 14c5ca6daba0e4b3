//! The location of records: a repository, or a directory without git.
//!
//! Each location contains the same files under the same names. In a repository they are below `.muninn/memory/`,
//! because the rest of the repository belongs to the user. In a directory they are at the top. Only a repository has
//! branches; in a directory every file counts.

use std::path::{Path, PathBuf};
use std::{fs, io};

use muninn_base::{RelPath, private_file};
use muninn_repo_tools::{Checkout, ReferenceError, Worktree};

use super::record::Origin;
use super::segment_error::SegmentError;

/// The location of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// `.muninn/memory/` of a worktree, tracked by git; `muninn init` creates it. Records learned on a branch belong to
    /// that branch.
    Repository(Worktree),
    /// A directory in the user's state directory. It is created at the first write, readable by its owner only.
    State(PathBuf),
    /// Any other directory; it must exist.
    Directory(PathBuf),
}

impl Home {
    /// The root of the location: the worktree's root, or the directory.
    pub fn root(&self) -> &Path {
        match self {
            Self::Repository(worktree) => worktree.root(),
            Self::State(root) | Self::Directory(root) => root,
        }
    }

    /// The worktree, if the location is a repository.
    pub fn worktree(&self) -> Option<&Worktree> {
        match self {
            Self::Repository(worktree) => Some(worktree),
            Self::State(_) | Self::Directory(_) => None,
        }
    }

    /// Maps a path in a repository, such as [`MAIN`](super::MAIN), to the path below this location's root.
    pub fn path<'p>(&self, in_repository: &'p str) -> &'p str {
        match self {
            Self::Repository(_) => in_repository,
            Self::State(_) | Self::Directory(_) => {
                let path = in_repository.strip_prefix(".muninn/").unwrap_or(in_repository);
                path.strip_prefix("memory/").unwrap_or(path)
            }
        }
    }

    /// Returns the absolute path of a file. A link that leads out of the location is an error.
    pub(crate) fn resolve(&self, path: &RelPath) -> io::Result<PathBuf> {
        match self {
            Self::Repository(worktree) => worktree.resolve(path).map_err(io::Error::other),
            Self::State(root) | Self::Directory(root) => {
                let real = root.join(path.to_path_buf()).canonicalize()?;
                if real.starts_with(root.canonicalize()?) {
                    Ok(real)
                } else {
                    Err(io::Error::other(format!("{path} leads out of {}", root.display())))
                }
            }
        }
    }

    /// Returns a directory below the root, and creates missing parts. Links are not followed, and nothing is created in
    /// a repository without `.muninn`.
    pub fn own_directory(&self, path: &str) -> Result<PathBuf, SegmentError> {
        let failed = |path: &Path, source| SegmentError::Io { path: path.to_owned(), source };
        if let Self::State(root) = self {
            private_file::dir(root).map_err(|source| failed(root, source))?;
        }
        let mut may_create = self.worktree().is_none();
        let mut dir = self.root().to_owned();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            dir.push(name);
            match dir.symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => return Err(SegmentError::NotADirectory { path: dir }),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !may_create => {
                    return Err(SegmentError::NotInitialised { path: dir });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    make(&dir).map_err(|source| failed(&dir, source))?;
                }
                Err(source) => return Err(failed(&dir, source)),
            }
            may_create = true;
        }
        Ok(dir)
    }

    /// The checkout; empty without git.
    pub fn checkout(&self) -> Result<Checkout, ReferenceError> {
        let checkout = self.worktree().map(Worktree::checkout).transpose()?;
        Ok(checkout.unwrap_or_default())
    }

    /// Returns whether HEAD is detached, as it is during a rebase.
    pub(crate) fn is_detached(&self) -> Result<bool, ReferenceError> {
        match self.worktree() {
            Some(worktree) => Ok(worktree.branch()?.is_none()),
            None => Ok(false),
        }
    }

    /// Returns whether records learned on a branch, or with a detached HEAD on these commits, belong to the checkout.
    /// Without git all do.
    pub(crate) fn holds(&self, branch: Option<&str>, commits: &[String]) -> Result<bool, ReferenceError> {
        let Some(worktree) = self.worktree() else {
            return Ok(true);
        };
        if let Some(branch) = branch {
            return worktree.has_branch(branch);
        }
        for commit in commits {
            if !worktree.has_commit(commit)? {
                return Ok(false);
            }
        }
        Ok(!commits.is_empty())
    }

    /// The origin of records that are written now: branch and commit, if there is git.
    ///
    /// # Errors
    /// [`ReferenceError`] if HEAD cannot be read: nobody would find records again that belong to no branch.
    pub fn origin(&self) -> Result<Origin, ReferenceError> {
        let checkout = self.checkout()?;
        Ok(Origin { branch: checkout.branch, commit: checkout.head, ..Origin::default() })
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
    fn directory_holds_repository_files_at_its_top() {
        let home = Home::Directory(PathBuf::from("/d"));
        let paths = [MAIN, SESSIONS, ".muninn/cache"].map(|path| home.path(path));
        assert_eq!(paths, ["main.jsonl", "sessions", "cache"]);
    }

    #[test]
    fn nothing_is_created_without_init() {
        let dir = tempfile::tempdir().unwrap();
        let bare = Fixture::with(&[]);
        let missing = dir.path().join("missing");
        assert!(matches!(Segments::of(&bare.home()), Err(SegmentError::NotInitialised { .. })));
        assert!(matches!(Segments::of(&Home::Directory(missing.clone())), Err(SegmentError::Io { .. })));
        assert!(!missing.exists() && !bare.path(".muninn").exists());
        Segments::of(&Home::State(missing.clone())).unwrap();
        assert!(missing.join("sessions").is_dir());
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_home_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("main.jsonl"), "{}").unwrap();
        let repository = Fixture::with(&[(".muninn/memory/inside", "")]);
        for home in [repository.home(), Home::Directory(dir.path().join("any")), Home::State(dir.path().join("state"))]
        {
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
