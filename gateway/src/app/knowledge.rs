//! What the team wrote down: files are begun, listed, looked over and brought along.
//!
//! Writing is for a worktree that was set up, and never over a file that is there.

use muninn_memory::knowledge::{KEYS, check};
use muninn_repo_tools::Worktree;

use crate::config::nearest;

pub use muninn_memory::knowledge::{
    Draft, Finding, ImportError, ListedFile, NewError, WriteError, create as new_knowledge, import as import_knowledge,
    list as list_knowledge,
};

/// What is wrong with the files, with their lines, and what may have been meant.
#[must_use]
pub fn check_knowledge(worktree: &Worktree) -> Vec<Finding> {
    let mut findings = check(worktree);
    for finding in &mut findings {
        let meant = finding.unknown_key.as_deref().and_then(|key| nearest(key, KEYS));
        if let Some(meant) = meant {
            finding.message.push_str(&format!("; did you mean `{meant}`?"));
        }
    }
    findings
}
