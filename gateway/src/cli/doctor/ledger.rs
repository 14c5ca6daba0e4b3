//! The ledger: whether the file is sound, and what was put aside.

use std::path::Path;
use std::time::Duration;

use super::finding::Finding;
use crate::cli::output::plural;
use crate::store::{Inspected, inspect, put_aside};

const ABOUT: &str = "ledger";
/// A large file is not read to its end: the command is to answer soon.
const CHECKED_FOR: Duration = Duration::from_secs(2);

/// Opens nothing for writing.
pub(super) fn findings(state_dir: &Path) -> Vec<Finding> {
    let path = state_dir.join("state.db");
    let shown = path.display();
    let mut findings = Vec::new();
    let ledger = match inspect(state_dir, CHECKED_FOR) {
        Ok(Inspected::Missing) => Finding::good(ABOUT, format!("{shown} will be made on first use")),
        Ok(Inspected::Sound { turns, moved_days }) => {
            findings.extend(moved_days.map(clock));
            Finding::good(
                ABOUT,
                format!(
                    "{shown} is sound and holds {}",
                    plural(usize::try_from(turns).unwrap_or(0), "turn")
                ),
            )
        }
        Ok(Inspected::Large) => Finding::note(
            ABOUT,
            format!(
                "{shown} is too large to be checked in {} s; no damage was found in that time",
                CHECKED_FOR.as_secs()
            ),
        ),
        Ok(Inspected::Damaged(found)) => Finding::bad(
            ABOUT,
            format!("{shown} is damaged: {found}"),
            "start the gateway anew: it puts the file aside, and keeps in a new one what can be read",
        ),
        Ok(Inspected::Newer { version, known }) => Finding::bad(
            ABOUT,
            format!("{shown} is of a newer muninn (version {version}; this one knows {known})"),
            "update this muninn, or set MUNINN_STATE_DIR to another directory",
        ),
        Err(error) => Finding::bad(
            ABOUT,
            format!("{shown} cannot be read: {error}"),
            "give yourself read access to it, or set MUNINN_STATE_DIR to a directory of yours",
        ),
    };
    findings.insert(0, ledger);
    for aside in put_aside(state_dir) {
        let says = format!(
            "a damaged one was put aside at {}, as {}; delete it when you no longer want it",
            aside.at,
            aside.path.display()
        );
        findings.push(Finding::note(ABOUT, says));
    }
    findings
}

fn clock(days: i64) -> Finding {
    Finding::note(
        "clock",
        format!(
            "it has moved by {days} days since the ledger was last cleaned: if it is right all is well, and until the \
             gateway has run on it for a while nothing is deleted for its age"
        ),
    )
}
