use std::path::PathBuf;

use muninn_base::RelPath;
use muninn_team::records::RecordFile;
use serde::{Deserialize, Serialize};

/// The sources of memories, besides knowledge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySources {
    pub records: Vec<RecordFile>,
    /// The repository of the git journal: a `.git` directory, or a bare repository.
    pub journal: Option<PathBuf>,
    /// The folder of a wiki in the worktree beside `.muninn/knowledge`, whose pages are knowledge too.
    pub wiki: Option<RelPath>,
    /// Why only the team's records are read, for a note.
    pub unread: Option<String>,
}

impl From<Vec<RecordFile>> for MemorySources {
    fn from(records: Vec<RecordFile>) -> Self {
        Self { records, ..Self::default() }
    }
}
