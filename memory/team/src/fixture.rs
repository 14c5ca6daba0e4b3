//! The test repository as a worktree and as a home of records.

use std::ops::Deref;

use muninn_base::RelPath;
use muninn_repo_tools::Worktree;
use muninn_tests::Repository;

use crate::records::{Home, MAIN, RecordFile};

pub struct Fixture(Repository);

impl Fixture {
    pub fn with(files: &[(&str, &str)]) -> Self {
        Self(Repository::with(files))
    }

    pub(crate) fn worktree(&self) -> Worktree {
        Worktree::discover(self.root()).unwrap()
    }

    pub fn home(&self) -> Home {
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
pub fn main_alone() -> Vec<RecordFile> {
    vec![RecordFile::Home(RelPath::new(MAIN).unwrap())]
}
