//! The directory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use muninn_base::clock::Clock;
use muninn_base::private_file;
use notify::{RecursiveMode, Watcher as _};
use parking_lot::Mutex;

use super::error::PersonalError;
use super::files::{check_folder, path_below};
use super::paths::INDEX;
use super::search::Search;

/// One person's memory. The directory need not exist.
pub struct Personal {
    root: PathBuf,
    pub(super) clock: Clock,
    pub(super) search: Mutex<Search>,
}

impl Personal {
    /// The memory in the directory `root`.
    pub fn new(root: &Path, clock: Clock) -> Self {
        Self { root: root.to_owned(), clock, search: Mutex::new(Search::new(root)) }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether nobody has set it up: there is no `identity.md`.
    pub fn is_first_run(&self) -> bool {
        super::identity::identity(&self.root).is_none()
    }

    /// The worktree that has the directory in it, where a commit could publish it.
    pub fn worktree_around(&self) -> Option<PathBuf> {
        let above = self.root.ancestors().skip(1);
        let has_git = |directory: &&Path| directory.join(".git").exists();
        above.into_iter().find(has_git).map(Path::to_owned)
    }

    /// Calls `changed` whenever a file of the directory changes, until the watcher is dropped. It may miss changes: the files
    /// are to be looked at now and then, too.
    ///
    /// # Errors
    /// [`PersonalError`] if the system cannot watch it.
    pub fn watch_all(&self, changed: impl Fn() + Send + 'static) -> Result<impl Send + 'static, PersonalError> {
        let failed = |error: notify::Error| PersonalError::io(&self.root)(io::Error::other(error));
        let own = [INDEX, ".git"].map(|name| self.path(name));
        let told = move |event: notify::Result<notify::Event>| {
            let is_outside = |path: &PathBuf| !own.iter().any(|own| path.starts_with(own));
            // Reading the files is an event, too.
            if event.is_ok_and(|event| !event.kind.is_access() && event.paths.iter().any(is_outside)) {
                changed();
            }
        };
        let mut watcher = notify::recommended_watcher(told).map_err(failed)?;
        watcher.watch(&self.root, RecursiveMode::Recursive).map_err(failed)?;
        Ok(watcher)
    }

    /// A file or a directory of it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Creates a directory of the layout, for its owner only. Returns its path.
    ///
    /// # Errors
    /// [`PersonalError::NotSetUp`] before the setup, so that nothing but the setup creates personal memory.
    pub(super) fn make(&self, name: &str) -> Result<PathBuf, PersonalError> {
        if !self.root.exists() {
            return Err(PersonalError::NotSetUp(self.root.clone()));
        }
        let path = self.path(name);
        path_below(&self.root, name)
            .and_then(|path| check_folder(&path))
            .and_then(|()| private_file::dir(&path))
            .map_err(PersonalError::io(&path))?;
        Ok(path)
    }

    /// Waits for the other writers of Muninn. Programs and people that know nothing of the lock append or replace files.
    ///
    /// # Errors
    /// [`PersonalError`] if the lock file cannot be used.
    pub fn lock(&self) -> Result<File, PersonalError> {
        let path = self.make(INDEX)?.join("writers.lock");
        private_file::lock(&path).map_err(PersonalError::io(path))
    }
}
