//! Turns that went without and are not in the database yet, in memory and on disk.
//!
//! That a turn goes without has to be known before its request goes on, or a retry after a crash would be given a block
//! that the first try did not have. A database transaction is too slow for that on every request; one appended line is
//! not. It survives the death of the process, which is what it is for. Each process has a file of its own and holds a
//! lock on it; whoever starts next takes over the files that nobody holds.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::{NewEntry, TurnKey, Use};
use muninn_memory::private_file;

const PREFIX: &str = "without-";

/// The turns, and the file that repeats them.
pub(super) struct Journal {
    rows: HashMap<(TurnKey, Option<String>), NewEntry>,
    /// How often rows went to the database.
    generation: u64,
    path: PathBuf,
    file: File,
}

/// A file that a process left behind.
pub(super) struct OrphanedJournal {
    path: PathBuf,
    /// Held until the file is gone, so that no other process takes it over as well.
    _locked: File,
    pub(super) rows: Vec<(TurnKey, NewEntry)>,
}

impl Journal {
    /// Starts an empty journal in a directory.
    pub(super) fn create(directory: &Path) -> std::io::Result<Journal> {
        let path = directory.join(format!("{PREFIX}{}.jsonl", ulid::Ulid::generate()));
        let file = private_file::append(&path)?;
        file.lock()?;
        Ok(Journal {
            rows: HashMap::new(),
            generation: 0,
            path,
            file,
        })
    }

    /// Notes a turn. A disk that is full costs the line, not the turn.
    pub(super) fn note(&mut self, key: TurnKey, entry: NewEntry) {
        let mut line = serde_json::to_string(&(key, &entry)).unwrap_or_default();
        line.push('\n');
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "a turn that went without is only remembered in memory");
        }
        self.rows.insert((key, entry.session.clone()), entry);
    }

    /// Forgets turns that are in the database now.
    pub(super) fn written(&mut self, rows: impl IntoIterator<Item = (TurnKey, NewEntry)>) {
        self.generation += 1;
        for (key, entry) in rows {
            self.rows.remove(&(key, entry.session));
        }
        if self.rows.is_empty()
            && let Err(error) = self.file.set_len(0)
        {
            tracing::warn!(%error, "the journal could not be emptied");
        }
    }

    /// The noted turns under some keys, with the earlier turns of their conversations that have no row either.
    pub(super) fn under(&self, keys: &[TurnKey]) -> Vec<(TurnKey, NewEntry)> {
        let mut found = Vec::new();
        for ((key, _), entry) in &self.rows {
            if keys.contains(key) {
                found.push((*key, entry.clone()));
            }
            for (absent, before) in entry.absent.iter().filter(|(absent, _)| keys.contains(absent)) {
                let row = NewEntry {
                    session: entry.session.clone(),
                    before: before.iter().copied().map(Use::of).collect(),
                    now_ms: entry.now_ms,
                    ..NewEntry::default()
                };
                found.push((*absent, row));
            }
        }
        found
    }

    /// Changes whenever rows went to the database. A snapshot of the database that is older than the last change may lack
    /// rows that are no longer here.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.rows.is_empty() {
            // One that stays behind is taken over by the next process.
            let _stays = std::fs::remove_file(&self.path);
        }
    }
}

/// The files of processes that are gone. A torn last line is what its process did not finish, and is skipped.
pub(super) fn orphans(directory: &Path) -> Vec<OrphanedJournal> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| orphan(file.path())).collect()
}

fn orphan(path: PathBuf) -> Option<OrphanedJournal> {
    let name = path.file_name()?.to_str()?;
    if !name.starts_with(PREFIX) || !name.ends_with(".jsonl") {
        return None;
    }
    let mut file = File::open(&path).ok()?;
    file.try_lock().ok()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let rows = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    Some(OrphanedJournal {
        path,
        _locked: file,
        rows,
    })
}

impl OrphanedJournal {
    /// Removes the file: its rows are in the database.
    pub(super) fn remove(self) {
        let _taken_over_again_otherwise = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(session: &str) -> NewEntry {
        NewEntry {
            session: Some(session.to_owned()),
            ..NewEntry::default()
        }
    }

    #[test]
    fn a_journal_in_use_is_nobodys_orphan_and_a_dead_ones_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.note(TurnKey::for_test(1), entry("a"));
        assert!(orphans(folder.path()).is_empty());
        // A process that dies runs no destructor, and the system takes its lock away.
        std::mem::drop(journal.file.try_clone().unwrap());
        journal.file.unlock().unwrap();
        let found = orphans(folder.path());
        assert_eq!(found[0].rows, vec![(TurnKey::for_test(1), entry("a"))]);
    }

    #[test]
    fn earlier_turns_without_a_row_are_found_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let noted = NewEntry {
            absent: vec![(TurnKey::for_test(1), Vec::new())],
            ..entry("a")
        };
        journal.note(TurnKey::for_test(2), noted);
        let found = journal.under(&[TurnKey::for_test(1), TurnKey::for_test(3)]);
        assert_eq!(found, [(TurnKey::for_test(1), entry("a"))]);
    }

    #[test]
    fn a_torn_line_costs_itself_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("without-x.jsonl");
        let whole = serde_json::to_string(&(TurnKey::for_test(1), entry("a"))).unwrap();
        std::fs::write(&path, format!("{whole}\n{}", &whole[..whole.len() / 2])).unwrap();
        assert_eq!(orphans(folder.path())[0].rows.len(), 1);
    }

    #[test]
    fn what_is_written_is_forgotten_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.note(TurnKey::for_test(1), entry("a"));
        assert_eq!(journal.under(&[TurnKey::for_test(1)]).len(), 1);
        journal.written([(TurnKey::for_test(1), entry("a"))]);
        assert!(journal.under(&[TurnKey::for_test(1)]).is_empty());
        assert_eq!(std::fs::metadata(&journal.path).unwrap().len(), 0);
        drop(journal);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
