use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use muninn_base::beginning;

use super::head::{Expected, Head, ReferenceChange, ReferenceError};
use super::tables::{self, RefTable};
use crate::discovery::{GitDir, RefStorage};

/// What HEAD of a repository with reftables contains, for programs that do not know the format.
const ELSEWHERE: &str = "refs/heads/.invalid";

/// The repository of a worktree, with its references at one time.
pub(crate) struct References {
    pub(crate) repository: gix::Repository,
    path: PathBuf,
    /// The references, if they are not files.
    table: Option<Arc<RefTable>>,
}

impl References {
    /// Opens the repository, and reads its tables if they have changed.
    pub(crate) fn open(git: &GitDir) -> Result<Self, ReferenceError> {
        Self::with_tables(git, gix::open::Options::isolated(), tables::read)
    }

    /// Like [`References::open`], without HEAD, which each worktree has for itself, and with options for the objects.
    pub(crate) fn open_shared(git: &GitDir, options: gix::open::Options) -> Result<Self, ReferenceError> {
        Self::with_tables(git, options, tables::read_shared)
    }

    fn with_tables(
        git: &GitDir,
        options: gix::open::Options,
        read: fn(&GitDir) -> Result<Arc<RefTable>, ReferenceError>,
    ) -> Result<Self, ReferenceError> {
        let repository = git
            .repository_with(options)
            .map_err(|source| ReferenceError::Repository { path: git.path.clone(), source: Box::new(source) })?;
        let table = match storage(git) {
            RefStorage::Files => None,
            RefStorage::Reftable => Some(read(git)?),
        };
        Ok(Self { repository, path: git.path.clone(), table })
    }

