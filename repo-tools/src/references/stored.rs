use super::head::{Expected, Head, ReferenceChange, ReferenceError};
use super::positions::{Positions, ReadTables, unopened};
use super::tables;
use crate::discovery::GitDir;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};

/// The repository of a worktree, with its references at one time.
pub(crate) struct References {
    pub(crate) repository: gix::Repository,
    positions: Positions,
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

    fn with_tables(git: &GitDir, options: gix::open::Options, read: ReadTables) -> Result<Self, ReferenceError> {
        let repository = git.repository_with(options).map_err(|error| unopened(git, error))?;
        Ok(Self { repository, positions: Positions::with_tables(git, read)? })
    }

    fn failed(&self, reference: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ReferenceError {
        self.positions.failed(reference, source)
    }

    /// Reads HEAD.
    pub(crate) fn head(&self) -> Result<Head, ReferenceError> {
        self.positions.head()
    }

    /// Returns the object that a reference leads to, by its full name; `None` if there is no such reference.
    pub(crate) fn find(&self, name: &str) -> Result<Option<gix::ObjectId>, ReferenceError> {
        self.positions.find(name)
    }

    /// Returns the commit at which a branch was created, and the words of the log about it; `None` without a log.
    pub(crate) fn creation(&self, branch: &str) -> Result<Option<(gix::ObjectId, String)>, ReferenceError> {
        if let Some(table) = &self.positions.table {
            return table.creation(&self.positions.path, branch);
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
        if let Some(table) = &self.positions.table {
            return table.last_left(&self.positions.path, &left);
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
        if let Some(table) = &self.positions.table {
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
        let changed = match &self.positions.table {
            Some(_) => tables::change(&self.positions.path, changes),
            None => self.change_files(changes),
        };
        let Err(error) = changed else { return Ok(true) };
        let now = match &self.positions.table {
            Some(_) => tables::now(&self.positions.path, &first.name)?,
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

#[cfg(test)]
mod tests;
