//! The journal of turns without a block that are not in the database yet, in memory and on disk.
//!
//! A turn without a block must be recorded before its request is sent. Otherwise a retry after a crash could get a
//! block that the first attempt did not have. A database transaction for each request is too slow, so one line is
//! appended to a file; it survives the end of the process. Each process locks a file of its own. The next start writes
//! the rows of unlocked files to the database.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use muninn_base::private_file;

use super::{NewEntry, TurnKey, Use};

const PREFIX: &str = "without-";

/// The rows in memory, and the file with the same rows.
pub(super) struct Journal {
    rows: HashMap<(TurnKey, Option<String>), NewEntry>,
    /// Number of times that rows moved to the database.
    generation: u64,
    path: PathBuf,
    file: File,
}

/// The journal file of an ended process.
pub(super) struct OrphanedJournal {
    path: PathBuf,
    /// The file's lock, held until the file is removed, so that no other process takes it over too.
    _locked: File,
    pub(super) rows: Vec<(TurnKey, NewEntry)>,
}

impl Journal {
    /// Creates an empty journal in a directory.
    pub(super) fn create(directory: &Path) -> std::io::Result<Journal> {
        let path = directory.join(format!("{PREFIX}{}.jsonl", ulid::Ulid::generate()));
        let file = private_file::append(&path)?;
        file.lock()?;
        Ok(Journal { rows: HashMap::new(), generation: 0, path, file })
    }

    /// Adds a row. If the disk is full, the row is kept in memory only.
    pub(super) fn note(&mut self, key: TurnKey, entry: NewEntry) {
        let mut line = serde_json::to_string(&(key, &entry)).unwrap_or_default();
        line.push('\n');
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "cannot write the journal: a turn without a block is kept in memory only");
        }
        self.rows.insert((key, entry.session.clone()), entry);
    }

    /// Removes rows that are in the database now.
    pub(super) fn remove(&mut self, rows: impl IntoIterator<Item = (TurnKey, NewEntry)>) {
        self.generation += 1;
        for (key, entry) in rows {
            self.rows.remove(&(key, entry.session));
        }
        if self.rows.is_empty()
            && let Err(error) = self.file.set_len(0)
        {
            tracing::warn!(%error, "cannot truncate the journal");
        }
    }

    /// The rows of these keys, including those of earlier turns in [`NewEntry::absent`].
    pub(super) fn find(&self, keys: &[TurnKey]) -> Vec<(TurnKey, NewEntry)> {
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

    /// A number that changes when rows move to the database. A read transaction that began before the change may lack
    /// rows that the journal no longer has.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.rows.is_empty() {
            // The next start takes over a file that cannot be removed.
            std::fs::remove_file(&self.path).ok();
        }
    }
}

/// The journal files of ended processes. A torn last line is skipped: its process had not finished it.
pub(super) fn orphans(directory: &Path) -> Vec<OrphanedJournal> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| orphan(file.path())).collect()
}

fn orphan(path: PathBuf) -> Option<OrphanedJournal> {
    let name = path.file_name()?.to_str()?;
    if !name.starts_with(PREFIX) || !name.ends_with(".jsonl") {
        return None;
    }
    let mut file = private_file::open(&path).ok()?;
    file.try_lock().ok()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let rows = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Some(OrphanedJournal { path, _locked: file, rows })
}

impl OrphanedJournal {
    /// Removes the file, after its rows were written to the database. A file that remains is taken over again.
    pub(super) fn remove(self) {
        std::fs::remove_file(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(session: &str) -> NewEntry {
        NewEntry { session: Some(session.to_owned()), ..NewEntry::default() }
    }

    #[test]
    fn only_unlocked_journals_are_orphans() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.note(TurnKey::for_test(1), entry("a"));
        assert!(orphans(folder.path()).is_empty());
        // A killed process runs no destructor, and the system releases its lock.
        journal.file.unlock().unwrap();
        let found = orphans(folder.path());
        assert_eq!(found[0].rows, vec![(TurnKey::for_test(1), entry("a"))]);
    }

    #[test]
    fn absent_earlier_turns_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let noted = NewEntry { absent: vec![(TurnKey::for_test(1), Vec::new())], ..entry("a") };
        journal.note(TurnKey::for_test(2), noted);
        let found = journal.find(&[TurnKey::for_test(1), TurnKey::for_test(3)]);
        assert_eq!(found, [(TurnKey::for_test(1), entry("a"))]);
    }

    #[test]
    fn torn_line_is_skipped_and_whole_lines_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("without-x.jsonl");
        let whole = serde_json::to_string(&(TurnKey::for_test(1), entry("a"))).unwrap();
        std::fs::write(&path, format!("{whole}\n{}", &whole[..whole.len() / 2])).unwrap();
        assert_eq!(orphans(folder.path())[0].rows.len(), 1);
    }

    #[test]
    fn removed_rows_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.note(TurnKey::for_test(1), entry("a"));
        assert_eq!(journal.find(&[TurnKey::for_test(1)]).len(), 1);
        journal.remove([(TurnKey::for_test(1), entry("a"))]);
        assert!(journal.find(&[TurnKey::for_test(1)]).is_empty());
        assert_eq!(std::fs::metadata(&journal.path).unwrap().len(), 0);
        drop(journal);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
