//! Checks of the memory: lines that are not records, knowledge that is skipped, records that wait to be written.

use std::path::Path;

use muninn_config::{Config, repository};
use muninn_core::{RecallQuery, Workspace};
use muninn_repo_tools::Worktree;
use muninn_team::{Home, Store};

use super::super::Common;
use super::finding::Finding;

const ABOUT: &str = "memory";
/// The most problems that are listed one by one.
const MAX_LISTED: usize = 5;

/// Empty where there is no repository, or its configuration or HEAD cannot be read; other findings report that.
pub(super) fn findings(directory: &Path, state_dir: &Path, config: &Config) -> Vec<Finding> {
    let Ok(worktree) = Worktree::discover(directory) else {
        return Vec::new();
    };
    if worktree.branch().is_err() {
        return Vec::new();
    }
    let Ok((_, settings, _)) = repository(config, worktree.root()) else {
        return Vec::new();
    };
    let store = Store::at(Home::Repository(worktree), state_dir, settings.store, Common::clock());
    let problems = store.problems();
    let mut findings: Vec<Finding> = problems
        .iter()
        .take(MAX_LISTED)
        .map(|problem| {
            let to_do = "correct the file by hand; its valid lines are recalled, and no line is lost";
            Finding::bad(ABOUT, problem.as_str(), to_do)
        })
        .collect();
    if problems.len() > MAX_LISTED {
        let more = problems.len() - MAX_LISTED;
        findings.push(Finding::note(ABOUT, format!("{more} more problems like these")));
    }
    for file in store.set_aside().unwrap_or_default() {
        let message = format!("{} has lines that are ignored because they are not records", file.display());
        findings.push(Finding::note(ABOUT, message));
    }
    let gone = Workspace::open(directory, config, state_dir, Common::clock()).recall(&RecallQuery {
        stale: true,
        limit: usize::MAX,
        ..RecallQuery::default()
    });
    let gone = gone.map_or(0, |gone| gone.len());
    if findings.is_empty() {
        findings.push(Finding::good(ABOUT, waiting(&store)));
    }
    if gone > 0 {
        let message = "memories in no prompt, because all places that they cite are gone";
        findings.push(Finding::note(ABOUT, format!("{message}: {gone}; `muninn recall --stale` lists them")));
    }
    findings
}

fn waiting(store: &Store) -> String {
    let waiting = store.spool().waiting().unwrap_or_default();
    match waiting.iter().map(|one| one.records).sum::<usize>() {
        0 => "all lines are valid, and no record waits to be written".to_owned(),
        records => {
            format!("all lines are valid; {records} records wait for the gateway or `muninn flush` to write them")
        }
    }
}
