//! The test repository as a worktree and as a home of records.

use std::ops::Deref;

use muninn_repo_tools::Worktree;

use muninn_base::RelPath;
use muninn_tests::Repository;

use crate::records::{Home, MAIN, RecordFile};

pub(crate) struct Fixture(Repository);

impl Fixture {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self(Repository::with(files))
    }

    pub(crate) fn worktree(&self) -> Worktree {
        Worktree::discover(self.root()).unwrap()
    }

    pub(crate) fn home(&self) -> Home {
        Home::Repository(self.worktree())
    }
}

impl Deref for Fixture {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.0
    }
}

/// A repository's main memory, without segments.
pub(crate) fn main_alone() -> Vec<RecordFile> {
    vec![RecordFile::Home(RelPath::new(MAIN).unwrap())]
}
