//! Resolves a conflict by a person's decision, which main keeps.

use thiserror::Error;

use super::files::MemoryFiles;
use super::plan::{main_records, open_conflicts};
use super::{ReconcileError, ReconcileOptions};
use crate::Store;
use crate::ids::{self, IdError};
use crate::records::{Body, CONFLICTS, MAIN, Record, kinds};
use crate::redact::redact;

/// The side of a conflict that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The older record.
    Left,
    /// The newer record.
    Right,
    /// Both: there is no contradiction.
    Both,
}

/// Why a conflict was not resolved.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// No open conflict, or several, have this in their id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A line of main would be too long with it.
    #[error("the note has {0} bytes, and at most {MAX_NOTE_BYTES} are kept")]
    LongNote(usize),
    /// The files cannot be read or written.
    #[error(transparent)]
    Files(#[from] ReconcileError),
}

/// Maximum length of a note, in bytes.
const MAX_NOTE_BYTES: usize = 8 << 10;

/// Settles the open conflict that any unambiguous part of its id names: records the decision in main, and removes the
/// conflict from the list. A record that is not kept stays in main, and is no longer recalled.
///
/// # Errors
/// [`ResolveError`]; then nothing has changed.
pub fn resolve(store: &Store, id: &str, keep: Keep, note: Option<&str>) -> Result<Record, ResolveError> {
    let here = ReconcileOptions {
        here: true,
        ..ReconcileOptions::default()
    };
    if let Some(note) = note.filter(|note| note.len() > MAX_NOTE_BYTES) {
        return Err(ResolveError::LongNote(note.len()));
    }
    let mut files = MemoryFiles::of(store, here)?;
    let _lock = files.lock()?;
    let (before, damaged) = files.read_all(store)?;
    let mut main: Vec<Record> = main_records(&before).into_values().collect();
    let open = open_conflicts(&main);
    let conflict = ids::find(
        "conflict",
        id,
        open.iter().map(|conflict| (conflict.id.as_str(), conflict)),
    )?;
    let decision = decision(conflict, keep, note, store);
    main.push(decision.clone());
    main.sort_by(|a, b| a.id.cmp(&b.id));
    let open = open_conflicts(&main);
    let no_hook = &mut |_: &str| {};
    for damaged in &damaged {
        files.keep(damaged, no_hook)?;
    }
    // The decision is written first: a conflict that main has resolved is not shown, even if the list still holds it.
    files.put_records(MAIN, &main, no_hook)?;
    files.put_records(CONFLICTS, &open, no_hook)?;
    Ok(decision)
}

fn decision(conflict: &Record, keep: Keep, note: Option<&str>, store: &Store) -> Record {
    let (left, right) = match &conflict.body {
        Body::Conflict(kinds::Conflict { left, right, .. }) => (left.clone(), right.clone()),
        _ => Default::default(),
    };
    let (keep, drop) = match keep {
        Keep::Left => (vec![left], vec![right]),
        Keep::Right => (vec![right], vec![left]),
        Keep::Both => (vec![left, right], Vec::new()),
    };
    let body = Body::Decision(kinds::Decision {
        conflict: conflict.id.clone(),
        keep,
        drop,
        note: note.map(|note| redact(note).into_owned()),
    });
    Record::new(body, store.home().origin(), store.clock())
}
