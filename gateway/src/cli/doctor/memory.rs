//! What is remembered: lines that are no records, knowledge that is left out, records that wait.

use std::path::Path;

use muninn_memory::{Home, Store};
use muninn_repo_tools::Worktree;

use super::super::Common;
use super::finding::Finding;
use crate::config::{Config, repository};

const ABOUT: &str = "memory";
/// So many problems are told of one by one.
const TOLD: usize = 5;

/// None where there is no repository, or its configuration cannot be read: other findings say that.
pub(super) fn findings(directory: &Path, state_dir: &Path, config: &Config) -> Vec<Finding> {
    let Ok(worktree) = Worktree::discover(directory) else {
        return Vec::new();
    };
    let Ok((_, settings)) = repository(config, worktree.root()) else {
        return Vec::new();
    };
    let store = Store::at(Home::Repository(worktree), state_dir, settings.store, Common::clock());
    let problems = store.problems();
    let mut findings: Vec<Finding> = problems
        .iter()
        .take(TOLD)
        .map(|problem| {
            let to_do = "correct the file by hand; what can be read of it is recalled, and nothing of it is lost";
            Finding::bad(ABOUT, problem.as_str(), to_do)
        })
        .collect();
    if problems.len() > TOLD {
        let more = problems.len() - TOLD;
        findings.push(Finding::note(ABOUT, format!("{more} more of the kind")));
    }
    for file in store.set_aside().unwrap_or_default() {
        let says = format!(
            "{} holds lines that were no records when they were to be written",
            file.display()
        );
        findings.push(Finding::note(ABOUT, says));
    }
    if findings.is_empty() {
        findings.push(Finding::good(ABOUT, waiting(&store)));
    }
    findings
}

fn waiting(store: &Store) -> String {
    let waiting = store.spool().waiting().unwrap_or_default();
    match waiting.iter().map(|one| one.records).sum::<usize>() {
        0 => "every line is a record, and none waits to be written".to_owned(),
        records => format!("every line is a record; {records} wait to be written, by the gateway or `muninn flush`"),
    }
}
