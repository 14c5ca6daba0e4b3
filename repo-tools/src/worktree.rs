//! Git worktrees, and resolving paths inside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use muninn_base::{PathError, RelPath};

use crate::blob::BlobId;
use crate::discovery::{self, DiscoverError, Discovered, GitDir};

/// A checked-out git repository, or one of its linked worktrees. Cheap to clone.
///
/// A `Worktree` stores paths only. It reads branch and HEAD from git on each call, because a long-running process must
/// notice when another program checks out a branch.
#[derive(Clone, PartialEq, Eq)]
pub struct Worktree(Arc<WorktreePaths>);

#[derive(PartialEq, Eq)]
struct WorktreePaths {
    root: PathBuf,
    git: GitDir,
}

impl Worktree {
    /// Finds the worktree that contains `dir`.
    ///
    /// # Errors
    /// [`DiscoverError`] with the directory and the reason.
    pub fn discover(dir: &Path) -> Result<Self, DiscoverError> {
        let Discovered { root, git } = discovery::discover(dir)?;
        Ok(Self(Arc::new(WorktreePaths { root, git })))
    }

    /// Returns the top directory, absolute and without symlinks.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Returns this worktree's own git directory; for a linked worktree `<common>/worktrees/<name>`.
    pub fn git_dir(&self) -> &Path {
        &self.0.git.path
    }

    /// Returns the git directory that all worktrees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.0.git.common_dir
    }

    /// Returns the git directory with the repository's format.
    pub(crate) fn git(&self) -> &GitDir {
        &self.0.git
    }

    /// Returns the id of a blob with this content, as `git hash-object --no-filters` computes it in this repository;
    /// see [`BlobId::of`].
    pub fn blob_id(&self, content: &[u8]) -> Option<BlobId> {
        BlobId::hash(self.0.git.object_hash, content)
    }

    /// Returns whether `path` exists and belongs to this worktree after symlinks are resolved. Files of a nested
    /// repository, or of a linked worktree below the root, belong to that repository or worktree.
    pub fn contains(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| self.owns(&path))
    }

    /// Returns the absolute path of a file of the worktree, without symlinks.
    ///
    /// # Errors
    /// [`PathError::NotFound`], or [`PathError::Outside`] if a symlink leads out of the worktree.
    pub fn resolve(&self, path: &RelPath) -> Result<PathBuf, PathError> {
        let real = self.0.root.join(path.to_path_buf()).canonicalize().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => PathError::NotFound { path: path.clone() },
            _ => PathError::Io { path: path.clone(), source },
        })?;
        if self.owns(&real) { Ok(real) } else { Err(PathError::Outside { path: path.clone() }) }
    }

    /// Returns whether a path without symlinks is below the root, outside `.git`, and in no nested repository.
    fn owns(&self, real: &Path) -> bool {
        let Ok(relative) = real.strip_prefix(&self.0.root) else {
            return false;
        };
        if relative.as_os_str().is_empty() {
            return true;
        }
        let in_git = relative.iter().any(|part| part.eq_ignore_ascii_case(".git"));
        let nested =
            real.ancestors().take_while(|above| *above != self.0.root).any(|above| above.join(".git").exists());
        !in_git && !nested && !real.ancestors().any(|above| self.is_git_dir(above))
    }

    /// Returns whether a directory is the repository's own git directory. It can lie in the worktree under another name.
    pub(crate) fn is_git_dir(&self, directory: &Path) -> bool {
        directory == self.git_dir() || directory == self.common_dir()
    }
}

