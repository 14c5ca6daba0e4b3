//! The files of a memory, read tolerantly and replaced as a whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use muninn_base::RelPath;
use muninn_base::private_file::sync_dir;
use muninn_team::records::lines::{self, MAX_LINE_BYTES, SkipReason};
use muninn_team::records::{Home, Record, RecordFile, create_new_file};

use super::{ARCHIVE, PRUNED, ReconcileError, SESSIONS_ARCHIVE, Segment, StepHook};

/// The most bytes of a file of records: half a million of them. Each is in memory several times.
const MOST_BYTES: u64 = 256 << 20;

/// The folder of the run's lock, which git ignores.
const CACHE: &str = ".muninn/cache";

/// Maximum length of a file name's stem in the archive, in bytes.
const LONGEST_STEM: usize = 100;

/// A memory on disk.
pub(super) struct MemoryFiles<'a> {
    pub(super) home: &'a Home,
    /// Hash of each file that was read or written, by its path below the root.
    known: HashMap<String, Digest>,
}

/// Hash of a file's bytes; `None` for a missing file.
type Digest = Option<blake3::Hash>;

fn digest(bytes: Option<&[u8]>) -> Digest {
    bytes.map(blake3::hash)
}

/// The lock of a run, released on drop.
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // The lock is released explicitly, because a child process that is starting keeps the file open for a moment.
        self.0.unlock().ok();
    }
}

/// A file with invalid lines.
pub(super) struct DamagedFile {
    /// Path below the root.
    pub(super) name: RelPath,
    pub(super) bytes: Vec<u8>,
    lines: usize,
}

impl DamagedFile {
    /// The name of the copy in the archive. It includes a hash, so that the same content is kept once.
    pub(super) fn archive_name(&self) -> String {
        let stem = self.name.file_name().trim_end_matches(".jsonl");
        let stem = &stem[..stem.floor_char_boundary(LONGEST_STEM)];
        format!("{stem}-{}.jsonl", &blake3::hash(&self.bytes).to_hex()[..12])
    }

    pub(super) fn note(&self, home: &Home) -> String {
        let lines = match self.lines {
            1 => "a line is".to_owned(),
            lines => format!("{lines} lines are"),
        };
        let (archive, kept) = (home.path(ARCHIVE), self.archive_name());
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
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
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

    /// A file's bytes; empty if it does not exist.
    pub(super) fn bytes(&mut self, path: &RelPath) -> Result<Vec<u8>, ReconcileError> {
        let bytes = match self.home.root().join(path.to_path_buf()).symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A path that leads out of the home is refused on opening.
            there => Some(there.and_then(|_| self.read(path)).map_err(at(&path.to_path_buf()))?),
        };
        self.known.insert(path.as_str().to_owned(), digest(bytes.as_deref()));
        Ok(bytes.unwrap_or_default())
    }

    fn read(&self, path: &RelPath) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        RecordFile::Home(path.clone()).open_within(self.home, MOST_BYTES)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The records of a file, by its path in a repository; empty if it does not exist.
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

    /// Returns whether a file is as this run read or wrote it; true for a file that it never read.
    pub(super) fn is_unchanged(&self, path: &str) -> Result<bool, ReconcileError> {
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

    /// Copies a file with invalid lines to the archive.
    pub(super) fn keep(&mut self, damaged: &DamagedFile, step: StepHook<'_>) -> Result<(), ReconcileError> {
        self.put(&format!("{ARCHIVE}/{}", damaged.archive_name()), &damaged.bytes, step)
    }

    /// Adds records that leave main to the archive, and removes from it the records that are in `main` again.
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

    /// Adds the records of segments to the archive of sessions. Two lines with one id are both kept.
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

    /// Replaces a file as a whole, by its path in a repository. A file that already has this content is not written. If
    /// another process changed the file since it was read, an error is returned.
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
        let written = write(&temporary, bytes).and_then(|()| {
            if is_file {
                // A checkout's file, or a team's shared one, keeps its mode.
                fs::set_permissions(&temporary, path.metadata()?.permissions())
            } else {
                Ok(())
            }
        });
        let put = written.map_err(at(&path)).and_then(|()| {
            step("written");
            // Planning can take minutes, and git can merge other changes meanwhile.
            if !self.is_unchanged(&below)? {
                return Err(ReconcileError::Changed { path: below.clone() });
            }
            fs::rename(&temporary, &path).map_err(at(&path))
        });
        if put.is_err() {
            fs::remove_file(&temporary).ok();
        }
        put?;
        self.known.insert(below, digest(Some(bytes)));
        step("in place");
        sync_dir(&directory).map_err(at(&path))
    }
}

/// The records of a file. Records without an id get one derived from their line.
pub(super) fn records_in(
    path: &RelPath,
    bytes: Vec<u8>,
    damaged: &mut Vec<DamagedFile>,
) -> Result<Vec<Record>, ReconcileError> {
    let (mut records, mut lines): (Vec<Record>, _) = (Vec::new(), 0);
    let read = lines::read(
        bytes.as_slice(),
        |_, record| records.push(record.identified()),
        // Lines between merge markers are read. The markers themselves contain no data.
        |line| lines += usize::from(line.reason != SkipReason::ConflictMarker),
    );
    // With its new id, a line can exceed the maximum length and would be invalid in the next run.
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
    let mut file = create_new_file(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> ReconcileError {
    let path = path.to_owned();
    move |source| ReconcileError::Io { path, source }
}
