use std::io;
use std::path::{Path, PathBuf};

use super::error::{DiscoverError, FormatError};
use super::format::RepositoryFormat;
use super::git_dir::{DotGit, common_dir, is_git_dir};
use super::ownership;
use crate::git_metadata::{GitMetadataError, check_git_files, check_git_trees};

/// Index entries that are compared with the files of the worktree that `core.worktree` names.
#[cfg(unix)]
const COMPARED_ENTRIES: usize = 100;

/// A worktree and its repository.
pub(crate) struct Discovered {
    /// The top directory, canonical.
    pub(crate) root: PathBuf,
    pub(crate) git: GitDir,
}

/// A git directory and the format of its repository; all paths are canonical.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDir {
    /// The git directory; for a linked worktree `<common_dir>/worktrees/<name>`.
    pub(crate) path: PathBuf,
    /// The directory that all worktrees of the repository share.
    pub(crate) common_dir: PathBuf,
    pub(crate) object_hash: gix::hash::Kind,
}

/// A git directory, and where it was found.
struct Candidate {
    /// The directory that contains `.git`, or a repository that is its own directory.
    directory: PathBuf,
    git_dir: PathBuf,
    has_dot_git: bool,
}

/// Finds the worktree that contains a directory.
pub(crate) fn discover(directory: &Path) -> Result<Discovered, DiscoverError> {
    let start = directory.canonicalize().map_err(|source| not_found(directory, source))?;
    let candidate = Candidate::above(&start)?;
    let (git, format) = GitDir::with_format(&candidate.git_dir)?;
    if format.is_bare || format.worktree.is_none() && !candidate.has_dot_git {
        return Err(DiscoverError::Bare { path: git.path });
    }
    let broken = |source: OpenError| DiscoverError::Broken { path: git.path.clone(), source: Box::new(source) };
    check_git_trees(&git.path, &git.common_dir).map_err(|error| broken(error.into()))?;
    let repository = git.repository().map_err(broken)?;
    let root = match &format.worktree {
        Some(configured) => candidate.configured_root(&git.path, configured, &repository)?,
        None => candidate.directory,
    };
    Ok(Discovered { root, git })
}

