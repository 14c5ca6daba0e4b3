//! The files of a worktree's memory, read whatever is in them, and put in place as wholes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use muninn_repo_tools::{RelPath, Worktree};

use super::{ARCHIVE, PRUNED, ReconcileError, SESSIONS_ARCHIVE, Segment, Steps};
use crate::records::lines::{self, MAX_LINE_BYTES, Reason};
use crate::records::{Record, RecordFile, anew, own_directory};

/// Where the lock of a run is: git ignores it.
const CACHE: &str = ".muninn/cache";

/// A worktree's memory, on disk.
pub(super) struct Place<'a> {
    pub(super) worktree: &'a Worktree,
}

/// The right to change the files, until it is dropped.
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Not by closing it: a process that is being started has the file open too, for a moment.
        let _closed_in_the_end = self.0.unlock();
    }
}

/// A file of which not every line is a record.
pub(super) struct Found {
    /// Below the root.
    pub(super) name: RelPath,
    pub(super) bytes: Vec<u8>,
    lines: usize,
}

impl Found {
    /// By its content, so that the same is kept once.
    pub(super) fn kept_as(&self) -> String {
        let stem = self.name.file_name().trim_end_matches(".jsonl");
        format!("{stem}-{}.jsonl", &blake3::hash(&self.bytes).to_hex()[..12])
    }

    pub(super) fn note(&self) -> String {
        let lines = match self.lines {
            1 => "a line is".to_owned(),
            lines => format!("{lines} lines are"),
        };
        let kept = self.kept_as();
        format!("{}: {lines} no record; the file is kept as {ARCHIVE}/{kept}", self.name)
    }
}

impl Place<'_> {
    pub(super) fn lock(&self) -> Result<Lock, ReconcileError> {
        let path = own_directory(self.worktree.root(), CACHE)?.join("reconcile.lock");
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = opened.map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Lock(lock)),
            Err(fs::TryLockError::WouldBlock) => Err(ReconcileError::Busy),
            Err(fs::TryLockError::Error(source)) => Err(at(&path)(source)),
        }
    }

    /// Of a file, in bytes.
    pub(super) fn length(&self, path: &RelPath) -> Result<u64, ReconcileError> {
        let metadata = RecordFile::Worktree(path.clone()).metadata(self.worktree);
        Ok(metadata.map_err(at(&path.to_path_buf()))?.len())
    }

    /// A file's records; none where there is no such file. Those without an id get one that follows from what they say.
    pub(super) fn records(&self, path: &RelPath, found: &mut Vec<Found>) -> Result<Vec<Record>, ReconcileError> {
        let failed = |source| at(&path.to_path_buf())(source);
        let file = RecordFile::Worktree(path.clone());
        match self.worktree.root().join(path.to_path_buf()).symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
            // One that leads out of the worktree is refused when it is opened.
            Ok(_) => {}
        }
        let mut bytes = Vec::new();
        let opened = file.open(self.worktree);
        opened
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(failed)?;
        let (mut records, mut lines): (Vec<Record>, _) = (Vec::new(), 0);
        let read = lines::read(
            bytes.as_slice(),
            |_, record| records.push(record.identified()),
            // What stands between the markers of a merge is read, and they say nothing themselves.
            |line| lines += usize::from(line.reason != Reason::ConflictMarker),
        );
        // With an id it may be longer than a line can be, and would be none the next time.
        let all = records.len();
        records.retain(|record| record.line().len() <= MAX_LINE_BYTES);
        lines += all - records.len();
        read.map_err(failed)?;
        if lines > 0 {
            let name = path.clone();
            found.push(Found { name, bytes, lines });
        }
        Ok(records)
    }

    /// Keeps a file of which not every line is a record.
    pub(super) fn keep(&self, found: &Found, step: Steps<'_>) -> Result<(), ReconcileError> {
        self.put((ARCHIVE, &found.kept_as()), &found.bytes, step)
    }

    /// Keeps what leaves `main`, which is as it is to be. One file holds all that did, but for what is back in main.
    pub(super) fn archive(&self, leaving: &[Record], main: &[Record], step: Steps<'_>) -> Result<(), ReconcileError> {
        let mut found = Vec::new();
        let mut all: BTreeMap<String, Record> = BTreeMap::new();
        for record in self.pruned(&mut found)?.into_iter().chain(leaving.iter().cloned()) {
            all.entry(record.id.clone()).or_insert(record);
        }
        main.iter().for_each(|record| drop(all.remove(&record.id)));
        for found in &found {
            self.keep(found, step)?;
        }
        self.put_records(PRUNED, &all.into_values().collect::<Vec<_>>(), step)
    }

    /// Keeps what sessions' files held, beside what is kept of others; of an id with two lines both.
    pub(super) fn archive_sessions(&self, segments: &[Segment], step: Steps<'_>) -> Result<(), ReconcileError> {
        let mut found = Vec::new();
        let there = match RelPath::new(SESSIONS_ARCHIVE) {
            Ok(path) => self.records(&path, &mut found)?,
            Err(_) => Vec::new(),
        };
        for found in &found {
            self.keep(found, step)?;
        }
        let records = there.iter().chain(segments.iter().flat_map(|segment| &segment.records));
        let lines: BTreeSet<(&str, String)> = records.map(|record| (record.id.as_str(), record.line())).collect();
        self.put_lines(SESSIONS_ARCHIVE, lines.into_iter().map(|(_, line)| line), step)
    }

    /// What left main.
    pub(super) fn pruned(&self, found: &mut Vec<Found>) -> Result<Vec<Record>, ReconcileError> {
        match RelPath::new(PRUNED) {
            Ok(path) => self.records(&path, found),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Puts a file of records in place.
    pub(super) fn put_records(&self, path: &str, records: &[Record], step: Steps<'_>) -> Result<(), ReconcileError> {
        self.put_lines(path, records.iter().map(Record::line), step)
    }

    fn put_lines(
        &self,
        path: &str,
        lines: impl Iterator<Item = String>,
        step: Steps<'_>,
    ) -> Result<(), ReconcileError> {
        let text: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
        self.put(path.rsplit_once('/').unwrap_or_default(), text.as_bytes(), step)
    }

    /// Puts a file in place as a whole; one that is so already stays untouched.
    pub(super) fn put(
        &self,
        (folder, name): (&str, &str),
        bytes: &[u8],
        step: Steps<'_>,
    ) -> Result<(), ReconcileError> {
        let folder = own_directory(self.worktree.root(), folder)?;
        let path = folder.join(name);
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if is_file && fs::read(&path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let temporary = folder.join(format!(".{name}.tmp"));
        let mut write = || {
            let mut file = anew(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            step("written");
            fs::rename(&temporary, &path)?;
            step("in place");
            sync(&folder)
        };
        write().map_err(at(&path))
    }
}

/// A renamed file is there for good when its directory is on the disk.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> ReconcileError {
    let path = path.to_owned();
    move |source| ReconcileError::Io { path, source }
}
