//! The journal: what the database does not hold yet, in memory and on disk. These are the turns without a block, and what
//! conversations add to earlier rows: continuations, and the sessions that adopt them.
//!
//! A turn without a block must be recorded before its request is sent. Otherwise a retry after a crash could get a
//! block that the first attempt did not have. A fork finds its history by the continuations of earlier requests. A database
//! transaction for each request is too slow, so one line is appended to a file; it survives the end of the process. Each
//! process locks a file of its own. The next start writes the contents of unlocked files to the database.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use muninn_base::private_file;
use serde::{Deserialize, Serialize};

use super::{Entry, EntryId, NewEntry, TurnKey, Use};

const PREFIX: &str = "without-";
/// Length of the file in bytes above which a new one is begun with the lines that are still needed, if at least half of it may
/// be needed no longer.
const LONG: u64 = 1 << 20;
/// Number of ids that every journal has.
const FEWEST_IDS: i64 = 1 << 40;
/// Number of ids at which a journal may begin. Larger ones would lengthen the rows that list them.
const STARTS: u128 = 1 << 46;

/// What is in memory, and the file with the same.
pub(super) struct Journal {
    rows: HashMap<RowOf, NewEntry>,
    /// The rows that concern a key: its own, and those in whose [`NewEntry::absent`] it is.
    concerning: HashMap<TurnKey, Vec<RowOf>>,
    /// What uses add to the rows of each key, with the times when they were noted, in milliseconds since the epoch.
    uses: HashMap<TurnKey, Vec<(Use, i64)>>,
    /// Number of times that contents moved to the database.
    generation: u64,
    /// The id of the next row. Ids from here are negative, so that they do not meet those that the database gives, and each
    /// journal begins at random, so that journals do not meet.
    next_id: i64,
    directory: PathBuf,
    file: JournalFile,
}

/// The key and the session of a row.
type RowOf = (TurnKey, Option<String>);

struct JournalFile {
    path: PathBuf,
    file: File,
    /// In bytes.
    length: u64,
    /// The length with which the file was begun.
    begun_with: u64,
}

/// A line of the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Row(TurnKey, NewEntry),
    Uses(Vec<Use>),
}

/// The text of a [`Line`] with these contents.
fn line(contents: &impl Serialize) -> String {
    let mut line = serde_json::to_string(contents).expect("all keys are strings");
    line.push('\n');
    line
}

/// The journal file of an ended process.
pub(super) struct OrphanedJournal {
    path: PathBuf,
    /// The file's lock, held until the file is removed, so that no other process takes it over too.
    _locked: File,
    pub(super) rows: Vec<(TurnKey, NewEntry)>,
    pub(super) uses: Vec<Use>,
}

/// The journal's contents for some keys.
#[derive(Default)]
pub(super) struct Noted {
    pub(super) rows: Vec<(TurnKey, Entry)>,
    /// The uses, each with the key of its row and the time when it was noted.
    pub(super) uses: Vec<(TurnKey, Use, i64)>,
}

impl Journal {
    /// Creates an empty journal in a directory.
    pub(super) fn create(directory: &Path) -> std::io::Result<Journal> {
        let file = JournalFile::create(directory)?;
        let directory = directory.to_owned();
        let next_id = -FEWEST_IDS - (ulid::Ulid::generate().random() % STARTS) as i64;
        let (rows, concerning, uses) = Default::default();
        Ok(Journal { rows, concerning, uses, generation: 0, next_id, directory, file })
    }

    /// Adds a row and the uses before it, and returns the row with its id. If the disk is full, it is kept in memory only.
    pub(super) fn note_row(&mut self, key: TurnKey, mut entry: NewEntry) -> NewEntry {
        entry.id = Some(EntryId(self.next_id));
        self.next_id += 1 + i64::try_from(entry.absent.len()).unwrap_or(i64::MAX);
        self.remember(&entry.before);
        let row = (key, entry.session.clone());
        self.remove_row(&row);
        for (absent, ..) in entry.absent().filter(|(absent, ..)| *absent != key) {
            self.concerning.entry(absent).or_default().push(row.clone());
        }
        self.concerning.entry(key).or_default().push(row.clone());
        self.file.append(&line(&(key, &entry)));
        self.rows.insert(row, entry.clone());
        entry
    }

    /// Adds the uses that add something to a row. If the disk is full, they are kept in memory only.
    pub(super) fn note_uses(&mut self, uses: &[Use]) {
        let new: Vec<Use> = uses.iter().filter(|used| used.key.is_some()).cloned().collect();
        if !new.is_empty() {
            self.remember(&new);
            self.file.append(&line(&new));
        }
    }

