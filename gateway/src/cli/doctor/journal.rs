//! Checks of the git journal: whether it can be read within the limits, and whether entries say to be others.

use std::path::Path;

use muninn_base::with_causes;
use muninn_config::Config;
use muninn_core::SessionJournal;
use muninn_notebooks::journal::{Condition, REFERENCE};
use muninn_repo_tools::Worktree;

use super::super::Common;
use super::finding::Finding;
use crate::cli::output::plural;

const ABOUT: &str = "journal";

/// Empty where there is no repository, and no journal in a place of its own.
pub(super) fn findings(directory: &Path, state_dir: &Path, config: &Config) -> Vec<Finding> {
    let settings = &config.journal;
    // Opening one that is missing would make it.
    if settings.path.as_ref().is_some_and(|path| !path.exists()) {
        return Vec::new();
    }
    let worktree = Worktree::discover(directory).ok();
    if worktree.is_none() && settings.path.is_none() {
        return Vec::new();
    }
    let journal = match SessionJournal::open(worktree.as_ref(), settings, state_dir, Common::clock()) {
        Ok(journal) => journal,
        Err(error) => return vec![Finding::bad(ABOUT, with_causes(&error), "correct `[journal] path`")],
    };
    let to_do = if journal.can_undo_fetch() {
        "run `muninn journal undo-fetch`, which returns to the journal before the last fetch".to_owned()
    } else {
        format!(
            "set the ref to a commit that you trust with `git update-ref {REFERENCE} COMMIT`, or remove it with `-d`"
        )
    };
    vec![match journal.condition() {
        Err(error) => Finding::bad(ABOUT, with_causes(&error), to_do),
        Ok(Condition { is_cut: true, entries, .. }) => {
            let message = format!("it is larger than what is read of one: its newest {entries} entries are read");
            Finding::bad(ABOUT, message, to_do)
        }
        Ok(Condition { false_claims: count @ 1.., .. }) => {
            let count = plural(count, "entry");
            let message =
                format!("{count} with a trailer `Was:` that names somebody's other entry; the trailer is ignored");
            Finding::bad(ABOUT, message, to_do)
        }
        Ok(Condition { entries, .. }) => Finding::good(ABOUT, plural(entries, "entry")),
    }]
}