/// Why the repository of a git directory is not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// `commondir` cannot be read.
    #[error("commondir cannot be read")]
    CommonDir(#[source] io::Error),
    /// A file is not regular, or too large.
    #[error(transparent)]
    Metadata(#[from] GitMetadataError),
    /// The configuration cannot be read, or its format is unknown.
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    Git(#[from] gix::Error),
}

fn not_found(path: &Path, source: io::Error) -> DiscoverError {
    let path = path.to_owned();
    DiscoverError::NotFound { path, source }
}

impl GitDir {
    /// Reads the format of the repository with a git directory, or of a bare one.
    pub(crate) fn read(path: &Path) -> Result<Self, DiscoverError> {
        if !is_git_dir(path) {
            let path = path.to_owned();
            return Err(DiscoverError::Incomplete { path });
        }
        Ok(Self::with_format(path)?.0)
    }

    /// Reads the format of the repository whose `.git` is in a directory, or which is the directory.
    pub(crate) fn at(directory: &Path) -> Result<Self, DiscoverError> {
        match DotGit::of(directory) {
            Ok(DotGit::Directory) => Self::read(&directory.join(".git")),
            Ok(DotGit::File(to)) => Self::read(&to),
            Ok(DotGit::None) => Self::read(directory),
            Err(source) => Err(DiscoverError::GitFile { path: directory.join(".git"), source }),
        }
    }

    fn with_format(path: &Path) -> Result<(Self, RepositoryFormat), DiscoverError> {
        let path = path.canonicalize().map_err(|source| not_found(path, source))?;
        let common_dir = common_dir(&path).map_err(|source| not_found(&path.join("commondir"), source))?;
        let format = RepositoryFormat::read(&common_dir, &path).map_err(|error| error.at(&path))?;
        let git = Self { path, common_dir, object_hash: format.object_hash };
        Ok((git, format))
    }

    /// Reads the format again, after a check of the files that gix opens.
    pub(crate) fn format(&self) -> Result<RepositoryFormat, OpenError> {
        self.check()?;
        Ok(RepositoryFormat::read(&self.common_dir, &self.path)?)
    }

    fn check(&self) -> Result<(), OpenError> {
        Ok(check_git_files(&self.path, &common_dir(&self.path).map_err(OpenError::CommonDir)?)?)
    }

    /// Opens the repository. The configuration of the user, of the system and of the environment is not read.
    pub(crate) fn repository(&self) -> Result<gix::Repository, OpenError> {
        self.repository_with(gix::open::Options::isolated())
    }

    /// Like [`GitDir::repository`], with the configuration that the options allow.
    pub(crate) fn repository_with(&self, options: gix::open::Options) -> Result<gix::Repository, OpenError> {
        self.check()?;
        // The owner was checked when the worktree was found.
        let options = options.open_path_as_is(true).with(gix::sec::Trust::Full);
        Ok(gix::open_opts(&self.path, options)?)
    }
}

impl Candidate {
    /// Finds the nearest git directory, as git does: a `.git` that is no repository is passed over, a faulty `.git` file
    /// is an error, and the search ends at the border of the file system.
    fn above(start: &Path) -> Result<Self, DiscoverError> {
        let mut incomplete = None;
        for directory in start.ancestors().take_while(|above| is_on_one_device(start, above)) {
            let dot_git = directory.join(".git");
            let found =
                DotGit::of(directory).map_err(|source| DiscoverError::GitFile { path: dot_git.clone(), source })?;
            let git_dir = match found {
                DotGit::File(to) if is_git_dir(&to) => Some(to),
                DotGit::File(to) => return Err(DiscoverError::BrokenLink { path: dot_git, to }),
                DotGit::Directory if is_git_dir(&dot_git) => Some(dot_git.clone()),
                DotGit::Directory => {
                    incomplete = incomplete.or(Some(dot_git.clone()));
                    None
                }
                DotGit::None => None,
            };
            let has_dot_git = git_dir.is_some();
            let own = git_dir.or_else(|| is_git_dir(directory).then(|| directory.to_owned()));
            if let Some(git_dir) = own {
                let paths: &[&Path] = if has_dot_git { &[&dot_git, directory, &git_dir] } else { &[directory] };
                let is_safe = || ownership::is_declared_safe(directory, &mut |name| std::env::var_os(name));
                if !ownership::is_own(paths) && !is_safe() {
                    let path = directory.to_owned();
                    return Err(DiscoverError::DubiousOwnership { path });
                }
                return Ok(Self { directory: directory.to_owned(), git_dir, has_dot_git });
            }
        }
        Err(match incomplete {
            Some(path) => DiscoverError::Incomplete { path },
            None => DiscoverError::NotARepository { path: start.to_owned() },
        })
    }

    /// Returns the directory that `core.worktree` names, if it belongs to the repository.
    fn configured_root(
        &self,
        git_dir: &Path,
        configured: &gix::bstr::BString,
        repository: &gix::Repository,
    ) -> Result<PathBuf, DiscoverError> {
        use gix::bstr::ByteSlice as _;
        let named = git_dir.join(configured.to_path_lossy());
        let root = match named.canonicalize() {
            Ok(root) if root.is_dir() && !configured.is_empty() => root,
            Ok(_) => {
                let source = io::ErrorKind::NotADirectory.into();
                return Err(DiscoverError::NotFound { path: named, source });
            }
            Err(source) => return Err(DiscoverError::NotFound { path: named, source }),
        };
        let is_inside = self.has_dot_git && root.starts_with(&self.directory) && !root.starts_with(git_dir);
        if is_inside || leads_back(&root, git_dir) || checked_out(repository, &root) {
            return Ok(root);
        }
        Err(DiscoverError::ForeignWorktree { git_dir: git_dir.to_owned(), worktree: root })
    }
}

/// Returns whether the `.git` of a directory is this git directory, or names it.
fn leads_back(root: &Path, git_dir: &Path) -> bool {
    let target = match DotGit::of(root) {
        Ok(DotGit::Directory) => root.join(".git"),
        Ok(DotGit::File(to)) => to,
        Ok(DotGit::None) | Err(_) => return false,
    };
    target.canonicalize().is_ok_and(|target| target == git_dir)
}

/// Returns whether the index describes one of the first files as it is on disk.
#[cfg(unix)]
fn checked_out(repository: &gix::Repository, root: &Path) -> bool {
    use gix::bstr::ByteSlice as _;
    use std::os::unix::fs::MetadataExt as _;
    let Ok(index) = repository.index_or_empty() else {
        return false;
    };
    index.entries().iter().take(COMPARED_ENTRIES).any(|entry| {
        let Ok(metadata) = root.join(entry.path(&index).to_path_lossy()).symlink_metadata() else {
            return false;
        };
        // git keeps the lower half of each number.
        let (stat, inode) = (&entry.stat, metadata.ino() & u64::from(u32::MAX));
        metadata.is_file()
            && u64::from(stat.ino) == inode
            && i64::from(stat.ctime.secs) == metadata.ctime() & i64::from(u32::MAX)
            && i64::from(stat.ctime.nsecs) == metadata.ctime_nsec()
    })
}

/// Returns whether the index describes one of the first files as it is on disk: without inodes nothing proves it.
#[cfg(not(unix))]
fn checked_out(_repository: &gix::Repository, _root: &Path) -> bool {
    false
}

#[cfg(unix)]
fn is_on_one_device(start: &Path, above: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    device(start) == device(above)
}

#[cfg(not(unix))]
fn is_on_one_device(_start: &Path, _above: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests;
