use std::path::{Path, PathBuf};

use gix::objs::tree::EntryKind;

use super::chain::{ChainError, CommitChain, Signature};
use super::limits::MAX_ALLOCATION;
use crate::discovery::GitDir;
use crate::git_program::{Remote, RemoteError};
use crate::object_id::ObjectId;
use crate::references::{Expected, ReferenceChange, References};

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

    pub(crate) fn repository(&self) -> &gix::Repository {
        &self.references.repository
    }

    /// The remote that a name or an address refers to. Relative addresses of the repository's configuration begin in
    /// `directory`.
    pub fn remote(&self, name: &str, directory: &Path) -> Result<Remote, RemoteError> {
        Remote::find(self.repository(), name, directory)
    }

    pub(crate) fn failed(&self, source: impl std::error::Error + Send + Sync + 'static) -> ChainError {
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

#[cfg(test)]
mod tests;
