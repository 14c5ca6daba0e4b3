//! The files of a memory, read whatever is in them, and replaced as a whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use muninn_repo_tools::RelPath;

use super::{ARCHIVE, PRUNED, ReconcileError, SESSIONS_ARCHIVE, Segment, StepHook};
use crate::records::lines::{self, MAX_LINE_BYTES, SkipReason};
use crate::records::{Home, Record, RecordFile, anew};

/// Where the lock of a run is: git ignores it.
const CACHE: &str = ".muninn/cache";

/// What is kept of a file's name, in bytes, so that there is room for more.
const LONGEST_STEM: usize = 100;

/// A memory, on disk.
pub(super) struct MemoryFiles<'a> {
    pub(super) home: &'a Home,
    /// What each file held that was read or written, by its path below the root.
    known: HashMap<String, Digest>,
}

/// Of a file's bytes; `None` of one that is not there.
type Digest = Option<blake3::Hash>;

fn digest(bytes: Option<&[u8]>) -> Digest {
    bytes.map(blake3::hash)
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
pub(super) struct DamagedFile {
    /// Below the root.
    pub(super) name: RelPath,
    pub(super) bytes: Vec<u8>,
    lines: usize,
}

impl DamagedFile {
    /// By its content, so that the same is kept once.
    pub(super) fn kept_as(&self) -> String {
        let stem = self.name.file_name().trim_end_matches(".jsonl");
        let stem = &stem[..stem.floor_char_boundary(LONGEST_STEM)];
        format!("{stem}-{}.jsonl", &blake3::hash(&self.bytes).to_hex()[..12])
    }

    pub(super) fn note(&self, home: &Home) -> String {
        let lines = match self.lines {
            1 => "a line is".to_owned(),
            lines => format!("{lines} lines are"),
        };
        let (archive, kept) = (home.path(ARCHIVE), self.kept_as());
        format!("{}: {lines} no record; the file is kept as {archive}/{kept}", self.name)
    }
}

impl<'a> MemoryFiles<'a> {
    pub(super) fn at(home: &'a Home) -> Self {
        let known = HashMap::new();
        Self { home, known }
    }

    pub(super) fn lock(&self) -> Result<Lock, ReconcileError> {
        let path = self.home.own_directory(self.home.path(CACHE))?.join("reconcile.lock");
        if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is no file of its own");
            return Err(at(&path)(source));
        }
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = opened.map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Lock(lock)),
            Err(fs::TryLockError::WouldBlock) => Err(ReconcileError::Busy),
            Err(fs::TryLockError::Error(source)) => Err(at(&path)(source)),
        }
    }

    /// A file's bytes; none where there is no such file.
    pub(super) fn bytes(&mut self, path: &RelPath) -> Result<Vec<u8>, ReconcileError> {
        let bytes = match self.home.root().join(path.to_path_buf()).symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // One that leads out of the home is refused when it is opened.
            there => Some(there.and_then(|_| self.read(path)).map_err(at(&path.to_path_buf()))?),
        };
        self.known.insert(path.as_str().to_owned(), digest(bytes.as_deref()));
        Ok(bytes.unwrap_or_default())
    }

    fn read(&self, path: &RelPath) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = RecordFile::Home(path.clone()).open(self.home)?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The records of a file, by its path in a repository; none where there is no such file.
    pub(super) fn records(
        &mut self,
        path: &str,
        damaged: &mut Vec<DamagedFile>,
    ) -> Result<Vec<Record>, ReconcileError> {
        let Ok(path) = RelPath::new(self.home.path(path)) else {
            return Ok(Vec::new());
        };
        let bytes = self.bytes(&path)?;
        records_in(&path, bytes, damaged)
    }

    /// Whether a file is as this run read or left it; of one that it never read nobody knows.
    pub(super) fn is_as_known(&self, path: &str) -> Result<bool, ReconcileError> {
        let Some(known) = self.known.get(path) else {
            return Ok(true);
        };
        let path = self.home.root().join(path);
        let there = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            there => Some(there.map_err(at(&path))?),
        };
        Ok(digest(there.as_deref()) == *known)
    }

    /// Keeps a file of which not every line is a record.
    pub(super) fn keep(&mut self, damaged: &DamagedFile, step: StepHook<'_>) -> Result<(), ReconcileError> {
        self.put(&format!("{ARCHIVE}/{}", damaged.kept_as()), &damaged.bytes, step)
    }

    /// Keeps what leaves `main`, which is as it is to be. One file holds all that did, but for what is back in main.
    pub(super) fn archive(
        &mut self,
        leaving: &[Record],
        main: &[Record],
        step: StepHook<'_>,
    ) -> Result<(), ReconcileError> {
        let mut damaged = Vec::new();
        let mut all: BTreeMap<String, Record> = BTreeMap::new();
        for record in self.pruned(&mut damaged)?.into_iter().chain(leaving.iter().cloned()) {
            all.entry(record.id.clone()).or_insert(record);
        }
        main.iter().for_each(|record| drop(all.remove(&record.id)));
        for damaged in &damaged {
            self.keep(damaged, step)?;
        }
        self.put_records(PRUNED, &all.into_values().collect::<Vec<_>>(), step)
    }

    /// Keeps what sessions' files held, beside what is kept of others; of an id with two lines both.
    pub(super) fn archive_sessions(&mut self, segments: &[Segment], step: StepHook<'_>) -> Result<(), ReconcileError> {
        let mut damaged = Vec::new();
        let there = self.records(SESSIONS_ARCHIVE, &mut damaged)?;
        for damaged in &damaged {
            self.keep(damaged, step)?;
        }
        let records = there.iter().chain(segments.iter().flat_map(|segment| &segment.records));
        let lines: BTreeSet<(&str, String)> = records.map(|record| (record.id.as_str(), record.line())).collect();
        self.put_lines(SESSIONS_ARCHIVE, lines.into_iter().map(|(_, line)| line), step)
    }

    /// What left main.
    pub(super) fn pruned(&mut self, damaged: &mut Vec<DamagedFile>) -> Result<Vec<Record>, ReconcileError> {
        self.records(PRUNED, damaged)
    }

    /// Replaces a file of records, by its path in a repository.
    pub(super) fn put_records(
        &mut self,
        path: &str,
        records: &[Record],
        step: StepHook<'_>,
    ) -> Result<(), ReconcileError> {
        self.put_lines(path, records.iter().map(Record::line), step)
    }

    fn put_lines(
        &mut self,
        path: &str,
        lines: impl Iterator<Item = String>,
        step: StepHook<'_>,
    ) -> Result<(), ReconcileError> {
        let text: String = lines.flat_map(|line| [line, "\n".to_owned()]).collect();
        self.put(path, text.as_bytes(), step)
    }

    /// Puts a file in place as a whole, by its path in a repository; one that is so already stays untouched, and so does one
    /// that somebody else changed since it was read.
    pub(super) fn put(&mut self, path: &str, bytes: &[u8], step: StepHook<'_>) -> Result<(), ReconcileError> {
        let below = self.home.path(path).to_owned();
        let (folder, name) = below.rsplit_once('/').unwrap_or(("", &below));
        let directory = self.home.own_directory(folder)?;
        let path = directory.join(name);
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if is_file && fs::read(&path).is_ok_and(|there| there == bytes) {
            self.known.insert(below, digest(Some(bytes)));
            return Ok(());
        }
        let temporary = directory.join(format!(".{name}.tmp"));
        let put = write(&temporary, bytes).map_err(at(&path)).and_then(|()| {
            step("written");
            // To come to this may have taken minutes, in which git may have merged what others did.
            if !self.is_as_known(&below)? {
                return Err(ReconcileError::Changed { path: below.clone() });
            }
            fs::rename(&temporary, &path).map_err(at(&path))
        });
        if put.is_err() {
            let _of_no_use_any_more = fs::remove_file(&temporary);
        }
        put?;
        self.known.insert(below, digest(Some(bytes)));
        step("in place");
        sync(&directory).map_err(at(&path))
    }
}

/// A file's records, whatever else is in it. Those without an id get one that follows from what they say.
pub(super) fn records_in(
    path: &RelPath,
    bytes: Vec<u8>,
    damaged: &mut Vec<DamagedFile>,
) -> Result<Vec<Record>, ReconcileError> {
    let (mut records, mut lines): (Vec<Record>, _) = (Vec::new(), 0);
    let read = lines::read(
        bytes.as_slice(),
        |_, record| records.push(record.identified()),
        // What stands between the markers of a merge is read, and they say nothing themselves.
        |line| lines += usize::from(line.reason != SkipReason::ConflictMarker),
    );
    // With an id it may be longer than a line can be, and would be none the next time.
    let all = records.len();
    records.retain(|record| record.line().len() <= MAX_LINE_BYTES);
    lines += all - records.len();
    read.map_err(|source| at(&path.to_path_buf())(source))?;
    if lines > 0 {
        let name = path.clone();
        damaged.push(DamagedFile { name, bytes, lines });
    }
    Ok(records)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = anew(path)?;
    file.write_all(bytes)?;
    file.sync_all()
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
