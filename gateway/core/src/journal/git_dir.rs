use std::path::PathBuf;

use muninn_config::JournalConfig;
use muninn_notebooks::journal::JournalError;
use muninn_repo_tools::{CommitChain, Worktree};

use super::error::JournalUseError;

/// The repository of the journal of a worktree, or of the configuration, which is made as a bare one if it is missing.
pub(crate) fn git_dir(worktree: Option<&Worktree>, settings: &JournalConfig) -> Result<PathBuf, JournalUseError> {
    match (&settings.path, worktree) {
        (Some(path), _) => Ok(CommitChain::repository_at(path).map_err(JournalError::from)?),
        (None, Some(worktree)) => Ok(worktree.common_dir().to_owned()),
        (None, None) => Err(JournalUseError::NoRepository),
    }
}
