//! Reconciling a memory's files.
//!
//! Everything new is on the disk before anything old is gone. Main comes first, whose renaming is the moment at which the
//! new state holds; the list of its open conflicts and the log follow, and then the sessions' files go. Whoever is killed in
//! between is finished by the next run, which comes to the same: what main is to be depends on nothing but what is there.
//! Pruning comes last, as a change of its own: a session's file that is still there would tell what main no longer does.

use std::path::PathBuf;
use std::{fs, io};

use thiserror::Error;

use super::files::{DamagedFile, MemoryFiles, at, records_in};
use super::setup::KEEPER;
use super::{FileChange, JudgeSetup, ModelReport, PlanInput, Pruned, Segment, Summary, file_change, plan, prune};
use crate::Store;
pub use crate::records::{ARCHIVE, PRUNED, RECONCILED};
use crate::records::{CONFLICTS, MAIN, RecordFile, SESSIONS, SegmentError, Source};

/// Where what sessions' files held goes, where it is to be kept. It is one file, which is there from the beginning: git takes
/// a session's file that moves for renamed, and where two people moved it drops without a word what was added to it since.
pub const SESSIONS_ARCHIVE: &str = ".muninn/memory/sessions/archive/sessions.jsonl";

/// How a run is to go about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReconcileOptions {
    /// Keep what the sessions' files held in an archive.
    pub archive: bool,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Go on though another branch than the default one is checked out.
    pub here: bool,
    /// Move what is worth least to the archive, until main has at most so many bytes.
    pub max_main_bytes: Option<u64>,
}

/// What a run did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// In numbers.
    pub summary: Summary,
    /// What was asked of a model, where there was one to ask.
    pub asked: Option<ModelReport>,
    /// How many records went from main to the archive.
    pub pruned: usize,
    /// The sessions' files that were taken in.
    pub segments: Vec<String>,
    /// In words: what was found that is no record, and where it is kept; and what could not be done.
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
    /// Somebody else changed a file while a run was under way.
    #[error("{path} was changed while this was under way, and stays as it is now")]
    Changed {
        /// Which, below the root.
        path: String,
    },
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

/// A step after which a run may be killed: told to `step`, for tests.
pub type StepHook<'a> = &'a mut dyn FnMut(&'static str);

/// Reconciles a memory's sessions with its main.
///
/// # Errors
/// [`ReconcileError`]; what was not finished is by the next run.
pub fn reconcile(
    store: &Store,
    options: ReconcileOptions,
    judging: &JudgeSetup<'_>,
    step: StepHook<'_>,
) -> Result<Reconciled, ReconcileError> {
    let mut files = MemoryFiles::of(store, options)?;
    // Whoever writes nothing is in nobody's way.
    let _lock = (!options.dry_run).then(|| files.lock()).transpose()?;
    let (before, damaged) = files.read_all(store)?;
    let after = plan(&before, judging);
    let pruned = options.max_main_bytes.map(|most| {
        // Without a worktree nobody knows.
        let is_changed = |source: &Source| {
            let worktree = store.home().worktree();
            worktree.is_some_and(|worktree| file_change(worktree, source) != FileChange::Unchanged)
        };
        prune(&after.main, &after.conflicts, most, &is_changed)
    });
    let mut notes: Vec<String> = damaged.iter().map(|damaged| damaged.note(store.home())).collect();
    notes.extend(
        options
            .max_main_bytes
            .zip(pruned.as_ref())
            .and_then(|pruned| over(store.home().path(MAIN), pruned)),
    );
    let mut reconciled = Reconciled {
        summary: after.summary,
        asked: after.asked,
        pruned: pruned.as_ref().map_or(0, |pruned| pruned.archived.len()),
        segments: before.segments.iter().map(|segment| segment.name.clone()).collect(),
        notes,
    };
    if options.dry_run {
        return Ok(reconciled);
    }
    for damaged in &damaged {
        files.keep(damaged, step)?;
    }
    files.put_records(MAIN, &after.main, step)?;
    files.put_records(CONFLICTS, &after.conflicts, step)?;
    files.put_records(RECONCILED, &after.log, step)?;
    if !before.segments.is_empty() && store.home().worktree().is_some() {
        files.put(&format!("{SESSIONS}/{KEEPER}"), b"", step)?;
    }
    if options.archive && !before.segments.is_empty() {
        files.archive_sessions(&before.segments, step)?;
    }
    for segment in &before.segments {
        reconciled.notes.extend(files.remove(segment, step)?);
    }
    match pruned.filter(|pruned| !pruned.archived.is_empty()) {
        Some(Pruned { main, archived, .. }) => {
            files.archive(&archived, &main, step)?;
            files.put_records(MAIN, &main, step)?;
        }
        None if !before.pruned.is_empty() => files.archive(&[], &after.main, step)?,
        None => {}
    }
    Ok(reconciled)
}

/// That main stays above what it may take.
fn over(main: &str, (most, pruned): (u64, &Pruned)) -> Option<String> {
    (pruned.bytes > most).then(|| {
        let bytes = pruned.bytes;
        format!("{main} stays at {bytes} bytes, above {most}: decisions and what is in conflict are not pruned")
    })
}

impl<'a> MemoryFiles<'a> {
    pub(super) fn of(store: &'a Store, options: ReconcileOptions) -> Result<Self, ReconcileError> {
        if let Some(default) = store.foreign_branch().filter(|_| !options.here) {
            let branch = store.home().checkout().branch;
            return Err(ReconcileError::NotDefault { branch, default });
        }
        Ok(Self::at(store.home()))
    }

    pub(super) fn read_all(&mut self, store: &Store) -> Result<(PlanInput, Vec<DamagedFile>), ReconcileError> {
        let mut damaged = Vec::new();
        let mut of = |path: &str| self.records(path, &mut damaged);
        let mut before = PlanInput {
            main: of(MAIN)?,
            log: of(RECONCILED)?,
            conflicts: of(CONFLICTS)?,
            ..PlanInput::default()
        };
        for file in store.shared_segments() {
            let RecordFile::Home(path) = &file else { continue };
            let bytes = self.bytes(path)?;
            before.segments.push(Segment {
                name: path.file_name().to_owned(),
                bytes: bytes.len() as u64,
                records: records_in(path, bytes, &mut damaged)?,
            });
        }
        let pruned = self.pruned(&mut Vec::new())?;
        before.pruned = pruned.into_iter().map(|record| record.id).collect();
        Ok((before, damaged))
    }

    /// Removes a session's file, all of whose records are in main. Where not every line was one, it is kept by now. Returns
    /// what is to be said where it holds more by now, and stays.
    fn remove(&self, segment: &Segment, step: StepHook<'_>) -> Result<Option<String>, ReconcileError> {
        let sessions = self.home.path(SESSIONS);
        let name = format!("{sessions}/{}", segment.name);
        let path = self.home.own_directory(sessions)?.join(&segment.name);
        if !self.is_as_known(&name)? {
            let stays = || format!("{name} was changed meanwhile, and stays for the next run");
            return Ok(path.exists().then(stays));
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            _ => step("removed"),
        }
        Ok(None)
    }
}
