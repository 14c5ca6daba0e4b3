//! Reconciling a worktree's files.
//!
//! Everything new is on the disk before anything old is gone. The conflicts come first, then main, whose renaming is the
//! moment at which the new state holds: a conflict between records that main does not have yet is not shown. The log
//! follows, and the sessions' files go last. Whoever is killed in between is finished by the next run, which comes to the
//! same: what main is to be depends on nothing but what is there.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use muninn_repo_tools::{RelPath, Worktree};
use thiserror::Error;

use super::{After, Before, Judge, Segment, Summary, plan};
use crate::Store;
use crate::embed::Embedder;
use crate::records::lines::{self, Reason};
use crate::records::{MAIN, Record, RecordFile, SESSIONS, SegmentError, own_directory};

/// Where the open conflicts are.
pub const CONFLICTS: &str = ".muninn/memory/conflicts.jsonl";
/// Where it is told which sessions are in main.
pub const RECONCILED: &str = ".muninn/memory/reconciled.jsonl";
/// Where files go of which not every line is a record, as they are.
pub const ARCHIVE: &str = ".muninn/memory/archive";
/// Where sessions' files go, where they are to be kept.
pub const SESSIONS_ARCHIVE: &str = ".muninn/memory/sessions/archive";
/// Where the lock of a run is: git ignores it.
const CACHE: &str = ".muninn/cache";

/// How a run is to go about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReconcileOptions {
    /// Keep the sessions' files in an archive.
    pub archive: bool,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Go on though another branch than the default one is checked out.
    pub here: bool,
}

/// What a run did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// In numbers.
    pub summary: Summary,
    /// The sessions' files that were taken in.
    pub segments: Vec<String>,
    /// What was found that is no record, in words, and where it is kept.
    pub notes: Vec<String>,
}

/// Why there was no run.
#[derive(Debug, Error)]
pub enum ReconcileError {
    /// Main belongs to the default branch.
    #[error("{} is checked out, and main memory belongs to {default}", branch.as_deref().unwrap_or("no branch"))]
    NotDefault {
        /// The branch.
        branch: Option<String>,
        /// The one that it belongs to.
        default: String,
    },
    /// A directory of its own is missing.
    #[error(transparent)]
    Directory(#[from] SegmentError),
    /// Another process is at it.
    #[error("another reconciliation is under way here")]
    Busy,
    /// The file system.
    #[error("{}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
}

/// A step after which a run may be killed: told to `at`, for tests.
pub type Steps<'a> = &'a mut dyn FnMut(&'static str);

/// Reconciles a worktree's sessions with its main memory.
///
/// # Errors
/// [`ReconcileError`]; what was not finished is by the next run.
pub fn reconcile(
    store: &Store,
    options: ReconcileOptions,
    judge: &dyn Judge,
    embedder: Option<Arc<dyn Embedder>>,
    at: Steps<'_>,
) -> Result<Reconciled, ReconcileError> {
    let place = Place::of(store, options)?;
    let _lock = place.lock()?;
    let (before, found) = place.read(store)?;
    let after = plan(&before, judge, embedder);
    let reconciled = Reconciled {
        summary: after.summary,
        segments: before.segments.iter().map(|segment| segment.name.clone()).collect(),
        notes: found.iter().map(Found::note).collect(),
    };
    if options.dry_run {
        return Ok(reconciled);
    }
    for found in &found {
        place.put((ARCHIVE, &found.kept_as()), &found.bytes, at)?;
    }
    place.write(&after, at)?;
    for segment in &before.segments {
        place.remove(segment, options.archive, at)?;
    }
    Ok(reconciled)
}

/// The conflicts that are open, by id: those between records that main has.
pub fn open_conflicts(worktree: &Worktree) -> Vec<Record> {
    let place = Place { worktree };
    let mut nobody_asks = Vec::new();
    let mut of = |name: &str| {
        let path = RelPath::new(name).ok()?;
        place.records(&path, &mut nobody_asks).ok()
    };
    let (main, conflicts) = (of(MAIN).unwrap_or_default(), of(CONFLICTS).unwrap_or_default());
    super::plan::open_conflicts(&main, conflicts.into_iter())
}

/// A worktree's memory, on disk.
struct Place<'a> {
    worktree: &'a Worktree,
}

/// A file of which not every line is a record.
struct Found {
    /// Below the root.
    name: RelPath,
    bytes: Vec<u8>,
    lines: usize,
}

impl Found {
    /// By its content, so that the same is kept once.
    fn kept_as(&self) -> String {
        let stem = self.name.file_name().trim_end_matches(".jsonl");
        format!("{stem}-{}.jsonl", &blake3::hash(&self.bytes).to_hex()[..12])
    }