    fn remember(&mut self, uses: &[Use]) {
        let noted_ms = jiff::Timestamp::now().as_millisecond();
        for (key, used) in uses.iter().filter_map(|used| Some((used.key?, used))) {
            let known = self.uses.entry(key).or_default();
            if !known.iter().any(|(other, _)| other == used) {
                known.push((used.clone(), noted_ms));
            }
        }
    }

    /// Removes rows, with the uses before them, and uses that are in the database now.
    pub(super) fn remove(&mut self, rows: Vec<(TurnKey, NewEntry)>, uses: &[Use]) {
        self.generation += 1;
        for used in uses.iter().chain(rows.iter().flat_map(|(_, entry)| &entry.before)) {
            let Some(key) = used.key else { continue };
            if let Some(known) = self.uses.get_mut(&key) {
                known.retain(|(other, _)| other != used);
                if known.is_empty() {
                    self.uses.remove(&key);
                }
            }
        }
        for (key, entry) in rows {
            self.remove_row(&(key, entry.session));
        }
        let is_empty = self.rows.is_empty() && self.uses.is_empty();
        if is_empty && self.file.length > 0 {
            self.file.clear();
        } else if self.file.length > LONG.max(2 * self.file.begun_with) {
            self.begin_anew();
        }
    }

    fn remove_row(&mut self, row: &RowOf) {
        let Some(entry) = self.rows.remove(row) else { return };
        for key in entry.absent().map(|(absent, ..)| absent).chain([row.0]) {
            if let Some(rows) = self.concerning.get_mut(&key) {
                rows.retain(|other| other != row);
                if rows.is_empty() {
                    self.concerning.remove(&key);
                }
            }
        }
    }

    /// Replaces the file by a new one. After an error the old one stays in use.
    fn begin_anew(&mut self) {
        let mut file = match JournalFile::create(&self.directory) {
            Ok(file) => file,
            Err(error) => return tracing::warn!(%error, "cannot begin a new journal"),
        };
        let rows = self.rows.iter().map(|((key, _), entry)| line(&(key, entry)));
        let uses = self.uses.values().map(|uses| line(&uses.iter().map(|(used, _)| used).collect::<Vec<_>>()));
        file.append(&rows.chain(uses).collect::<String>());
        file.begun_with = file.length;
        let old = std::mem::replace(&mut self.file, file);
        std::fs::remove_file(old.path).ok();
    }

    /// What concerns the rows of these keys, including those of earlier turns in [`NewEntry::absent`].
    pub(super) fn find(&self, keys: &[TurnKey]) -> Noted {
        let mut found = Noted::default();
        let concerning = keys.iter().filter_map(|key| self.concerning.get(key).map(|rows| (*key, rows)));
        for (key, row) in concerning.flat_map(|(key, rows)| rows.iter().map(move |row| (key, row))) {
            let Some(entry) = self.rows.get(row) else { continue };
            let Some(id) = entry.id else { continue };
            if row.0 == key {
                found.rows.push((key, entry.row(id)));
            }
            for (absent, id, before) in entry.absent().filter(|(absent, ..)| *absent == key) {
                let Some(id) = id else { continue };
                let row = NewEntry { session: entry.session.clone(), now_ms: entry.now_ms, ..NewEntry::default() };
                found.rows.push((absent, Entry { before: before.to_vec(), ..row.row(id) }));
            }
        }
        if !self.uses.is_empty() {
            let of_key = |key: &TurnKey| Some((*key, self.uses.get(key)?));
            let noted = keys.iter().filter_map(of_key);
            found.uses =
                noted.flat_map(|(key, uses)| uses.iter().map(move |(used, at)| (key, used.clone(), *at))).collect();
        }
        found
    }

    /// A number that changes when contents move to the database. A read transaction that began before the change may lack
    /// what the journal no longer has.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }
}

impl JournalFile {
    fn create(directory: &Path) -> std::io::Result<JournalFile> {
        let path = directory.join(format!("{PREFIX}{}.jsonl", ulid::Ulid::generate()));
        let file = private_file::append(&path)?;
        file.lock()?;
        Ok(JournalFile { path, file, length: 0, begun_with: 0 })
    }

