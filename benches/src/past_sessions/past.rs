//! Past sessions, as the product leaves them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use muninn_base::Clock;
use muninn_repo_tools::Worktree;
use muninn_team::learn::LearnContext;
use muninn_team::records::{Body, SESSIONS, kinds};
use muninn_team::store::{Destination, StoreSettings};
use muninn_team::{Home, Store};
use serde_json::Number;

/// The number of past sessions whose segments are still in the repository; the others are reconciled.
const SEGMENTS: usize = 20;
/// The segments of so many sessions are reconciled at once.
const BETWEEN_RECONCILIATIONS: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Past {
    /// Folders of an earlier version, half of them of sessions that learned nothing, which the gateway's first start
    /// moves into the index.
    Folders,
    /// Recorded by the current version, and flushed.
    Recorded,
}

/// Makes the sessions, and returns the spool's directory.
pub(super) fn make(past: Past, count: usize, root: &Path, state: &Path) -> io::Result<PathBuf> {
    let worktree = Worktree::discover(root).map_err(io::Error::other)?;
    let memory = state.join("memory");
    let store = Store::at(Home::Repository(worktree), state, StoreSettings::default(), Clock::system());
    // Also without any past: there is a session, and the spool that it makes.
    for number in 0..SEGMENTS {
        record(&store, &format!("recent {number}"))?;
    }
    store.flush(Destination::Home).map_err(io::Error::other)?;
    let spool = fs::read_dir(&memory)?.next().ok_or(io::ErrorKind::NotFound)??.path().join("spool");
    match past {
        Past::Folders => (0..count).try_for_each(|number| folder(&spool, number))?,
        Past::Recorded => {
            for first in (0..count).step_by(BETWEEN_RECONCILIATIONS) {
                for number in first..count.min(first + BETWEEN_RECONCILIATIONS) {
                    record(&store, &format!("past {number}"))?;
                }
                let reconciled = store.flush(Destination::Home).map_err(io::Error::other)?;
                for segment in reconciled.segments {
                    fs::remove_file(root.join(SESSIONS).join(segment))?;
                }
            }
        }
    }
    Ok(spool)
}

pub(super) fn has_folders(spool: &Path) -> io::Result<bool> {
    let mut entries = fs::read_dir(spool)?;
    Ok(entries.any(|entry| entry.is_ok_and(|entry| entry.file_name().len() == 16)))
}

fn record(store: &Store, client: &str) -> io::Result<()> {
    let learn = |origin| {
        let place = LearnContext { home: store.home(), clock: store.clock(), origin, with_text: true };
        let body = Body::Learning(kinds::Learning {
            text: format!("what {client} learned"),
            subject: None,
            confidence: Number::from_f64(0.5),
            author: None,
        });
        vec![place.record(body, &[])]
    };
    let kept = store.keep(client, Some("0123456789abcdef"), learn);
    kept.map(|_| ()).map_err(io::Error::other)
}

/// Writes a folder in which an earlier version kept a session.
fn folder(spool: &Path, number: usize) -> io::Result<()> {
    let folder = spool.join(format!("{number:016x}"));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("lock"), "")?;
    let next = number % 2;
    fs::write(folder.join("session.json"), format!("{{\"id\":\"01PAST{number:020}\",\"next\":{next}}}"))?;
    match next {
        0 => Ok(()),
        _ => fs::write(folder.join("marks"), "0123456789abcdef\nsummary 0123456789abcdef\n"),
    }
}
