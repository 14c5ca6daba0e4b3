//! Settling a conflict: a person's decision, which main keeps.

use thiserror::Error;

use super::files::MemoryFiles;
use super::plan::{held, open_conflicts};
use super::{ReconcileError, ReconcileOptions};
use crate::Store;
use crate::ids::{self, IdError};
use crate::records::{Body, CONFLICTS, MAIN, Record, kinds};
use crate::redact::redact;

/// What is kept of two that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The older.
    Left,
    /// The newer.
    Right,
    /// Both: they are no contradiction.
    Both,
}

/// Why nothing was settled.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// No open conflict has it.
    #[error("there is no open conflict {0}")]
    Unknown(String),
    /// Several have it.
    #[error(transparent)]
    Ambiguous(IdError),
    /// A line of main would be too long with it.
    #[error("the note has {0} bytes, and at most {MAX_NOTE_BYTES} are kept")]
    LongNote(usize),
    /// The files.
    #[error(transparent)]
    Files(#[from] ReconcileError),
}

/// The longest note.
const MAX_NOTE_BYTES: usize = 8 << 10;

/// Settles the open conflict that `id` names, which may be any part of its id: records the decision in main, and takes the conflict off the list.
/// What is not kept stays in main, and is recalled no more.
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
    let mut main: Vec<Record> = held(&before).into_values().collect();
    let open = open_conflicts(&main);
    let conflict = one(&open, id)?;
    let decision = decision(conflict, keep, note, store);
    main.push(decision.clone());
    main.sort_by(|a, b| a.id.cmp(&b.id));
    let open = open_conflicts(&main);
    let nobody_looks = &mut |_: &str| {};
    for damaged in &damaged {
        files.keep(damaged, nobody_looks)?;
    }
    // The decision comes first: a conflict that main has settled is not shown, though the list still has it.
    files.put_records(MAIN, &main, nobody_looks)?;
    files.put_records(CONFLICTS, &open, nobody_looks)?;
    Ok(decision)
}

fn one<'a>(open: &'a [Record], id: &str) -> Result<&'a Record, ResolveError> {
    let unknown = || ResolveError::Unknown(id.to_owned());
    let damaged = ids::find(id, open.iter().map(|conflict| conflict.id.as_str())).map_err(|error| match error {
        IdError::Unknown(_) => unknown(),
        error => ResolveError::Ambiguous(error),
    })?;
    let mut open = open.iter();
    open.find(|conflict| conflict.id == damaged).ok_or_else(unknown)
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
