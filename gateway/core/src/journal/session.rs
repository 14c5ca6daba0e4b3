use std::path::PathBuf;

use muninn_notebooks::journal::{Journal, SearchSettings};

/// A journal, and what each session has read of it.
pub struct SessionJournal {
    pub(crate) journal: Journal,
    /// The directory in which relative addresses of the repository's configuration begin.
    pub(crate) directory: PathBuf,
    /// The file of what sessions have read.
    pub(crate) reads: PathBuf,
    pub(crate) search: SearchSettings,
    /// Whether git packs the repository in the background.
    pub(crate) packs: bool,
}
