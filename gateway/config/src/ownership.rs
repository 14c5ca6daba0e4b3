//! The owner and the permissions of directories with private files: nobody but their user may put a file into them.
//!
//! Another user who can write into the state directory, or replace it, could plant a ledger whose blocks enter prompts, or
//! a link in place of a log that Muninn then appends to.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The permissions that nobody but the owner may have.
const OTHERS: u32 = 0o077;
/// The permission to create, rename and remove entries, of the group and of all.
const GROUP_WRITES: u32 = 0o020;
const ALL_WRITE: u32 = 0o002;
/// Only the owner of an entry renames or removes it, as in `/tmp`.
const STICKY: u32 = 0o1000;
/// The most entries of an open directory that are looked at. With more of them, a person has to look.
const MOST_ENTRIES: usize = 50_000;
/// The owner that the system shows for users who do not exist in a container.
const OVERFLOW_USER: u32 = 65_534;

/// Why a directory, or a socket in it, is not used.
#[derive(Debug, Error)]
pub enum OwnershipError {
    /// It belongs to somebody else.
    #[error("{} belongs to user {owner}; remove it, or set {variable} to a directory of your own", path.display())]
    Owner {
        /// The directory or the socket.
        path: PathBuf,
        owner: u32,
        /// The environment variable that names another place.
        variable: &'static str,
    },
    /// Others can write into the directory, or enter one that Muninn cannot close.
    #[error("{} can be entered by other users (mode {mode:o}); run `chmod 700` on it", path.display())]
    Mode {
        /// The directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Others can replace the directory, because they can write into one above it.
    #[error(
        "other users can write into {} (mode {mode:o}), and replace the directories in it; run `chmod go-w` on it, or set \
         {variable} to another directory",
        path.display()
    )]
    Parent {
        /// The directory above.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// The environment variable that names another place.
        variable: &'static str,
    },
    /// The directory was open to others, and one of them may have left something in it.
    #[error(
        "other users could write into {} (mode {mode:o}), and {} is {what}; look at it, remove what is not yours, and run \
         `chmod 700` on the directory",
        directory.display(),
        entry.display()
    )]
    Planted {
        directory: PathBuf,
        /// Its permissions.
        mode: u32,
        /// What lies in it.
        entry: PathBuf,
        /// The kind of the entry.
        what: &'static str,
    },
    /// It is a file or a symbolic link.
    #[error("{} is no {expected}; remove it", path.display())]
    Kind {
        path: PathBuf,
        /// What it must be.
        expected: &'static str,
    },
    /// It cannot be created or examined.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The user and the group of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct User {
    id: u32,
    group: u32,
}

/// Owner, group and permissions of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    owner: u32,
    group: u32,
    mode: u32,
}

/// What is wrong with a directory above a private one.
#[derive(Debug, PartialEq, Eq)]
enum ParentProblem {
    Owner,
    Mode,
}

impl User {
    fn of_process() -> User {
        User { id: user(), group: rustix::process::getegid().as_raw() }
    }
}

impl Access {
    fn of(metadata: &Metadata) -> Access {
        Access { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() & 0o7777 }
    }

    /// What is wrong with this directory above a private one of `user`. A group of the user alone, which has the same
    /// number by convention, may write: on many systems every new directory is writable for it.
    fn problem_as_parent(self, user: User) -> Option<ParentProblem> {
        if ![user.id, 0, OVERFLOW_USER].contains(&self.owner) {
            return Some(ParentProblem::Owner);
        }
        (self.is_writable_for_others(user) && self.mode & STICKY == 0).then_some(ParentProblem::Mode)
    }

    fn is_writable_for_others(self, user: User) -> bool {
        let is_group_private = self.group == user.group && user.group == user.id;
        let others = if is_group_private { ALL_WRITE } else { GROUP_WRITES | ALL_WRITE };
        self.mode & others != 0
    }
}

/// The user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Checks that a path is what it must be and belongs to the user. `metadata`: that of the path itself, not of a link's
/// target, which another user could have made.
pub fn check_owner(
    path: &Path,
    metadata: &Metadata,
    (is_expected, expected): (bool, &'static str),
    variable: &'static str,
) -> Result<(), OwnershipError> {
    let path = path.to_owned();
    match metadata.uid() {
        _ if !is_expected => Err(OwnershipError::Kind { path, expected }),
        owner if owner != user() => Err(OwnershipError::Owner { path, owner, variable }),
        _ => Ok(()),
    }
}

/// Checks that a directory is no link, belongs to the user, and is closed to others.
pub fn check_closed(path: &Path, variable: &'static str) -> Result<(), OwnershipError> {
    let metadata = path.symlink_metadata().map_err(failed(path))?;
    check_owner(path, &metadata, (metadata.is_dir(), "directory"), variable)?;
    match metadata.mode() & 0o777 {
        mode if mode & OTHERS == 0 => Ok(()),
        mode => Err(OwnershipError::Mode { path: path.to_owned(), mode }),
    }
}

/// A directory that only its user controls, or that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnDirectory {
    /// The directory, links resolved; `None` if it does not exist.
    real: Option<PathBuf>,
    /// Its permissions, if others may enter it.
    open: Option<u32>,
}

