//! Files and their history on a ref of its own, which is no branch: `git status`, `git branch` and the worktree never show
//! it.
//!
//! Each change is a commit with one parent. It is written as objects first; then the ref is moved, if it still is where the
//! change began. Objects of a change that lost the race, or whose process was killed, are collected by git as garbage.
//! Nothing here runs a program that a repository's configuration names.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice as _;
use gix::objs::tree::EntryKind;

use crate::discovery::{DiscoverError, GitDir};
use crate::object_id::ObjectId;
use crate::references::{ReferenceError, References};

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
}

/// A chain of commits on a ref.
pub struct CommitChain {
    references: References,
    path: PathBuf,
    reference: String,
}

impl CommitChain {
    /// The chain on a ref, such as `refs/muninn/journal`, of the repository with this `.git` directory, or of a bare one.
    ///
    /// # Errors
    /// [`ChainError::Git`] if the repository cannot be opened.
    pub fn open(git_dir: &Path, reference: &str) -> Result<Self, ChainError> {
        Ok(Self {
            references: References::open_shared(&GitDir::read(git_dir)?)?,
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
        let Some(id) = self.references.find(&self.reference)? else {
            return Ok(None);
        };
        let header = self.repository().find_header(id).map_err(|error| self.failed(error))?;
        if header.kind() != gix::objs::Kind::Commit {
            return Err(ChainError::NoCommit {
                reference: self.reference.clone(),
            });
        }
        Ok(Some(id.into()))
    }

    /// Reads a commit.
    ///
    /// # Errors
    /// [`ChainError`] if there is no such commit.
    pub fn commit(&self, id: ObjectId) -> Result<ChainCommit, ChainError> {
        let commit = self.find(id)?;
        let decoded = commit.decode().map_err(|error| self.failed(error))?;
        let author = decoded.author().map_err(|error| self.failed(error))?;
        let time = author.time().unwrap_or_default();
        Ok(ChainCommit {
            id,
            parent: decoded.parents().next().map(ObjectId::from),
            author: Signature {
                name: author.name.to_str_lossy().into_owned(),
                email: author.email.to_str_lossy().into_owned(),
                seconds: time.seconds,
                offset: time.offset,
            },
            message: decoded.message.to_str_lossy().into_owned(),
        })
    }

    fn find(&self, id: ObjectId) -> Result<gix::Commit<'_>, ChainError> {
        let object = self
            .repository()
            .find_object(id.gix())
            .map_err(|error| self.failed(error))?;
        object.try_into_commit().map_err(|_| ChainError::NoCommit {
            reference: format!("{} ({id})", self.reference),
        })
    }

    /// The text of a blob; bytes that are no UTF-8 are replaced. `None` if there is no such blob.
    #[must_use]
    pub fn text(&self, blob: ObjectId) -> Option<String> {
        let object = self.repository().find_object(blob.gix()).ok()?;
        (object.kind == gix::objs::Kind::Blob).then(|| object.data.to_str_lossy().into_owned())
    }

    /// The commits from one back to the first, the newest first, without those from `known` on.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn back_to(&self, from: Option<ObjectId>, known: Option<ObjectId>) -> Result<Vec<ChainCommit>, ChainError> {
        let mut commits = Vec::new();
        let mut next = from.filter(|from| Some(*from) != known);
        while let Some(id) = next {
            let commit = self.commit(id)?;
            next = commit.parent.filter(|parent| Some(*parent) != known);
            commits.push(commit);
        }
        Ok(commits)
    }

    /// A file at a commit; `None` if there is none.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn file(&self, commit: ObjectId, path: &str) -> Result<Option<ChainFile>, ChainError> {
        let tree = self.find(commit)?.tree().map_err(|error| self.failed(error))?;
        let entry = tree.lookup_entry_by_path(path).map_err(|error| self.failed(error))?;
        let Some(entry) = entry.filter(|entry| entry.mode().is_blob()) else {
            return Ok(None);
        };
        let object = entry.object().map_err(|error| self.failed(error))?;
        Ok(Some(ChainFile {
            id: object.id.into(),
            text: object.data.to_str_lossy().into_owned(),
        }))
    }

    /// The paths of all files at a commit with the ids of their contents, sorted.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn files(&self, commit: ObjectId) -> Result<Vec<(String, ObjectId)>, ChainError> {
        let tree = self.find(commit)?.tree().map_err(|error| self.failed(error))?;
        let mut files = Vec::new();
        let mut open = vec![(String::new(), tree)];
        while let Some((above, tree)) = open.pop() {
            for entry in tree.iter() {
                let entry = entry.map_err(|error| self.failed(error))?;
                let path = format!("{above}{}", entry.filename().to_str_lossy());
                if entry.mode().is_tree() {
                    let object = entry.object().map_err(|error| self.failed(error))?;
                    open.push((format!("{path}/"), object.into_tree()));
                } else if entry.mode().is_blob() {
                    files.push((path, entry.oid().to_owned().into()));
                }
            }
        }
        files.sort();
        Ok(files)
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
            Some(parent) => self
                .find(parent)?
                .tree_id()
                .map_err(|error| self.failed(error))?
                .detach(),
            None => self.repository().empty_tree().id,
        };
        let mut tree = self
            .repository()
            .edit_tree(before)
            .map_err(|error| self.failed(error))?;
        for (path, text) in files {
            let Some(text) = text else {
                tree.remove(*path).map_err(|error| self.failed(error))?;
                continue;
            };
            let blob = self.repository().write_blob(text).map_err(|error| self.failed(error))?;
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
        let id = self.repository().write_object(&commit);
        Ok(id.map_err(|error| self.failed(error))?.detach().into())
    }

    /// Moves the ref, if it still is where the change began. Returns whether it did.
    ///
    /// # Errors
    /// [`ChainError`] if it cannot be moved for another reason.
    pub fn advance(&self, from: Option<ObjectId>, to: ObjectId) -> Result<bool, ChainError> {
        let from = from.map(ObjectId::gix);
        Ok(self.references.advance(&self.reference, from, to.gix())?)
    }
}
