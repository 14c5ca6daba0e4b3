//! Changes of main memory by people and agents.

use muninn_team::Store;
use muninn_team::records::{CONFLICTS, MAIN, Record, WithdrawnRecords};

use super::ReconcileOptions;
use super::error::ResolveError;
use super::files::MemoryFiles;
use super::pairs::{by_id, main_records, open_pairs};

/// Changes main's records under the lock of a run, on any branch, and writes main and the list of open conflicts. After an
/// error, nothing has changed.
pub(super) fn edit<T>(
    store: &Store,
    change: impl FnOnce(&mut Vec<Record>, &WithdrawnRecords) -> Result<T, ResolveError>,
) -> Result<T, ResolveError> {
    let here = ReconcileOptions { here: true, ..ReconcileOptions::default() };
    let mut files = MemoryFiles::of(store, here)?;
    let _lock = files.lock()?;
    let (before, damaged) = files.read_all(store)?;
    let mut main: Vec<Record> = main_records(&before).into_values().collect();
    let changed = change(&mut main, &before.withdrawn)?;
    let main: Vec<Record> = by_id(main).into_values().collect();
    let open = open_pairs(&before.withdrawn.shown(&main));
    let no_hook = &mut |_: &str| {};
    for damaged in &damaged {
        files.keep(damaged, no_hook)?;
    }
    // The decision is written first: a conflict that main has resolved is not shown, even if the list still holds it.
    files.put_records(MAIN, &main, no_hook)?;
    files.put_records(CONFLICTS, &open, no_hook)?;
    Ok(changed)
}