impl OwnDirectory {
    /// Examines a directory and those above it. The directory may be a link of the user's to a directory of the user's.
    pub(crate) fn examine(path: &Path, variable: &'static str) -> Result<OwnDirectory, OwnershipError> {
        let path = std::path::absolute(path).map_err(failed(path))?;
        let user = User::of_process();
        let mut existing = None;
        for above in path.ancestors() {
            let metadata = match above.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata.map_err(failed(above))?,
            };
            existing.get_or_insert(above);
            // Whoever owns a link can have it lead elsewhere later.
            if metadata.is_symlink() && ![user.id, 0, OVERFLOW_USER].contains(&metadata.uid()) {
                return Err(OwnershipError::Owner { path: above.to_owned(), owner: metadata.uid(), variable });
            }
        }
        let existing = existing.unwrap_or(Path::new("/"));
        let exists = existing == path;
        let real = existing.canonicalize().map_err(failed(existing))?;
        for above in real.ancestors().skip(usize::from(exists)) {
            let metadata = above.metadata().map_err(failed(above))?;
            check_parent(above, &metadata, user, variable)?;
        }
        if !exists {
            return Ok(OwnDirectory { real: None, open: None });
        }
        let metadata = real.metadata().map_err(failed(&real))?;
        if !metadata.is_dir() && metadata.uid() == user.id {
            // Nobody else has made it, so a gateway answers without memory, as on any other fault of its files.
            return Ok(OwnDirectory { real: None, open: None });
        }
        check_owner(&real, &metadata, (metadata.is_dir(), "directory"), variable)?;
        let mode = metadata.mode() & 0o777;
        if mode & OTHERS != 0 {
            check_entries(&real, mode, user)?;
        }
        if Access::of(&metadata).is_writable_for_others(user) {
            return Err(OwnershipError::Mode { path: real, mode });
        }
        Ok(OwnDirectory { real: Some(real), open: Some(mode).filter(|mode| mode & OTHERS != 0) })
    }

    /// Takes the rights of others away, and returns what was done. Earlier versions, and people, made directories that
    /// others may enter.
    pub(crate) fn close(&self) -> Result<Option<String>, OwnershipError> {
        let (Some(path), Some(mode)) = (&self.real, self.open) else {
            return Ok(None);
        };
        if fs::set_permissions(path, fs::Permissions::from_mode(0o700)).is_err() {
            return Err(OwnershipError::Mode { path: path.clone(), mode });
        }
        let path = path.display();
        Ok(Some(format!("{path} could be entered by other users (mode {mode:o}); it now has mode 700")))
    }
}

fn check_parent(path: &Path, metadata: &Metadata, user: User, variable: &'static str) -> Result<(), OwnershipError> {
    let path = path.to_owned();
    let access = Access::of(metadata);
    match access.problem_as_parent(user) {
        None => Ok(()),
        Some(ParentProblem::Owner) => Err(OwnershipError::Owner { path, owner: access.owner, variable }),
        Some(ParentProblem::Mode) => Err(OwnershipError::Parent { path, mode: access.mode, variable }),
    }
}

/// Refuses a directory that others could enter if they may have left something in it: below a directory that they could write
/// into, an entry of theirs, or anything that Muninn does not make.
fn check_entries(directory: &Path, mode: u32, user: User) -> Result<(), OwnershipError> {
    let mut left = MOST_ENTRIES;
    let mut open = vec![(directory.to_owned(), mode, false)];
    while let Some((folder, mode, is_below_writable)) = open.pop() {
        let is_writable = is_below_writable || mode & (GROUP_WRITES | ALL_WRITE) != 0;
        for entry in fs::read_dir(&folder).map_err(failed(&folder))? {
            let entry = entry.map_err(failed(&folder))?;
            let metadata = match entry.metadata() {
                // A running Muninn has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata.map_err(failed(&folder))?,
            };
            left = left.saturating_sub(1);
            let what = if is_writable && metadata.uid() != user.id {
                "another user's"
            } else if is_writable && metadata.is_symlink() {
                "a symbolic link"
            } else if is_writable && metadata.is_file() && metadata.nlink() > 1 {
                "a file with a second name elsewhere"
            } else if left == 0 {
                "one of too many to look at"
            } else {
                if metadata.is_dir() {
                    open.push((entry.path(), metadata.mode() & 0o777, is_writable));
                }
                continue;
            };
            return Err(OwnershipError::Planted { directory: folder, mode, entry: entry.path(), what });
        }
    }
    Ok(())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> OwnershipError {
    let path = path.to_owned();
    |source| OwnershipError::Io { path, source }
}

#[cfg(test)]
mod tests;