    fn append(&mut self, text: &str) {
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => self.length += text.len() as u64,
            Err(error) => tracing::warn!(%error, "cannot write the journal: a turn's record is kept in memory only"),
        }
    }

    fn clear(&mut self) {
        match self.file.set_len(0) {
            Ok(()) => (self.length, self.begun_with) = (0, 0),
            Err(error) => tracing::warn!(%error, "cannot truncate the journal"),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.rows.is_empty() && self.uses.is_empty() {
            // The next start takes over a file that cannot be removed.
            std::fs::remove_file(&self.file.path).ok();
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
    let mut orphan = OrphanedJournal { path, _locked: file, rows: Vec::new(), uses: Vec::new() };
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Row(key, entry)) => orphan.rows.push((key, entry)),
            Ok(Line::Uses(uses)) => orphan.uses.extend(uses),
            Err(_) => {}
        }
    }
    Some(orphan)
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
    use crate::EntryId;

    fn entry(session: &str) -> NewEntry {
        NewEntry { session: Some(session.to_owned()), ..NewEntry::default() }
    }

    #[test]
    fn only_unlocked_journals_are_orphans() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let row = journal.note_row(TurnKey::for_test(1), entry("a"));
        assert!(orphans(folder.path()).is_empty());
        // A killed process runs no destructor, and the system releases its lock.
        journal.file.file.unlock().unwrap();
        let found = orphans(folder.path());
        assert_eq!(found[0].rows, vec![(TurnKey::for_test(1), row)]);
    }

    #[test]
    fn absent_earlier_turns_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let noted = NewEntry { absent: vec![(TurnKey::for_test(1), Vec::new())], ..entry("a") };
        journal.note_row(TurnKey::for_test(2), noted);
        let found = journal.find(&[TurnKey::for_test(1), TurnKey::for_test(3)]);
        let id = EntryId(journal.next_id - 1);
        assert_eq!(found.rows, [(TurnKey::for_test(1), entry("a").row(id))]);
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
        journal.note_row(TurnKey::for_test(1), entry("a"));
        assert_eq!(journal.find(&[TurnKey::for_test(1)]).rows.len(), 1);
        journal.remove(vec![(TurnKey::for_test(1), entry("a"))], &[]);
        assert!(journal.find(&[TurnKey::for_test(1)]).rows.is_empty() && journal.concerning.is_empty());
        assert_eq!(std::fs::metadata(&journal.file.path).unwrap().len(), 0);
        drop(journal);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    fn continued(row: i64, key: u8) -> Use {
        let key = TurnKey::for_test(key);
        Use { key: Some(key), continuation: Some(key), ..Use::of(EntryId(row)) }
    }

    #[test]
    fn uses_survive_the_process_and_leave_the_journal_once_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        journal.note_uses(&[Use::of(EntryId(1)), continued(2, 2)]);
        let row = NewEntry { before: vec![continued(3, 3)], ..entry("a") };
        let row = journal.note_row(TurnKey::for_test(4), row);
        let uses = |journal: &Journal| journal.find(&[1, 2, 3].map(TurnKey::for_test)).uses;
        let noted: Vec<_> = uses(&journal).into_iter().map(|(_, used, _)| used).collect();
        assert_eq!(noted, [continued(2, 2), continued(3, 3)]);
        journal.file.file.unlock().unwrap();
        assert_eq!(orphans(folder.path())[0].uses, [continued(2, 2)]);
        assert_eq!(orphans(folder.path())[0].rows, [(TurnKey::for_test(4), row.clone())]);
        journal.remove(vec![(TurnKey::for_test(4), row)], &[continued(2, 2)]);
        assert!(uses(&journal).is_empty());
        assert_eq!(std::fs::metadata(&journal.file.path).unwrap().len(), 0);
    }

    #[test]
    fn long_file_is_replaced_by_what_is_still_needed() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let row = journal.note_row(TurnKey::for_test(1), entry("a"));
        journal.note_uses(&[continued(2, 2)]);
        while journal.file.length <= LONG {
            journal.note_row(TurnKey::for_test(3), entry(&"b".repeat(10_000)));
        }
        journal.remove(vec![(TurnKey::for_test(3), entry(&"b".repeat(10_000)))], &[]);
        journal.file.file.unlock().unwrap();
        let found = orphans(folder.path());
        assert_eq!(found.len(), 1, "the long file is removed");
        assert_eq!(found[0].rows, [(TurnKey::for_test(1), row)]);
        assert_eq!(found[0].uses, [continued(2, 2)]);
        assert!(std::fs::metadata(&found[0].path).unwrap().len() < 10_000);
    }

    #[test]
    fn file_that_is_still_needed_is_not_replaced_at_each_removal() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(folder.path()).unwrap();
        let (mut rows, mut key) = (Vec::new(), 0);
        while journal.file.length <= LONG {
            key += 1;
            rows.push((TurnKey::for_test(key), journal.note_row(TurnKey::for_test(key), entry(&"b".repeat(10_000)))));
        }
        let mut files = std::collections::HashSet::new();
        for row in rows.drain(..rows.len() / 4) {
            journal.remove(vec![row], &[]);
            files.insert(journal.file.path.clone());
        }
        assert_eq!(files.len(), 1, "one new file, and no other");
        journal.file.file.unlock().unwrap();
        let kept = &orphans(folder.path())[0].rows;
        assert!(rows.iter().all(|row| kept.contains(row)));
    }
}
