//! The team's knowledge pages: create, list, check and import.
//!
//! Pages are written only in an initialised worktree, and never over an existing file.

use muninn_config::nearest;
use muninn_repo_tools::Worktree;
use muninn_team::knowledge::{KEYS, check};

pub use muninn_team::knowledge::{
    Draft, Finding, ImportError, ListedFile, NewError, WriteError, create as new_knowledge, import as import_knowledge,
    list as list_knowledge,
};

/// The findings in all pages, with their lines. An unknown key gets a suggestion.
pub fn check_knowledge(worktree: &Worktree) -> Vec<Finding> {
    let mut findings = check(worktree);
    for finding in &mut findings {
        let suggestion = finding.unknown_key.as_deref().and_then(|key| nearest(key, KEYS));
        if let Some(key) = suggestion {
            finding.message.push_str(&format!("; did you mean `{key}`?"));
        }
    }
    findings
}
