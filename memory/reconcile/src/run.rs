//! Applies a reconciliation to a memory's files.
//!
//! New files are durable before old ones are removed. Main is written first, and its rename commits the new state. The
//! list of open conflicts and the log follow. Then segments are removed. If a run is killed in between, the next run
//! completes it, because the plan depends only on the files. Pruning is a separate change at the end: a segment that
//! still exists would restore pruned records.

use std::{fs, io};

use muninn_team::Store;
use muninn_team::citations::CitationState;
use muninn_team::records::{CONFLICTS, MAIN, Record, RecordFile, SESSIONS, Source, WithdrawnRecords};

use super::error::ReconcileError;
use super::files::{DamagedFile, MemoryFiles, at, records_in};
use super::layout::RECONCILED;
use super::options::ReconcileOptions;
use super::setup::KEEPER;
use super::step::StepHook;
use super::{Fold, JudgeSetup, ModelReport, PlanInput, Pruned, Segment, Summary, plan, prune};

/// The report of a run, or of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Counts.
    pub summary: Summary,
    /// The records that are folded since.
    pub folds: Vec<Fold>,
    /// The model's part, if there is one.
    pub asked: Option<ModelReport>,
    /// Number of records in main that are withdrawn, because the commits that brought them were reverted.
    pub withdrawn: usize,
    /// Number of pruned records.
    pub pruned: usize,
    /// Names of the reconciled segments.
    pub segments: Vec<String>,
    /// Messages: invalid lines and where they are kept, and steps that could not be done.
    pub notes: Vec<String>,
}

/// Reconciles a memory's segments with its main.
///
/// # Errors
/// [`ReconcileError`]; the next run completes unfinished steps.
pub fn reconcile(
    store: &Store,
    options: ReconcileOptions,
    judging: &JudgeSetup<'_>,
    step: StepHook<'_>,
) -> Result<Reconciled, ReconcileError> {
    let mut files = MemoryFiles::of(store, options)?;
    // A dry run needs no lock.
    let _lock = (!options.dry_run).then(|| files.lock()).transpose()?;
    let (before, damaged) = files.read_all(store)?;
    let after = plan(&before, judging);
    let pruned = options.max_main_bytes.map(|most| {
        // Without a worktree no file counts as changed.
        let is_changed = |source: &Source| {
            let state = |worktree| source.citation().map(|citation| citation.state(worktree, &|_| Vec::new()));
            let is_same = |state| matches!(state, Some(CitationState::Unchanged | CitationState::Moved(_)));
            store.home().worktree().is_some_and(|worktree| !is_same(state(worktree)))
        };
        // A withdrawn record can return, so it stays in main.
        let is_withdrawn = |record: &Record| before.withdrawn.has(&record.id);
        let (stay, others): (Vec<Record>, Vec<Record>) = after.main.iter().cloned().partition(is_withdrawn);
        let bytes: u64 = stay.iter().map(|record| record.line().len() as u64 + 1).sum();
        let mut pruned = prune(&others, &after.conflicts, most.saturating_sub(bytes), &is_changed);
        pruned.bytes += bytes;
        pruned.main.extend(stay);
        pruned.main.sort_by(|one, other| one.id.cmp(&other.id));
        pruned
    });
    let mut notes: Vec<String> = damaged.iter().map(|damaged| damaged.note(store.home())).collect();
    notes.extend(
        options.max_main_bytes.zip(pruned.as_ref()).and_then(|pruned| size_note(store.home().path(MAIN), pruned)),
    );
    if after.earlier_folds > 0 {
        notes.push(format!(
            "an earlier version folded different texts: {}; `muninn reconcile --review-folds` shows them",
            after.earlier_folds
        ));
    }
    let mut reconciled = Reconciled {
        summary: after.summary,
        folds: after.folds,
        asked: after.asked,
        withdrawn: after.main.iter().filter(|record| before.withdrawn.has(&record.id)).count(),
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

/// A message if main stays above its maximum.
fn size_note(main: &str, (most, pruned): (u64, &Pruned)) -> Option<String> {
    (pruned.bytes > most).then(|| {
        let bytes = pruned.bytes;
        format!("{main} stays at {bytes} bytes, above {most}: decisions and the sides of open conflicts are not pruned")
    })
}

impl<'a> MemoryFiles<'a> {
    pub(super) fn of(store: &'a Store, options: ReconcileOptions) -> Result<Self, ReconcileError> {
        if let Some(default) = store.foreign_branch()?.filter(|_| !options.here) {
            let branch = store.home().checkout()?.branch;
            return Err(ReconcileError::NotDefault { branch, default });
        }
        Ok(Self::at(store.home()))
    }

    pub(super) fn read_all(&mut self, store: &Store) -> Result<(PlanInput, Vec<DamagedFile>), ReconcileError> {
        let mut damaged = Vec::new();
        let mut of = |path: &str| self.records(path, &mut damaged);
        let mut before =
            PlanInput { main: of(MAIN)?, log: of(RECONCILED)?, conflicts: of(CONFLICTS)?, ..PlanInput::default() };
        for file in store.shared_segments()? {
            let RecordFile::Home(path) = &file else { continue };
            let bytes = self.bytes(path)?;
            before.segments.push(Segment {
                name: path.file_name().to_owned(),
                bytes: bytes.len() as u64,
                records: records_in(path, bytes, &mut damaged)?,
            });
        }
        before.withdrawn = WithdrawnRecords::of(store.home())?;
        let pruned = self.pruned(&mut Vec::new())?;
        before.pruned = pruned.into_iter().map(|record| record.id).collect();
        Ok((before, damaged))
    }

    /// Removes a segment whose records are all in main; a copy of invalid lines already exists. If the segment changed
    /// meanwhile, it stays, and a message is returned.
    fn remove(&self, segment: &Segment, step: StepHook<'_>) -> Result<Option<String>, ReconcileError> {
        let sessions = self.home.path(SESSIONS);
        let name = format!("{sessions}/{}", segment.name);
        let path = self.home.own_directory(sessions)?.join(&segment.name);
        if !self.is_unchanged(&name)? {
            let stays = || format!("{name} was changed meanwhile and is left for the next run");
            return Ok(path.exists().then(stays));
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            _ => step("removed"),
        }
        Ok(None)
    }
}
