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

use super::{OnDefault, segments_in};
use crate::records::{Home, PRUNED, RECONCILED, RecordFile, Recorded, SESSIONS, Segments, Spool, TakenIn, lines};

/// What was found out, for the next time.
#[derive(Debug, Default)]
pub(super) struct Scope {
    checkout: Checkout,
    recorded: Recorded,
    /// Whether branches, or commits of a detached HEAD, are part of what is checked out.
    merged: HashMap<String, bool>,
    beginnings: HashMap<RecordFile, Beginning>,
    tracked: Tracked,
    taken: Taken,
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

/// The segments that main has taken in.
#[derive(Debug, Default)]
struct Taken {
    log: Option<Stamp>,
    segments: TakenIn,
}

/// The places that are looked at.
pub(super) struct Places<'a> {
    pub(super) home: &'a Home,
    pub(super) spool: &'a Spool,
    pub(super) local_segments: &'a Path,
    /// The name of the default branch, where a person has said it.
    pub(super) default_branch: Option<&'a str>,
    pub(super) on_default: OnDefault,
    /// Whether segments that main has taken in are wanted as well.
    pub(super) with_taken: bool,
}

impl Scope {
    /// The files: main, and then what is not in main.
    pub(super) fn files(&mut self, places: &Places<'_>) -> Vec<RecordFile> {
        let mut files = RecordFile::of_team(places.home);
        self.look(places);
        let named = places.default_branch.or(self.checkout.default_branch.as_deref());
        let on_default = named.is_some() && named == self.checkout.branch.as_deref();
        if on_default && places.on_default == OnDefault::Main {
            return files;
        }
        let own_only = on_default && places.on_default == OnDefault::Own;
        let (mut beginnings, mut has_grown) = (HashMap::new(), false);
        let team = files.len();
        for (file, is_shared) in self.candidates(places) {
            let is_foreign = own_only && is_shared && !session(&file).is_some_and(|id| self.recorded.has(id));
            if is_foreign {
                continue;
            }
            match self.beside_taken(&file, places) {
                Some(Ordering::Greater) => has_grown = true,
                Some(_) => continue,
                None => {}
            }
            if self.is_tracked(&file) || places.home.worktree().is_none() {
                files.push(file);
                continue;
            }
            let beginning = self.beginning(&file, places.home);
            if self.is_part(&beginning, places.home) {
                files.push(file.clone());
            }
            beginnings.insert(file, beginning);
        }
        self.beginnings = beginnings;
        if has_grown {
            files.splice(team..team, RecordFile::of(places.home, PRUNED));
        }
        files
    }

    fn look(&mut self, places: &Places<'_>) {
        let checkout = places.home.checkout();
        if checkout != self.checkout {
            self.merged.clear();
        }
        self.checkout = checkout;
        self.recorded.refresh(places.spool);
        if let Some(worktree) = places.home.worktree() {
            let index = stamp(&worktree.git_dir().join("index"));
            if (index.is_none() || index != self.tracked.index)
                && let Ok(directory) = RelPath::new(SESSIONS)
            {
                let files = worktree.tracked_in(&directory);
                self.tracked = Tracked { index, files };
            }
        }
        self.taken.look(places.home);
    }

    /// How long a segment is beside what main has of it; `None` where main has nothing, or that is not asked.
    fn beside_taken(&self, file: &RecordFile, places: &Places<'_>) -> Option<Ordering> {
        let RecordFile::Home(path) = file else { return None };
        let bytes = || Some(file.metadata(places.home).ok()?.len());
        let beside = self.taken.segments.compare(path.file_name(), bytes);
        beside.filter(|_| !places.with_taken)
    }

    /// Everything but main, and whether others can have put it there.
    fn candidates(&self, places: &Places<'_>) -> Vec<(RecordFile, bool)> {
        let shared = |path: PathBuf| {
            let relative = path.strip_prefix(places.home.root()).ok()?;
            Some((RecordFile::Home(RelPath::from_relative(relative)?), true))
        };
        let own = |path: &Path| (RecordFile::State(path.to_owned()), false);
        let sessions = places.home.root().join(places.home.path(SESSIONS));
        let at_home = segments_in(&sessions).unwrap_or_default();
        let outside = segments_in(places.local_segments).unwrap_or_default();
        let mut candidates: Vec<_> = at_home.into_iter().filter_map(shared).collect();
        candidates.extend(outside.iter().map(|path| own(path)));
        candidates.extend(self.recorded.files().map(own));
        candidates
    }

    fn is_tracked(&self, file: &RecordFile) -> bool {
        matches!(file, RecordFile::Home(path) if self.tracked.files.contains(path))
    }

    fn beginning(&mut self, file: &RecordFile, home: &Home) -> Beginning {
        let stamp = file.metadata(home).ok().and_then(|metadata| stamp_of(&metadata));
        if let Some(known) = self.beginnings.remove(file)
            && stamp.is_some()
            && known.stamp == stamp
        {
            return known;
        }
        let origin = file.first(home).map(|record| record.origin).unwrap_or_default();
        Beginning {
            stamp,
            branch: origin.branch,
            commit: origin.commit,
        }
    }

    /// Whether what was learned there is part of what is checked out.
    fn is_part(&mut self, beginning: &Beginning, home: &Home) -> bool {
        let Some(name) = beginning.branch.as_ref().or(beginning.commit.as_ref()) else {
            return false;
        };
        if let Some(known) = self.merged.get(name) {
            return *known;
        }
        let is_part = home.holds(beginning.branch.as_deref(), beginning.commit.as_slice());
        self.merged.insert(name.clone(), is_part);
        is_part
    }
}

impl Taken {
    /// Reads the log again, where it is another by now. What cannot be read says nothing: duplicates are better than gaps.
    fn look(&mut self, home: &Home) {
        let Some(file) = RecordFile::of(home, RECONCILED) else {
            return;
        };
        let log = file.metadata(home).ok().and_then(|metadata| stamp_of(&metadata));
        if log.is_some() && log == self.log {
            return;
        }
        let mut segments = TakenIn::default();
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

fn stamp(path: &Path) -> Option<Stamp> {
    stamp_of(&fs::metadata(path).ok()?)
}

fn stamp_of(metadata: &fs::Metadata) -> Option<Stamp> {
    Some((metadata.len(), metadata.modified().ok()?))
}
