//! Selects the files of records that belong to the checkout.
//!
//! On the default branch these are main and the unreconciled segments of this worktree's own sessions, so that a single
//! developer has memory before any reconciliation; and of other people's merged segments what somebody stated. What was
//! only learned from traffic waits for a reconciliation. On another branch these are main and all segments in the worktree.
//! Records that wait in the spool are added. Records of an unmerged branch are skipped wherever they are: an untracked
//! segment stays in the worktree when another branch is checked out. Reconciled segments are skipped, even if a late
//! merge restores them: records that were pruned, deleted or merged since must not return.
//!
//! The selection runs before each question, so everything that depends only on file metadata is cached.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use muninn_base::RelPath;
use muninn_repo_tools::{Checkout, ReferenceError};

use super::{DefaultBranchSegments, segments_in};
use crate::records::{
    Home, PRUNED, RECONCILED, ReconciledSegments, RecordFile, SESSIONS, Segments, Spool, SpoolView, WithdrawnRecords,
    lines,
};

/// Cached facts about files and branches.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    checkout: Checkout,
    recorded: SpoolView,
    /// Whether branches, or commits of a detached HEAD, belong to the checkout.
    merged: HashMap<String, bool>,
    origins: HashMap<RecordFile, FileOrigin>,
    tracked: TrackedSegments,
    taken: ReconciledLog,
    withdrawn: CachedWithdrawal,
}

/// The records that a checkout withdraws.
#[derive(Debug, Default)]
struct CachedWithdrawal {
    /// The commit of HEAD, and the stamp of the log.
    at: (Option<String>, Option<SizeAndTime>),
    records: WithdrawnRecords,
}

/// The branch and commit of a file's records. All records of a file were learned on one branch.
#[derive(Debug, Clone)]
struct FileOrigin {
    stamp: Option<SizeAndTime>,
    branch: Option<String>,
    commit: Option<String>,
}

/// Size in bytes and modification time.
type SizeAndTime = (u64, SystemTime);

/// The segments that git tracks.
#[derive(Debug, Default)]
struct TrackedSegments {
    index: Option<SizeAndTime>,
    files: BTreeSet<RelPath>,
}

/// The reconciled segments, as the log lists them.
#[derive(Debug, Default)]
struct ReconciledLog {
    log: Option<SizeAndTime>,
    segments: ReconciledSegments,
}

/// Input of a selection.
pub(super) struct ScopeInputs<'a> {
    pub(super) home: &'a Home,
    pub(super) spool: &'a Spool,
    pub(super) local_segments: &'a Path,
    /// The configured name of the default branch.
    pub(super) default_branch: Option<&'a str>,
    pub(super) default_branch_segments: DefaultBranchSegments,
    /// Whether reconciled segments are included.
    pub(super) with_reconciled: bool,
}

impl Scope {
    /// The files: main first, then files with records that are not in main.
    pub(super) fn files(&mut self, inputs: &ScopeInputs<'_>) -> Result<Vec<RecordFile>, ReferenceError> {
        let mut files = RecordFile::of_team(inputs.home);
        self.refresh(inputs)?;
        let named = inputs.default_branch.or(self.checkout.default_branch.as_deref());
        let default_branch_segments = named.is_some() && named == self.checkout.branch.as_deref();
        if default_branch_segments && inputs.default_branch_segments == DefaultBranchSegments::Main {
            files.extend(self.withdrawn());
            return Ok(files);
        }
        let own_only = default_branch_segments && inputs.default_branch_segments == DefaultBranchSegments::Own;
        let (mut origins, mut any_grown) = (HashMap::new(), false);
        let team = files.len();
        for (file, is_shared) in self.candidates(inputs) {
            let is_foreign = own_only && is_shared && !session(&file).is_some_and(|id| self.recorded.has(id));
            let compared = self.taken.compare(&file, inputs.home);
            match compared.filter(|_| !inputs.with_reconciled) {
                Some(Ordering::Greater) => any_grown = true,
                Some(_) => continue,
                None => {}
            }
            if self.is_tracked(&file) || inputs.home.worktree().is_none() {
                files.push(match file {
                    RecordFile::Home(path) if is_foreign => RecordFile::Stated(path),
                    file => file,
                });
                continue;
            }
            if is_foreign {
                continue;
            }
            let origin = self.origin(&file, inputs.home);
            if self.belongs_here(&origin, inputs.home)? {
                files.push(file.clone());
            }
            origins.insert(file, origin);
        }
        self.origins = origins;
        if any_grown {
            files.splice(team..team, RecordFile::of(inputs.home, PRUNED));
        }
        files.extend(self.withdrawn());
        Ok(files)
    }

    /// The withdrawn records, if there are any.
    fn withdrawn(&self) -> Option<RecordFile> {
        let records = &self.withdrawn.records;
        (!records.is_empty()).then(|| RecordFile::Withdrawn(records.clone()))
    }

    /// Returns whether a session was recorded in this worktree.
    pub(super) fn is_own(&mut self, spool: &Spool, session: &str) -> bool {
        self.recorded.refresh(spool);
        self.recorded.has(session)
    }

