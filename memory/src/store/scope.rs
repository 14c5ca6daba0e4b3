//! Which files of records belong to what is checked out.
//!
//! On the default branch that is main, and what this worktree's own sessions learned and nobody has reconciled yet, so
//! that a developer alone is not without memory. On another branch it is main and the segments there. Beside these stand
//! records that wait in the spool. What was learned on a branch that is not merged into this one belongs to neither,
//! wherever it lies: a segment that git does not track stays in the worktree when another branch is checked out.
//!
//! It is asked before each question, so what can be known from a file's metadata is not read again.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use muninn_repo_tools::{Checkout, RelPath, Worktree};

use super::{OnDefault, segments_in};
use crate::records::{RecordFile, Recorded, SESSIONS, Segments, Spool};

/// What was found out, for the next time.
#[derive(Debug, Default)]
pub(super) struct Scope {
    checkout: Checkout,
    recorded: Recorded,
    /// Whether branches, or commits of a detached HEAD, are part of what is checked out.
    merged: HashMap<String, bool>,
    beginnings: HashMap<RecordFile, Beginning>,
    tracked: Tracked,
}

/// Where the records of a file were learned. All of them were learned on one branch.
#[derive(Debug, Clone)]
struct Beginning {
    stamp: Option<Stamp>,
    branch: Option<String>,
    commit: Option<String>,
}

/// A size in bytes, and when it was modified.
type Stamp = (u64, SystemTime);

/// The segments that git tracks.
#[derive(Debug, Default)]
struct Tracked {
    index: Option<Stamp>,
    files: BTreeSet<RelPath>,
}

/// The places that are looked at.
pub(super) struct Places<'a> {
    pub(super) worktree: &'a Worktree,
    pub(super) spool: &'a Spool,
    pub(super) local_segments: &'a Path,
    /// The name of the default branch, where a person has said it.
    pub(super) default_branch: Option<&'a str>,
    pub(super) on_default: OnDefault,
}

impl Scope {
    /// The files: main, the open conflicts, and then what is not in main.
    pub(super) fn files(&mut self, places: &Places<'_>) -> Vec<RecordFile> {
        let mut files = RecordFile::of_team();
        self.look(places);
        let named = places.default_branch.or(self.checkout.default_branch.as_deref());
        let on_default = named.is_some() && named == self.checkout.branch.as_deref();
        if on_default && places.on_default == OnDefault::Main {
            return files;
        }
        let own_only = on_default && places.on_default == OnDefault::Own;
        let mut beginnings = HashMap::new();
        for (file, is_shared) in self.candidates(places) {
            let is_foreign = own_only && is_shared && !session(&file).is_some_and(|id| self.recorded.has(id));
            if is_foreign {
                continue;
            }
            if self.is_tracked(&file) {
                files.push(file);
                continue;
            }
            let beginning = self.beginning(&file, places.worktree);
            if self.is_part(&beginning, places.worktree) {
                files.push(file.clone());
            }
            beginnings.insert(file, beginning);
        }
        self.beginnings = beginnings;
        files
    }

    fn look(&mut self, places: &Places<'_>) {
        let checkout = places.worktree.checkout();
        if checkout != self.checkout {
            self.merged.clear();
        }
        self.checkout = checkout;
        self.recorded.refresh(places.spool);
        let index = stamp(&places.worktree.git_dir().join("index"));
        if (index.is_none() || index != self.tracked.index)
            && let Ok(directory) = RelPath::new(SESSIONS)
        {
            let files = places.worktree.tracked_in(&directory);
            self.tracked = Tracked { index, files };
        }
    }

    /// Everything but main, and whether others can have put it there.
    fn candidates(&self, places: &Places<'_>) -> Vec<(RecordFile, bool)> {
        let shared = |path: PathBuf| {
            let relative = path.strip_prefix(places.worktree.root()).ok()?;
            Some((RecordFile::Worktree(RelPath::from_relative(relative)?), true))
        };
        let own = |path: &Path| (RecordFile::State(path.to_owned()), false);
        let in_repository = segments_in(&places.worktree.root().join(SESSIONS)).unwrap_or_default();
        let outside = segments_in(places.local_segments).unwrap_or_default();
        let mut candidates: Vec<_> = in_repository.into_iter().filter_map(shared).collect();
        candidates.extend(outside.iter().map(|path| own(path)));
        candidates.extend(self.recorded.files().map(own));
        candidates
    }

    fn is_tracked(&self, file: &RecordFile) -> bool {
        matches!(file, RecordFile::Worktree(path) if self.tracked.files.contains(path))
    }

    fn beginning(&mut self, file: &RecordFile, worktree: &Worktree) -> Beginning {
        let stamp = file
            .metadata(worktree)
            .ok()
            .and_then(|meta| Some((meta.len(), meta.modified().ok()?)));
        if let Some(known) = self.beginnings.remove(file)
            && stamp.is_some()
            && known.stamp == stamp
        {
            return known;
        }
        let origin = file.first(worktree).map(|record| record.origin).unwrap_or_default();
        Beginning {
            stamp,
            branch: origin.branch,
            commit: origin.commit,
        }
    }

    /// Whether what was learned there is part of what is checked out.
    fn is_part(&mut self, beginning: &Beginning, worktree: &Worktree) -> bool {
        let Some(name) = beginning.branch.as_ref().or(beginning.commit.as_ref()) else {
            return false;
        };
        if let Some(known) = self.merged.get(name) {
            return *known;
        }
        let is_part = match &beginning.branch {
            Some(branch) => worktree.has_branch(branch),
            None => worktree.has_commit(name),
        };
        self.merged.insert(name.clone(), is_part);
        is_part
    }
}

/// The session in a segment's name.
fn session(file: &RecordFile) -> Option<&str> {
    let RecordFile::Worktree(path) = file else { return None };
    Segments::parse_name(path.file_name()).map(|(session, _)| session)
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}
