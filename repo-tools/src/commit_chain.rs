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

use std::fmt;
use std::path::{Path, PathBuf};

use gix::objs::tree::EntryKind;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};

use crate::discovery::open_bounded;
use crate::git_program::{Remote, RemoteError};
pub use incoming::{IncomingError, IncomingObjects};
use limits::MAX_ALLOCATION;
pub use limits::{ChainLimit, MAX_COMMITS, MAX_OBJECT_BYTES};
pub use reading::History;

/// An object id, as 20 bytes of SHA-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ObjectId([u8; 20]);

impl ObjectId {
    /// Reads 40 hexadecimal digits.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        let id = gix::ObjectId::from_hex(digits.as_bytes()).ok()?;
        Self::of(id)
    }

    fn of(id: gix::ObjectId) -> Option<Self> {
        id.as_bytes().try_into().ok().map(Self)
    }

    fn gix(self) -> gix::ObjectId {
        gix::ObjectId::from(self.0)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A person, and a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// Seconds since 1970.
    pub seconds: i64,
    /// The offset from UTC in seconds.
    pub offset: i32,
}

/// A commit of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainCommit {
    /// Its id.
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
        /// The object.
        id: ObjectId,
    },
    /// An object is too large to be read.
    #[error("{id} of {reference} has {bytes} bytes, and {MAX_OBJECT_BYTES} are the most")]
    TooLarge {
        /// The ref.
        reference: String,
        /// The object.
        id: ObjectId,
        /// Its bytes.
        bytes: u64,
    },
    /// The history, or the files of a commit, are too large to be read.
    #[error("{reference} has more than {limit}")]
    Limit {
        /// The ref.
        reference: String,
        /// The limit.
        limit: ChainLimit,
    },
}

/// A chain of commits on a ref.
pub struct CommitChain {
    repository: gix::Repository,
    path: PathBuf,
    reference: String,
}

impl CommitChain {
    /// The chain on a ref, such as `refs/muninn/journal`, of the repository with this `.git` directory, or of a bare one.
    ///
    /// # Errors
    /// [`ChainError::Git`] if the repository cannot be opened.
    pub fn open(git_dir: &Path, reference: &str) -> Result<Self, ChainError> {
        let repository = open_bounded(git_dir, MAX_ALLOCATION).map_err(|error| ChainError::Git {
            path: git_dir.to_owned(),
            reference: reference.to_owned(),
            source: Box::new(error),
        })?;
        Ok(Self {
            repository,
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
        let repository = open_bounded(path, MAX_ALLOCATION).map_err(|error| failed(error.into()))?;
        Ok(repository.common_dir().to_owned())
    }

    /// The remote that a name or an address refers to. Relative addresses of the repository's configuration begin in
    /// `directory`.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn remote(&self, name: &str, directory: &Path) -> Result<Remote, RemoteError> {
        Remote::find(&self.repository, name, directory)
    }

    fn failed(&self, source: impl std::error::Error + Send + Sync + 'static) -> ChainError {
        ChainError::Git {
            path: self.path.clone(),
            reference: self.reference.clone(),
            source: Box::new(source),
        }
    }

    /// The newest commit; `None` if there is no ref.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn tip(&self) -> Result<Option<ObjectId>, ChainError> {
        let found = self.repository.try_find_reference(self.reference.as_str());
        let Some(found) = found.map_err(|error| self.failed(error))? else {
            return Ok(None);
        };
        let no_commit = || ChainError::NoCommit {
            reference: self.reference.clone(),
        };
        let id = found.try_id().ok_or_else(no_commit)?.detach();
        let id = ObjectId::of(id).ok_or_else(no_commit)?;
        match self.header(id)? {
            Some(header) if header.kind == gix::objs::Kind::Commit => Ok(Some(id)),
            _ => Err(no_commit()),
        }
    }

    /// Writes a commit that replaces files of its parent, or removes those without a text. The ref stays.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn write(
        &self,
        parent: Option<ObjectId>,
        files: &[(&str, Option<&str>)],
        (author, committer): (&Signature, &Signature),
        message: &str,
    ) -> Result<ObjectId, ChainError> {
        let before = match parent {
            Some(parent) => self.tree_id(parent)?,
            None => self.repository.empty_tree().id,
        };
        let mut tree = self.repository.edit_tree(before).map_err(|error| self.failed(error))?;
        for (path, text) in files {
            let Some(text) = text else {
                tree.remove(*path).map_err(|error| self.failed(error))?;
                continue;
            };
            let blob = self.repository.write_blob(text).map_err(|error| self.failed(error))?;
            tree.upsert(*path, EntryKind::Blob, blob.detach())
                .map_err(|error| self.failed(error))?;
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
        let id = self
            .repository
            .write_object(&commit)
            .map_err(|error| self.failed(error))?;
        ObjectId::of(id.detach()).ok_or_else(|| ChainError::NoCommit {
            reference: self.reference.clone(),
        })
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
        let expected = match from {
            Some(from) => PreviousValue::MustExistAndMatch(from.gix().into()),
            None => PreviousValue::MustNotExist,
        };
        let mut edits = vec![self.edit(&self.reference, expected, to)?];
        for (name, to) in others {
            edits.push(self.edit(name, PreviousValue::Any, *to)?);
        }
        match self.repository.edit_references_as(edits, None) {
            Ok(_) => Ok(true),
            Err(_) if self.tip()? != from => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn edit(&self, name: &str, expected: PreviousValue, to: Option<ObjectId>) -> Result<RefEdit, ChainError> {
        let change = match to {
            Some(to) => Change::Update {
                log: LogChange {
                    mode: RefLog::AndReference,
                    force_create_reflog: false,
                    message: "muninn".into(),
                },
                expected,
                new: to.gix().into(),
            },
            None => Change::Delete {
                expected,
                log: RefLog::AndReference,
            },
        };
        let name: Result<_, gix::validate::reference::name::Error> = name.try_into();
        Ok(RefEdit {
            change,
            name: name.map_err(|error| self.failed(error))?,
            deref: false,
        })
    }

    /// The refs below a prefix that ends with `/`, with the commits that they point to.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>, ChainError> {
        let platform = self.repository.references().map_err(|error| self.failed(error))?;
        let found = platform.prefixed(prefix).map_err(|error| self.failed(error))?;
        let mut refs = Vec::new();
        for reference in found.flatten() {
            let id = reference.try_id().and_then(|id| ObjectId::of(id.detach()));
            refs.extend(id.map(|id| (reference.name().as_bstr().to_string(), id)));
        }
        Ok(refs)
    }
}
