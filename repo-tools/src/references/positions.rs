//! Where the references of a repository lead. They are read without opening the repository, which takes ten times as long.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gix::refs::file::ReferenceExt as _;
use gix::refs::{Reference, file};

use super::head::{Head, ReferenceError};
use super::tables::{self, RefTable};
use crate::discovery::{GitDir, OpenError, RefStorage};

/// What HEAD of a repository with reftables contains, for programs that do not know the format.
const ELSEWHERE: &str = "refs/heads/.invalid";

/// Number of symbolic references that are followed, the same as git's.
const DEPTH: usize = 5;

/// Reads the tables of a repository.
pub(super) type ReadTables = fn(&GitDir) -> Result<Arc<RefTable>, ReferenceError>;

/// The references of a repository at one time.
pub(crate) struct Positions {
    pub(super) path: PathBuf,
    files: file::Store,
    /// The references, if they are not files.
    pub(super) table: Option<Arc<RefTable>>,
    /// `init.defaultBranch` of the repository's own configuration.
    pub(crate) default_branch: Option<String>,
}

impl Positions {
    /// Reads the tables, if they have changed. Files are read when they are asked for.
    pub(crate) fn open(git: &GitDir) -> Result<Self, ReferenceError> {
        Self::with_tables(git, tables::read)
    }

    pub(super) fn with_tables(git: &GitDir, read: ReadTables) -> Result<Self, ReferenceError> {
        // A long-running process keeps a [`GitDir`], and `git refs migrate` can change the format meanwhile.
        let format = git.format().map_err(|error| unopened(git, error))?;
        let table = match format.ref_storage {
            RefStorage::Files => None,
            RefStorage::Reftable => Some(read(git)?),
        };
        let options = gix::refs::store::init::Options {
            precompose_unicode: cfg!(target_vendor = "apple"),
            prohibit_windows_device_names: cfg!(windows),
            ..Default::default()
        };
        let (path, common) = (git.path.clone(), git.common_dir.clone());
        let files = if path == common {
            file::Store::at_opts(path, format.object_hash, options)
        } else {
            file::Store::for_linked_worktree_opts(path, common, format.object_hash, options)
        };
        Ok(Self { path: git.path.clone(), files, table, default_branch: format.default_branch })
    }

    pub(super) fn failed(
        &self,
        reference: &str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ReferenceError {
        ReferenceError::Reference { reference: reference.to_owned(), path: self.path.clone(), source: source.into() }
    }

    /// Reads HEAD.
    pub(crate) fn head(&self) -> Result<Head, ReferenceError> {
        if let Some(table) = &self.table {
            return Ok(table.head.clone());
        }
        // HEAD was a link once, and still is where `core.preferSymlinkRefs` is set. gix reads the file that it leads to,
        // and so takes it for detached.
        let name = match std::fs::read_link(self.path.join("HEAD")) {
            Ok(target) => Some(target.to_string_lossy().into_owned()),
            Err(_) => {
                let head =
                    self.file("HEAD")?.ok_or_else(|| self.failed("HEAD", io::Error::from(io::ErrorKind::NotFound)))?;
                symbolic_target(&head)
            }
        };
        if name.as_deref() == Some(ELSEWHERE) {
            return Err(self.failed("HEAD", io::Error::other("its format changed, or is unknown")));
        }
        let commit = self.object(name.as_deref().unwrap_or("HEAD")).map_err(|error| self.failed("HEAD", error))?;
        Ok(Head { name, commit })
    }

    /// Returns the object that a reference leads to, by its full name; `None` if there is no such reference.
    pub(crate) fn find(&self, name: &str) -> Result<Option<gix::ObjectId>, ReferenceError> {
        if let Some(table) = &self.table {
            return Ok(table.find(name));
        }
        self.object(name).map_err(|error| self.failed(name, error))
    }

    /// The object to which a reference leads that is a file.
    fn object(&self, name: &str) -> Result<Option<gix::ObjectId>, gix::Error> {
        let Some(mut found) = self.files.try_find(name)? else { return Ok(None) };
        for _ in 0..DEPTH {
            match found.follow(&self.files) {
                Some(next) => found = next?,
                None => return Ok(Some(found.target.id().to_owned())),
            }
        }
        Err(gix::Error::from_error(io::Error::other("it follows too many symbolic references")))
    }

    /// Returns the symbolic reference's target, by its full name; `None` if it does not exist or is not symbolic.
    pub(crate) fn target(&self, name: &str) -> Result<Option<String>, ReferenceError> {
        if let Some(table) = &self.table {
            return Ok(table.target(name));
        }
        Ok(self.file(name)?.as_ref().and_then(symbolic_target))
    }

    fn file(&self, name: &str) -> Result<Option<Reference>, ReferenceError> {
        self.files.try_find(name).map_err(|error| self.failed(name, error))
    }
}

fn symbolic_target(reference: &Reference) -> Option<String> {
    Some(reference.target.try_name()?.as_bstr().to_string())
}

/// The error of a repository that cannot be opened.
pub(super) fn unopened(git: &GitDir, source: OpenError) -> ReferenceError {
    ReferenceError::Repository { path: git.path.clone(), source: Box::new(source) }
}