    fn failed(&self, reference: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ReferenceError {
        ReferenceError::Reference { reference: reference.to_owned(), path: self.path.clone(), source: source.into() }
    }

    /// Reads HEAD.
    pub(crate) fn head(&self) -> Result<Head, ReferenceError> {
        if let Some(table) = &self.table {
            return Ok(table.head.clone());
        }
        // HEAD was a link once, and still is where `core.preferSymlinkRefs` is set. gix reads the file that it leads to,
        // and so takes it for detached.
        if let Ok(target) = std::fs::read_link(self.path.join("HEAD")) {
            let name = target.to_string_lossy().into_owned();
            let commit = self.find(&name)?;
            return Ok(Head { name: Some(name), commit });
        }
        let head = self.repository.head().map_err(|error| self.failed("HEAD", error))?;
        let name = head.referent_name().map(|name| name.as_bstr().to_string());
        if name.as_deref() == Some(ELSEWHERE) {
            return Err(self.failed("HEAD", io::Error::other("its format changed, or is unknown")));
        }
        let commit = if head.is_unborn() {
            None
        } else {
            Some(head.into_peeled_id().map_err(|error| self.failed("HEAD", error))?.detach())
        };
        Ok(Head { name, commit })
    }

    /// Returns the object that a reference leads to, by its full name; `None` if there is no such reference.
    pub(crate) fn find(&self, name: &str) -> Result<Option<gix::ObjectId>, ReferenceError> {
        if let Some(table) = &self.table {
            return Ok(table.find(name));
        }
        let found = self.repository.try_find_reference(name).map_err(|error| self.failed(name, error))?;
        let Some(mut found) = found else { return Ok(None) };
        let id = found.peel_to_id().map_err(|error| self.failed(name, error))?;
        Ok(Some(id.detach()))
    }

    /// Returns the reference that a symbolic reference names; `None` if it does not exist or is not symbolic.
    pub(crate) fn target(&self, name: &str) -> Result<Option<String>, ReferenceError> {
        if let Some(table) = &self.table {
            return Ok(table.target(name));
        }
        let found = self.repository.try_find_reference(name).map_err(|error| self.failed(name, error))?;
        Ok(found.and_then(|found| Some(found.target().try_name()?.as_bstr().to_string())))
    }

    /// Returns the commit at which a branch was created, and the words of the log about it; `None` without a log.
    pub(crate) fn creation(&self, branch: &str) -> Result<Option<(gix::ObjectId, String)>, ReferenceError> {
        if let Some(table) = &self.table {
            return table.creation(&self.path, branch);
        }
        let name = format!("refs/heads/{branch}");
        let created = || {
            let reference = self.repository.try_find_reference(name.as_str()).ok()??;
            let mut log = reference.log_iter();
            let first = log.all().ok()??.next()?.ok()?;
            Some((first.new_oid(), first.message.to_string()))
        };
        Ok(created())
    }

    /// Returns the commit at which HEAD last left a branch, from the log of HEAD.
    pub(crate) fn last_commit_on(&self, branch: &str) -> Result<Option<gix::ObjectId>, ReferenceError> {
        let left = format!("checkout: moving from {branch} to ");
        if let Some(table) = &self.table {
            return table.last_left(&self.path, &left);
        }
        let last = || {
            let head = self.repository.find_reference("HEAD").ok()?;
            let mut log = head.log_iter();
            let moves = log.all().ok()??.flatten();
            let last = moves.filter(|line| line.message.starts_with(left.as_bytes())).last()?;
            Some(last.previous_oid())
        };
        Ok(last())
    }

    /// Returns the references below a prefix that ends with `/`, with the objects that they lead to.
    pub(crate) fn below(&self, prefix: &str) -> Result<Vec<(String, gix::ObjectId)>, ReferenceError> {
        if let Some(table) = &self.table {
            return Ok(table.below(prefix));
        }
        let platform = self.repository.references();
        let platform = platform.map_err(|error| self.failed(prefix, error))?;
        let found = platform.prefixed(prefix).map_err(|error| self.failed(prefix, error))?;
        let direct = found.flatten().filter_map(|reference| {
            let id = reference.try_id()?.detach();
            Some((reference.name().as_bstr().to_string(), id))
        });
        Ok(direct.collect())
    }

    /// Makes all changes in one transaction, if the first reference still is where its change began. Returns whether it was.
    pub(crate) fn change(&self, changes: &[ReferenceChange]) -> Result<bool, ReferenceError> {
        let Some(first) = changes.first() else { return Ok(true) };
        let changed = match &self.table {
            Some(_) => tables::change(&self.path, changes),
            None => self.change_files(changes),
        };
        let Err(error) = changed else { return Ok(true) };
        let now = match &self.table {
            Some(_) => tables::now(&self.path, &first.name)?,
            None => self.find(&first.name)?,
        };
        match first.expected {
            Expected::At(from) if now != from => Ok(false),
            _ => Err(error),
        }
    }

    fn change_files(&self, changes: &[ReferenceChange]) -> Result<(), ReferenceError> {
        let edits: Result<Vec<_>, _> = changes.iter().map(|change| self.edit(change)).collect();
        match self.repository.edit_references_as(edits?, None) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed(&changes[0].name, error)),
        }
    }

    fn edit(&self, change: &ReferenceChange) -> Result<RefEdit, ReferenceError> {
        let expected = match change.expected {
            Expected::At(Some(from)) => PreviousValue::MustExistAndMatch(from.into()),
            Expected::At(None) => PreviousValue::MustNotExist,
            Expected::Any => PreviousValue::Any,
        };
        let edit = match change.to {
            Some(to) => Change::Update {
                log: LogChange { mode: RefLog::AndReference, force_create_reflog: false, message: "muninn".into() },
                expected,
                new: to.into(),
            },
            None => Change::Delete { expected, log: RefLog::AndReference },
        };
        let name: Result<_, gix::validate::reference::name::Error> = change.name.as_str().try_into();
        Ok(RefEdit { change: edit, name: name.map_err(|error| self.failed(&change.name, error))?, deref: false })
    }
}

/// The format of the references now. A long-running process keeps a [`GitDir`], and `git refs migrate` can change the
/// format meanwhile: HEAD says whether it did.
fn storage(git: &GitDir) -> RefStorage {
    let head = beginning(&git.path.join("HEAD"), 255).unwrap_or_default();
    let is_elsewhere = head.trim_ascii_end() == format!("ref: {ELSEWHERE}").as_bytes();
    if is_elsewhere == (git.ref_storage == RefStorage::Reftable) {
        return git.ref_storage;
    }
    GitDir::read(&git.path).map_or(git.ref_storage, |git| git.ref_storage)
}

#[cfg(test)]
mod tests;
