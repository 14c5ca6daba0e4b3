//! Which files of records belong to what is checked out.
//!
//! On the default branch that is main, and what this worktree's own sessions learned and nobody has reconciled yet, so
//! that a developer alone is not without memory. On another branch it is main and the segments there. Beside these stand
//! records that wait in the spool. What was learned on a branch that is not merged into this one belongs to neither,
//! wherever it lies: a segment that git does not track stays in the worktree when another branch is checked out. Nor does
//! a segment that main has taken in already, as one does that a late merge brings back: what was pruned, forgotten or
//! folded since must not come back with it.
//!
//! It is asked before each question, so what can be known from a file's metadata is not read again.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use muninn_repo_tools::{Checkout, RelPath};

use super::{DefaultBranchSegments, segments_in};
use crate::records::{
    Home, PRUNED, RECONCILED, ReconciledSegments, RecordFile, SESSIONS, Segments, Spool, SpoolView, lines,
};

/// What was found out, for the next time.
#[derive(Debug, Default)]
pub(super) struct Scope {
    checkout: Checkout,
    recorded: SpoolView,
    /// Whether branches, or commits of a detached HEAD, are part of what is checked out.
    merged: HashMap<String, bool>,
    origins: HashMap<RecordFile, FileOrigin>,
    tracked: TrackedSegments,
    taken: ReconciledLog,
}

/// Where the records of a file were learned. All of them were learned on one branch.
#[derive(Debug, Clone)]
struct FileOrigin {
    stamp: Option<SizeAndTime>,
    branch: Option<String>,
    commit: Option<String>,
}

/// A size in bytes, and when it was modified.
type SizeAndTime = (u64, SystemTime);

/// The segments that git tracks.
#[derive(Debug, Default)]
struct TrackedSegments {
    index: Option<SizeAndTime>,
    files: BTreeSet<RelPath>,
}

/// The segments that main has taken in.
#[derive(Debug, Default)]
struct ReconciledLog {
    log: Option<SizeAndTime>,
    segments: ReconciledSegments,
}

/// The inputs that are looked at.
pub(super) struct ScopeInputs<'a> {
    pub(super) home: &'a Home,
    pub(super) spool: &'a Spool,
    pub(super) local_segments: &'a Path,
    /// The name of the default branch, where a person has said it.
    pub(super) default_branch: Option<&'a str>,
    pub(super) default_branch_segments: DefaultBranchSegments,
    /// Whether segments that main has taken in are wanted as well.
    pub(super) with_taken: bool,
}

impl Scope {
    /// The files: main, and then what is not in main.
    pub(super) fn files(&mut self, inputs: &ScopeInputs<'_>) -> Vec<RecordFile> {
        let mut files = RecordFile::of_team(inputs.home);
        self.look(inputs);
        let named = inputs.default_branch.or(self.checkout.default_branch.as_deref());
        let default_branch_segments = named.is_some() && named == self.checkout.branch.as_deref();
        if default_branch_segments && inputs.default_branch_segments == DefaultBranchSegments::Main {
            return files;
        }
        let own_only = default_branch_segments && inputs.default_branch_segments == DefaultBranchSegments::Own;
        let (mut origins, mut has_grown) = (HashMap::new(), false);
        let team = files.len();
        for (file, is_shared) in self.candidates(inputs) {
            let is_foreign = own_only && is_shared && !session(&file).is_some_and(|id| self.recorded.has(id));
            if is_foreign {
                continue;
            }
            match self.beside_taken(&file, inputs) {
                Some(Ordering::Greater) => has_grown = true,
                Some(_) => continue,
                None => {}
            }
            if self.is_tracked(&file) || inputs.home.worktree().is_none() {
                files.push(file);
                continue;
            }
            let origin = self.origin(&file, inputs.home);
            if self.is_part(&origin, inputs.home) {
                files.push(file.clone());
            }
            origins.insert(file, origin);
        }
        self.origins = origins;
        if has_grown {
            files.splice(team..team, RecordFile::of(inputs.home, PRUNED));
        }
        files
    }

    fn look(&mut self, inputs: &ScopeInputs<'_>) {
        let checkout = inputs.home.checkout();
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
        self.taken.look(inputs.home);
    }

    /// How long a segment is beside what main has of it; `None` where main has nothing, or that is not asked.
    fn beside_taken(&self, file: &RecordFile, inputs: &ScopeInputs<'_>) -> Option<Ordering> {
        let RecordFile::Home(path) = file else { return None };
        let bytes = || Some(file.metadata(inputs.home).ok()?.len());
        let beside = self.taken.segments.compare(path.file_name(), bytes);
        beside.filter(|_| !inputs.with_taken)
    }

    /// Everything but main, and whether others can have put it there.
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
        FileOrigin {
            stamp,
            branch: origin.branch,
            commit: origin.commit,
        }
    }

    /// Whether what was learned there is part of what is checked out.
    fn is_part(&mut self, origin: &FileOrigin, home: &Home) -> bool {
        let Some(name) = origin.branch.as_ref().or(origin.commit.as_ref()) else {
            return false;
        };
        if let Some(known) = self.merged.get(name) {
            return *known;
        }
        let is_part = home.holds(origin.branch.as_deref(), origin.commit.as_slice());
        self.merged.insert(name.clone(), is_part);
        is_part
    }
}

impl ReconciledLog {
    /// Reads the log again, where it is another by now. What cannot be read says nothing: duplicates are better than gaps.
    fn look(&mut self, home: &Home) {
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
            let _what_was_read_counts = lines::read(BufReader::new(opened), |_, record| segments.take(&record), |_| {});
        }
        *self = Self { log, segments };
    }
}

/// The session in a segment's name.
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
