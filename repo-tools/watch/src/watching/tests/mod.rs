//! Watching real directories with real git. No test waits for a fixed time: `settle` returns when all events have
//! arrived.

mod bounds;
mod directories;
mod files;
mod git;
mod mirror;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use muninn_base::{RelPath, Supervisor};
use muninn_repo_tools::fixture::Fixture;
use muninn_repo_tools::{WalkLimits, Worktree, read_text, walk, walk_at};

use super::{Changes, Scope, Watcher};

/// A timeout that only broken code reaches.
const LONG: Duration = Duration::from_secs(60);

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

impl Changes {
    /// Returns whether the changes include this file or a directory above it.
    fn covers(&self, file: &RelPath) -> bool {
        match self {
            Self::None => false,
            Self::Everything => true,
            Self::Paths(paths) => {
                let path = file.as_str();
                let mut ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
                ends.any(|end| paths.contains(&path[..end]))
            }
        }
    }
}

/// A watched repository, and the files as known from the watcher's reports alone.
struct Watched {
    fixture: Fixture,
    worktree: Worktree,
    watcher: Watcher,
    known: BTreeMap<RelPath, String>,
    /// Reported paths so far, without `Everything`.
    before: BTreeSet<RelPath>,
}

impl Watched {
    fn with(files: &[(&str, &str)]) -> Self {
        let fixture = Fixture::with(files);
        let worktree = fixture.worktree();
        Self::of(fixture, worktree)
    }

    fn of(fixture: Fixture, worktree: Worktree) -> Self {
        let watcher = Watcher::start(Scope::Worktree(worktree.clone()), None, &Supervisor::default()).unwrap();
        let mut watched = Self { fixture, worktree, watcher, known: BTreeMap::new(), before: BTreeSet::new() };
        assert!(watched.watcher.wait_ready(LONG));
        assert_eq!(watched.follow(), Changes::Everything);
        watched
    }

    /// Applies the changes as an index would, and checks that the result equals the worktree.
    fn follow(&mut self) -> Changes {
        let settled = self.watcher.settle(LONG);
        let changes = self.watcher.changes();
        assert!(settled || changes == Changes::Everything);
        self.learn(&changes);
        assert_eq!(self.known, contents(&self.worktree), "told: {changes:?}");
        changes
    }

    fn learn(&mut self, changes: &Changes) {
        match changes {
            Changes::None => {}
            Changes::Everything => self.known = contents(&self.worktree),
            Changes::Paths(paths) => {
                self.known.retain(|file, _| !changes.covers(file));
                let there = walk_at(&self.worktree, &WalkLimits::default(), paths);
                self.known.extend(texts(&self.worktree, there.files));
            }
        }
    }

    /// The changed paths in one line, without descendants of others. Unchanged paths that were known or reported before
    /// are left out: a child process of another test inherits open files, and closes them again later.
    fn reported(&mut self) -> String {
        let old = self.known.clone();
        match self.follow() {
            Changes::None => String::new(),
            Changes::Everything => "everything".to_owned(),
            Changes::Paths(mut paths) => {
                let is_same = |path: &RelPath| {
                    let below = |(file, _): &(&RelPath, &String)| file.is_under(path);
                    old.iter().filter(below).eq(self.known.iter().filter(below))
                };
                let was_known =
                    |path: &RelPath| old.keys().any(|file| file.is_under(path)) || self.before.contains(path);
                paths.retain(|path| !was_known(path) || !is_same(path));
                self.before.extend(paths.iter().cloned());
                // Files of a new directory can be reported too, depending on when its watch was set.
                let below = |path: &RelPath| paths.iter().any(|other| other != path && path.is_under(other));
                words(&paths.iter().filter(|path| !below(path)).cloned().collect())
            }
        }
    }

    /// The watched directories in one line, without the root.
    fn directories(&self) -> String {
        assert!(self.watcher.wait_ready(LONG) && self.watcher.settle(LONG));
        words(&self.watcher.shared.lock().directories)
    }

    /// Waits for `Everything` to be reported at least once and for complete watches. The number of reports depends on
    /// the number of events and the speed of the setter.
    fn wait_for_reset(&mut self) {
        assert_eq!(self.reported(), "everything");
        for _ in 0..10 {
            assert!(self.watcher.wait_ready(LONG));
            if self.reported().is_empty() {
                return;
            }
        }
        panic!("everything is told without end");
    }
}

fn words(paths: &BTreeSet<RelPath>) -> String {
    let paths: Vec<_> = paths.iter().map(RelPath::as_str).collect();
    paths.join(" ")
}

fn contents(worktree: &Worktree) -> BTreeMap<RelPath, String> {
    texts(worktree, walk(worktree, &WalkLimits::default()).files).collect()
}

fn texts(
    worktree: &Worktree,
    files: Vec<muninn_repo_tools::FileEntry>,
) -> impl Iterator<Item = (RelPath, String)> + '_ {
    // A file can be removed after it was listed, by a concurrent writer.
    files.into_iter().filter_map(|file| {
        let text = read_text(worktree, &file.path, 1 << 20).ok()?.text;
        Some((file.path, text))
    })
}

#[test]
fn path_covers_its_descendants() {
    let changes = Changes::Paths(BTreeSet::from([path("a/b"), path("c.rs")]));
    for file in ["a/b", "a/b/c", "a/b/c/d.rs", "c.rs"] {
        assert!(changes.covers(&path(file)), "{file}");
    }
    for file in ["a", "a/bc", "a/c", "c.rs.bak", "b", "x/a/b"] {
        assert!(!changes.covers(&path(file)), "{file}");
    }
    assert!(Changes::Everything.covers(&path("x")) && !Changes::None.covers(&path("x")));
}