impl fmt::Debug for Worktree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worktree").field(&self.0.root).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn finds_the_root_from_a_subdirectory() {
        let repo = Fixture::with(&[("a/b/c.txt", "x\n")]);
        let worktree = Worktree::discover(&repo.path("a/b")).unwrap();
        assert_eq!(worktree.root(), repo.root());
        assert_eq!(worktree.git_dir(), repo.path(".git"));
        assert_eq!(worktree.branch().unwrap().as_deref(), Some("main"));
        assert_eq!(worktree.head_commit().unwrap(), None);
        repo.commit();
        assert_eq!(worktree.head_commit().unwrap().as_deref(), Some(repo.git(&["rev-parse", "HEAD"]).trim()));
    }

    #[test]
    fn a_linked_worktree_has_its_own_branch_and_shares_the_common_directory() {
        let repo = Fixture::with(&[("a.txt", "x\n")]);
        repo.commit();
        repo.git(&["worktree", "add", "-q", "-b", "side", "nested/side"]);
        let main = repo.worktree();
        let side = Worktree::discover(&repo.path("nested/side")).unwrap();
        assert_eq!(side.branch().unwrap().as_deref(), Some("side"));
        assert_ne!(side.git_dir(), main.git_dir());
        assert_eq!(side.common_dir(), main.common_dir());
        assert!(side.contains(&repo.path("nested/side/a.txt")));
        assert!(!main.contains(&repo.path("nested/side/a.txt")), "the file belongs to the other worktree");
        repo.git(&["checkout", "-q", "--detach"]);
        assert_eq!(main.branch().unwrap(), None);
    }

    #[test]
    fn discovery_errors_name_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Worktree::discover(&dir.path().join("gone")), Err(DiscoverError::NotFound { .. })));
        assert!(matches!(Worktree::discover(dir.path()), Err(DiscoverError::NotARepository { .. })));
        let repo = Fixture::with(&[]);
        repo.git(&["init", "-q", "--bare", "bare.git"]);
        assert!(matches!(Worktree::discover(&repo.path("bare.git")), Err(DiscoverError::Bare { .. })));
    }

    #[test]
    fn a_damaged_repository_has_its_own_error() {
        let repo = Fixture::with(&[("src/a.txt", "x")]);
        repo.commit();
        repo.git(&["worktree", "add", "-q", "-b", "side", "nested/side"]);
        let why = |path: &str| Worktree::discover(&repo.path(path)).unwrap_err().to_string();
        std::fs::remove_dir_all(repo.path(".git/worktrees")).unwrap();
        let message = why("nested/side");
        assert!(message.contains("nested/side/.git points to "), "{message}");
        assert!(message.contains(".git/worktrees/side, which is not a git"), "{message}");
        std::fs::write(repo.path(".git/config"), "[[broken").unwrap();
        assert!(matches!(Worktree::discover(&repo.path("src")), Err(DiscoverError::Broken { .. })));
        std::fs::remove_file(repo.path(".git/HEAD")).unwrap();
        let message = why("src");
        assert!(message.contains(".git is not a valid git repository"), "{message}");
    }

    #[test]
    fn git_directory_with_another_name_is_not_shown() {
        let repo = Fixture::with(&[("a.txt", "x"), ("sub/b.txt", "x")]);
        repo.commit();
        let to = repo.path("sub/data");
        std::fs::rename(repo.path(".git"), &to).unwrap();
        std::fs::write(repo.path(".git"), "gitdir: sub/data\n").unwrap();
        let worktree = repo.worktree();
        assert_eq!(worktree.git_dir(), to);
        let files = crate::walk(&worktree, &crate::WalkLimits::default()).files;
        let files: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["a.txt", "sub/b.txt"]);
        let config = RelPath::new("sub/data/config").unwrap();
        assert!(matches!(worktree.resolve(&config), Err(PathError::Outside { .. })));
        assert!(!worktree.contains(&to));
    }

    #[test]
    fn only_existing_paths_inside_are_contained() {
        let repo = Fixture::with(&[("src/a.rs", "x"), ("inner/b.rs", "x")]);
        repo.git(&["init", "-q", "inner"]);
        let worktree = repo.worktree();
        assert!(worktree.contains(repo.root()));
        assert!(worktree.contains(&repo.path("src")));
        assert!(worktree.contains(&repo.path("src/../src/a.rs")));
        assert!(!worktree.contains(&repo.path("src/gone.rs")));
        assert!(!worktree.contains(&repo.path("..")));
        assert!(!worktree.contains(&repo.path(".git/config")));
        assert!(!worktree.contains(&repo.path("inner/b.rs")));
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_out_of_the_worktree_are_not_resolved() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        let repo = Fixture::with(&[("a.txt", "x")]);
        std::os::unix::fs::symlink(outside.path(), repo.path("out")).unwrap();
        std::os::unix::fs::symlink("a.txt", repo.path("in")).unwrap();
        let worktree = repo.worktree();
        let resolve = |path| worktree.resolve(&RelPath::new(path).unwrap());
        assert_eq!(resolve("in").unwrap(), repo.path("a.txt"));
        assert!(matches!(resolve("out/secret"), Err(PathError::Outside { .. })));
        assert!(matches!(resolve("gone"), Err(PathError::NotFound { .. })));
    }
}
