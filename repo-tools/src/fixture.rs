//! The test repository as a [`Worktree`].

use std::ops::Deref;

use muninn_tests::Repository;

use crate::Worktree;

pub struct Fixture(Repository);

impl Fixture {
    pub fn with(files: &[(&str, &str)]) -> Self {
        Self(Repository::with(files))
    }

    pub fn worktree(&self) -> Worktree {
        Worktree::discover(self.root()).unwrap()
    }
}

impl Deref for Fixture {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.0
    }
}

/// Makes a named pipe.
#[cfg(unix)]
pub fn make_pipe(path: &std::path::Path) {
    use rustix::fs::{CWD, FileType, mknodat};
    mknodat(CWD, path, FileType::Fifo, 0o600.into(), 0).unwrap();
}
