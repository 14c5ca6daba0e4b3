//! Checks of the ledger: whether its file is intact, and which damaged ones were moved aside.

use std::path::Path;
use std::time::Duration;

use muninn_ledger::{Inspected, damaged_ledgers, inspect};

use super::finding::Finding;
use crate::cli::output::plural;

const ABOUT: &str = "ledger";
/// The longest time for checking the file. A larger one is checked in part.
const CHECK_TIME: Duration = Duration::from_secs(2);

/// Opens no file for writing.
pub(super) fn findings(state_dir: &Path) -> Vec<Finding> {
    let path = state_dir.join("state.db");
    let shown = path.display();
    let mut findings = Vec::new();
    let ledger = match inspect(state_dir, CHECK_TIME) {
        Ok(Inspected::Missing) => Finding::good(ABOUT, format!("{shown} will be created on first use")),
        Ok(Inspected::Sound { turns, moved_days }) => {
            findings.extend(moved_days.map(clock));
            Finding::good(
                ABOUT,
                format!("{shown} is intact and has {}", plural(usize::try_from(turns).unwrap_or(0), "turn")),
            )
        }
        Ok(Inspected::Large) => Finding::note(
            ABOUT,
            format!("{shown} is too large to be checked within {} s; no damage was found so far", CHECK_TIME.as_secs()),
        ),
        Ok(Inspected::Damaged(found)) => Finding::bad(
            ABOUT,
            format!("{shown} is damaged: {found}"),
            "restart the gateway: it moves the file aside, and copies what can be read into a new one",
        ),
        Ok(Inspected::Newer { version, known }) => Finding::bad(
            ABOUT,
            format!("{shown} was written by a newer muninn (version {version}; this one reads up to {known})"),
            "update muninn, or set MUNINN_STATE_DIR to another directory",
        ),
        Err(error) => Finding::bad(
            ABOUT,
            format!("{shown} cannot be read: {error}"),
            "give yourself read access to it, or set MUNINN_STATE_DIR to a directory that you own",
        ),
    };
    findings.insert(0, ledger);
    for aside in damaged_ledgers(state_dir) {
        let message = format!(
            "a damaged ledger was moved to {} at {}; delete it when you no longer need it",
            aside.path.display(),
            aside.at
        );
        findings.push(Finding::note(ABOUT, message));
    }
    findings
}

fn clock(days: i64) -> Finding {
    Finding::note(
        "clock",
        format!(
            "the clock has moved by {days} days since the ledger was last cleaned; check that it is right. Until the \
             gateway has run for a while, no ledger row is deleted for its age"
        ),
    )
}
