//! Files and their history on a ref of its own, which is no branch: `git status`, `git branch` and the worktree never show
//! it.
//!
//! Each change is a commit with one parent. It is written as objects first; then the ref is moved, if it still is where the
//! change began. Objects of a change that lost the race, or whose process was killed, are collected by git as garbage.
//! Nothing here runs a program that a repository's configuration names. What is read is bounded (see `limits`), and each
//! object is the one that its id names: replacements (`refs/replace/`) do not count.

mod incoming;
mod limits;
mod reading;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use gix::objs::tree::EntryKind;

pub use self::incoming::{IncomingError, IncomingObjects};
use self::limits::MAX_ALLOCATION;
pub use self::limits::{ChainLimit, MAX_COMMITS, MAX_OBJECT_BYTES};
pub use self::reading::History;
use crate::discovery::{DiscoverError, GitDir};
use crate::git_program::{Remote, RemoteError};
use crate::object_id::ObjectId;
use crate::references::{Expected, ReferenceChange, ReferenceError, References};

/// A person, and a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    /// The address.
    pub email: String,
    /// Seconds since 1970.
    pub seconds: i64,
    /// The offset from UTC in seconds.
    pub offset: i32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainCommit {
    pub id: ObjectId,
    /// The commit before; absent for the first one.
    pub parent: Option<ObjectId>,
    /// Who wrote it, and when.
    pub author: Signature,
    /// The message; bytes that are no UTF-8 are replaced.
    pub message: String,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFile {
    /// The id of its content.
    pub id: ObjectId,
    /// The content; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// Why a chain cannot be read or extended.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The repository cannot be read or written.
    #[error("cannot use {reference} of {}", path.display())]
    Git {
        /// The repository.
        path: PathBuf,
        /// The ref.
        reference: String,
        /// The error of gix.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The repository cannot be opened.
    #[error(transparent)]
    Repository(#[from] DiscoverError),
    /// References cannot be read or changed.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The ref points to something else than a commit.
    #[error("{reference} does not point to a commit")]
    NoCommit {
        /// The ref.
        reference: String,
    },
    /// An object is not in the repository.
    #[error("{id} of {reference} is missing: a shallow or partial clone has only a part of the history")]
    Missing {
        /// The ref.
        reference: String,
        id: ObjectId,
    },
    /// An object is too large to be read.
    #[error("{id} of {reference} has {bytes} bytes, and {MAX_OBJECT_BYTES} are the most")]
    TooLarge {
        /// The ref.
        reference: String,
        id: ObjectId,
        bytes: u64,
    },
    /// The history, or the files of a commit, are too large to be read.
    #[error("{reference} has more than {limit}")]
    Limit {
        /// The ref.
        reference: String,
        limit: ChainLimit,
    },
}

/// A chain of commits on a ref.
pub struct CommitChain {
    references: References,
    path: PathBuf,
    reference: String,
}

impl CommitChain {
    /// The chain on a ref, such as `refs/muninn/journal`, of the repository with this `.git` directory, or of a bare one.
    pub fn open(git_dir: &Path, reference: &str) -> Result<Self, ChainError> {
        Ok(Self {
            references: References::open_shared(&GitDir::read(git_dir)?, bounded())?,
            path: git_dir.to_owned(),
            reference: reference.to_owned(),
        })
    }

    /// The `.git` directory of a repository at a path, which is made as a bare one if nothing is there, or an empty directory.
    ///
    /// # Errors
    /// [`ChainError::Git`] if there is something else, or it cannot be made.
    pub fn repository_at(path: &Path) -> Result<PathBuf, ChainError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| ChainError::Git {
            path: path.to_owned(),
            reference: "HEAD".to_owned(),
            source,
        };
        std::fs::create_dir_all(path).map_err(|error| failed(error.into()))?;
        let mut entries = path.read_dir().map_err(|error| failed(error.into()))?;
        if entries.next().is_none() {
            gix::init_bare(path).map_err(|error| failed(error.into()))?;
        }
        Ok(GitDir::at(path)?.common_dir)
    }

    fn repository(&self) -> &gix::Repository {
        &self.references.repository
    }

    /// The remote that a name or an address refers to. Relative addresses of the repository's configuration begin in
    /// `directory`.
    pub fn remote(&self, name: &str, directory: &Path) -> Result<Remote, RemoteError> {
        Remote::find(self.repository(), name, directory)
    }

    fn failed(&self, source: impl std::error::Error + Send + Sync + 'static) -> ChainError {
        ChainError::Git { path: self.path.clone(), reference: self.reference.clone(), source: Box::new(source) }
    }

    /// The newest commit; `None` if there is no ref.
    pub fn tip(&self) -> Result<Option<ObjectId>, ChainError> {
        let Some(id) = self.references.find(&self.reference)? else {
            return Ok(None);
        };
        let id = ObjectId::from(id);
        match self.header(id)? {
            Some(header) if header.kind == gix::objs::Kind::Commit => Ok(Some(id)),
            _ => Err(ChainError::NoCommit { reference: self.reference.clone() }),
        }
    }

    /// Writes a commit that replaces files of its parent, or removes those without a text. The ref stays.
    pub fn write(
        &self,
        parent: Option<ObjectId>,
        files: &[(&str, Option<&str>)],
        (author, committer): (&Signature, &Signature),
        message: &str,
    ) -> Result<ObjectId, ChainError> {
        let before = match parent {
            Some(parent) => self.tree_id(parent)?,
            None => self.repository().empty_tree().id,
        };
        let mut tree = self.repository().edit_tree(before).map_err(|error| self.failed(error))?;
        for (path, text) in files {
            let Some(text) = text else {
                tree.remove(*path).map_err(|error| self.failed(error))?;
                continue;
            };
            let blob = self.repository().write_blob(text).map_err(|error| self.failed(error))?;
            tree.upsert(*path, EntryKind::Blob, blob.detach()).map_err(|error| self.failed(error))?;
        }
        let tree = tree.write().map_err(|error| self.failed(error))?.detach();
        let signature = |from: &Signature| gix::actor::Signature {
            name: from.name.as_str().into(),
            email: from.email.as_str().into(),
            time: gix::date::Time::new(from.seconds, from.offset),
        };
        let commit = gix::objs::Commit {
            tree,
            parents: parent.map(ObjectId::gix).into_iter().collect(),
            author: signature(author),
            committer: signature(committer),
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        let id = self.repository().write_object(&commit);
        Ok(id.map_err(|error| self.failed(error))?.detach().into())
    }

    /// Moves the ref, if it still is where the change began, or removes it. Other refs are set, or removed, in the same
    /// transaction. Returns whether that was done.
    ///
    /// # Errors
    /// [`ChainError`] if it cannot be moved for another reason.
    pub fn advance(
        &self,
        from: Option<ObjectId>,
        to: Option<ObjectId>,
        others: &[(String, Option<ObjectId>)],
    ) -> Result<bool, ChainError> {
        let own = ReferenceChange {
            name: self.reference.clone(),
            expected: Expected::At(from.map(ObjectId::gix)),
            to: to.map(ObjectId::gix),
        };
        let others = others.iter().map(|(name, to)| ReferenceChange {
            name: name.clone(),
            expected: Expected::Any,
            to: to.map(ObjectId::gix),
        });
        let changes: Vec<_> = [own].into_iter().chain(others).collect();
        Ok(self.references.change(&changes)?)
    }

    /// The refs below a prefix that ends with `/`, with the commits that they point to.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>, ChainError> {
        let refs = self.references.below(prefix)?;
        Ok(refs.into_iter().map(|(name, id)| (name, id.into())).collect())
    }
}

/// Options for objects that may come from strangers: no object, and no base of one, is decoded that needs more than a number
/// of bytes, and an id names its own object, not a replacement (`refs/replace/`).
fn bounded() -> gix::open::Options {
    gix::open::Options::isolated().config_overrides([
        format!("gitoxide.objects.allocLimit={MAX_ALLOCATION}"),
        "core.useReplaceRefs=false".to_owned(),
    ])
}