    /// Returns whether a segment was reconciled.
    pub(super) fn is_reconciled(&mut self, file: &RecordFile, home: &Home) -> bool {
        self.taken.refresh(home);
        self.taken.compare(file, home).is_some()
    }

    fn refresh(&mut self, inputs: &ScopeInputs<'_>) -> Result<(), ReferenceError> {
        let checkout = inputs.home.checkout()?;
        if checkout != self.checkout {
            self.merged.clear();
        }
        self.checkout = checkout;
        self.recorded.refresh(inputs.spool);
        if let Some(worktree) = inputs.home.worktree() {
            let index = stamp(&worktree.git_dir().join("index"));
            if (index.is_none() || index != self.tracked.index)
                && let Ok(directory) = RelPath::new(SESSIONS)
            {
                let files = worktree.tracked_in(&directory);
                self.tracked = TrackedSegments { index, files };
            }
        }
        self.taken.refresh(inputs.home);
        let at = (self.checkout.head.clone(), self.taken.log);
        if at != self.withdrawn.at {
            let head = inputs.home.worktree().zip(at.0.as_deref());
            let records = head.map(|(worktree, head)| WithdrawnRecords::at(worktree, head, &self.taken.segments));
            self.withdrawn = CachedWithdrawal { at, records: records.unwrap_or_default() };
        }
        Ok(())
    }

    /// All files but main, each with whether other people can have written it.
    fn candidates(&self, inputs: &ScopeInputs<'_>) -> Vec<(RecordFile, bool)> {
        let shared = |path: PathBuf| {
            let relative = path.strip_prefix(inputs.home.root()).ok()?;
            Some((RecordFile::Home(RelPath::from_relative(relative)?), true))
        };
        let own = |path: &Path| (RecordFile::State(path.to_owned()), false);
        let sessions = inputs.home.root().join(inputs.home.path(SESSIONS));
        let at_home = segments_in(&sessions).unwrap_or_default();
        let outside = segments_in(inputs.local_segments).unwrap_or_default();
        let mut candidates: Vec<_> = at_home.into_iter().filter_map(shared).collect();
        candidates.extend(outside.iter().map(|path| own(path)));
        candidates.extend(self.recorded.files().map(own));
        candidates
    }

    fn is_tracked(&self, file: &RecordFile) -> bool {
        matches!(file, RecordFile::Home(path) if self.tracked.files.contains(path))
    }

    fn origin(&mut self, file: &RecordFile, home: &Home) -> FileOrigin {
        let stamp = file.metadata(home).ok().and_then(|metadata| stamp_of(&metadata));
        if let Some(known) = self.origins.remove(file)
            && stamp.is_some()
            && known.stamp == stamp
        {
            return known;
        }
        let origin = file.first(home).map(|record| record.origin).unwrap_or_default();
        FileOrigin { stamp, branch: origin.branch, commit: origin.commit }
    }

    /// Returns whether records of this origin belong to the checkout.
    fn belongs_here(&mut self, origin: &FileOrigin, home: &Home) -> Result<bool, ReferenceError> {
        let Some(name) = origin.branch.as_ref().or(origin.commit.as_ref()) else {
            return Ok(false);
        };
        if let Some(known) = self.merged.get(name) {
            return Ok(*known);
        }
        let belongs_here = home.holds(origin.branch.as_deref(), origin.commit.as_slice())?;
        self.merged.insert(name.clone(), belongs_here);
        Ok(belongs_here)
    }
}

impl ReconciledLog {
    /// Reads the log if it changed. Unreadable lines are ignored: recalling a duplicate is better than missing a
    /// record.
    fn refresh(&mut self, home: &Home) {
        let Some(file) = RecordFile::of(home, RECONCILED) else {
            return;
        };
        let log = file.metadata(home).ok().and_then(|metadata| stamp_of(&metadata));
        if log.is_some() && log == self.log {
            return;
        }
        let mut segments = ReconciledSegments::default();
        if log.is_some()
            && let Ok(opened) = file.open(home)
        {
            lines::read(BufReader::new(opened), |_, record| segments.take(&record), |_| {}).ok();
        }
        *self = Self { log, segments };
    }

    /// Compares a segment's length with its reconciled length; `None` if it was never reconciled.
    fn compare(&self, file: &RecordFile, home: &Home) -> Option<Ordering> {
        let RecordFile::Home(path) = file else { return None };
        let bytes = || Some(file.metadata(home).ok()?.len());
        self.segments.compare(path.file_name(), bytes)
    }
}

/// The session id in a segment's name.
fn session(file: &RecordFile) -> Option<&str> {
    let RecordFile::Home(path) = file else { return None };
    Segments::parse_name(path.file_name()).map(|(session, _)| session)
}

fn stamp(path: &Path) -> Option<SizeAndTime> {
    stamp_of(&fs::metadata(path).ok()?)
}

fn stamp_of(metadata: &fs::Metadata) -> Option<SizeAndTime> {
    Some((metadata.len(), metadata.modified().ok()?))
}