    fn note(&self) -> String {
        let lines = match self.lines {
            1 => "a line is".to_owned(),
            lines => format!("{lines} lines are"),
        };
        let kept = self.kept_as();
        format!("{}: {lines} no record; the file is kept as {ARCHIVE}/{kept}", self.name)
    }
}

impl<'a> Place<'a> {
    fn of(store: &'a Store, options: ReconcileOptions) -> Result<Self, ReconcileError> {
        let worktree = store.worktree();
        if let Some(default) = store.foreign_branch().filter(|_| !options.here) {
            let branch = worktree.branch();
            return Err(ReconcileError::NotDefault { branch, default });
        }
        Ok(Self { worktree })
    }

    fn lock(&self) -> Result<File, ReconcileError> {
        let path = own_directory(self.worktree.root(), CACHE)?.join("reconcile.lock");
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = opened.map_err(at(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(fs::TryLockError::WouldBlock) => Err(ReconcileError::Busy),
            Err(fs::TryLockError::Error(source)) => Err(at(&path)(source)),
        }
    }

    fn read(&self, store: &Store) -> Result<(Before, Vec<Found>), ReconcileError> {
        let mut found = Vec::new();
        let mut of = |name: &str| match RelPath::new(name) {
            Ok(path) => self.records(&path, &mut found),
            Err(_) => Ok(Vec::new()),
        };
        let mut before = Before {
            main: of(MAIN)?,
            log: of(RECONCILED)?,
            conflicts: of(CONFLICTS)?,
            segments: Vec::new(),
        };
        for file in store.shared_segments() {
            let RecordFile::Worktree(path) = &file else { continue };
            before.segments.push(Segment {
                name: path.file_name().to_owned(),
                records: self.records(path, &mut found)?,
                bytes: file.metadata(self.worktree).map_err(at(&path.to_path_buf()))?.len(),
            });
        }
        Ok((before, found))
    }

    /// A file's records; none where there is no such file. Those without an id get one that follows from what they say.
    fn records(&self, path: &RelPath, found: &mut Vec<Found>) -> Result<Vec<Record>, ReconcileError> {
        let failed = |source| at(&path.to_path_buf())(source);
        let file = RecordFile::Worktree(path.clone());
        if file.metadata(self.worktree).is_err() {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let opened = file.open(self.worktree);
        opened
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(failed)?;
        let (mut records, mut lines) = (Vec::new(), 0);
        let read = lines::read(
            bytes.as_slice(),
            |_, record| records.push(record.identified()),
            // What stands between the markers of a merge is read, and they say nothing themselves.
            |line| lines += usize::from(line.reason != Reason::ConflictMarker),
        );
        read.map_err(failed)?;
        if lines > 0 {
            let name = path.clone();
            found.push(Found { name, bytes, lines });
        }
        Ok(records)
    }

    fn write(&self, after: &After, step: Steps<'_>) -> Result<(), ReconcileError> {
        for (name, records) in [
            (CONFLICTS, &after.conflicts),
            (MAIN, &after.main),
            (RECONCILED, &after.log),
        ] {
            let lines = records.iter().flat_map(|record| [record.line(), "\n".to_owned()]);
            let text: String = lines.collect();
            let (folder, name) = name.rsplit_once('/').unwrap_or_default();
            self.put((folder, name), text.as_bytes(), step)?;
        }
        Ok(())
    }

    /// Puts a file in place as a whole; one that is so already stays untouched.
    fn put(&self, (folder, name): (&str, &str), bytes: &[u8], step: Steps<'_>) -> Result<(), ReconcileError> {
        let folder = own_directory(self.worktree.root(), folder)?;
        let path = folder.join(name);
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        if is_file && fs::read(&path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let temporary = folder.join(format!(".{name}.tmp"));
        let mut write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            step("written");
            fs::rename(&temporary, &path)?;
            step("in place");
            sync(&folder)
        };
        write().map_err(at(&path))
    }

    /// Removes a session's file, all of whose records are in main. Where not every line was one, it is kept by now.
    fn remove(&self, segment: &Segment, archive: bool, step: Steps<'_>) -> Result<(), ReconcileError> {
        let path = own_directory(self.worktree.root(), SESSIONS)?.join(&segment.name);
        if archive {
            let bytes = fs::read(&path).map_err(at(&path))?;
            self.put((SESSIONS_ARCHIVE, &segment.name), &bytes, step)?;
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            _ => step("removed"),
        }
        Ok(())
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

fn at(path: &Path) -> impl FnOnce(io::Error) -> ReconcileError {
    let path = path.to_owned();
    move |source| ReconcileError::Io { path, source }
}
