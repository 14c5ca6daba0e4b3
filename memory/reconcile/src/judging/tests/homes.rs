//! The full cycle in each kind of home: learn, flush, recall, delete, reconcile and resolve.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use muninn_base::Clock;
use muninn_base::ids::IdError;
use muninn_recall::{Memories, RecallOptions};
use muninn_team::fixture::Fixture;
use muninn_team::learn::LearnContext;
use muninn_team::records::{Body, MAIN, Record, SESSIONS, kinds};
use muninn_team::store::{Destination, StoreSettings, segments_in};
use muninn_team::{Home, Store};

use super::by_letters;
use crate::{ARCHIVE, Keep, ReconcileOptions, Reconciled, Resolution, open_conflicts, reconcile, resolve};

const DAY: Duration = Duration::from_secs(24 * 3600);

struct MemoryFixture {
    home: Home,
    clock: Clock,
    state: tempfile::TempDir,
    /// The directory of the home, removed on drop.
    _directories: (Option<Fixture>, tempfile::TempDir),
}

impl MemoryFixture {
    fn of(home: impl FnOnce(&Path, &Path) -> (Home, Option<Fixture>)) -> MemoryFixture {
        let (state, context) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (home, repository) = home(state.path(), context.path());
        MemoryFixture {
            home,
            clock: Clock::fixed("2026-01-02T10:00:00Z".parse().unwrap()),
            state,
            _directories: (repository, context),
        }
    }

    /// One fixture per kind of home.
    fn all() -> [MemoryFixture; 3] {
        let repository = MemoryFixture::of(|_, _| {
            let repository = Fixture::with(&[("a.txt", "x"), (MAIN, "")]);
            repository.commit();
            (repository.home(), Some(repository))
        });
        let state = MemoryFixture::of(|state, _| (Home::State(state.join("personal")), None));
        [repository, state, MemoryFixture::directory()]
    }

    fn directory() -> MemoryFixture {
        MemoryFixture::of(|_, context| (Home::Directory(context.to_owned()), None))
    }

    fn store(&self) -> Store {
        let settings = StoreSettings::default();
        Store::at(self.home.clone(), self.state.path(), settings, self.clock.clone())
    }

    fn learn(&self, session: &str, text: &str) -> Record {
        let body = kinds::Learning { text: text.to_owned(), ..kinds::Learning::default() };
        self.keep(session, Body::Learning(body))
    }

    fn keep(&self, session: &str, body: Body) -> Record {
        let mut kept = Vec::new();
        let learn = |origin| {
            let context = LearnContext { home: &self.home, clock: &self.clock, origin, with_text: true };
            kept.push(context.record(body, &[]));
            kept.clone()
        };
        assert!(self.store().keep(session, None, learn).unwrap());
        kept.remove(0)
    }

    /// The recalled texts.
    fn recalled(&self) -> Vec<String> {
        let memories = Memories::load_from(&self.home, &self.store().files().unwrap().into(), None, None);
        let recalled = memories.recall("What about indexing?", &RecallOptions::default());
        let texts = recalled.iter().map(|recalled| memories.get(recalled.doc).unwrap().text.clone());
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    }

    fn reconcile(&self, dry_run: bool) -> Reconciled {
        let options = ReconcileOptions { dry_run, ..ReconcileOptions::default() };
        reconcile(&self.store(), options, &by_letters(), &mut |_| {}).unwrap()
    }

    /// The file that corresponds to a path in a repository.
    fn path(&self, in_repository: &str) -> PathBuf {
        self.home.root().join(self.home.path(in_repository))
    }

    fn main(&self) -> Vec<Record> {
        let text = fs::read_to_string(self.path(MAIN)).unwrap_or_default();
        text.lines().map(|line| Record::parse(line).unwrap()).collect()
    }
}

#[test]
fn full_cycle_works_in_every_home() {
    for stage in MemoryFixture::all() {
        let store = stage.store();
        let alpha = stage.learn("one", "is alpha indexing");
        assert_eq!(&*alpha.ts, "2026-01-02T10:00:00.000Z");
        assert_eq!(stage.recalled(), ["is alpha indexing"], "before the run");
        let flushed = store.flush(Destination::Home).unwrap();
        let segment = format!("{}/{}", stage.home.path(SESSIONS), flushed.segments[0]);
        let files: Vec<String> = store.files().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(files, [stage.home.path(MAIN), segment.as_str()]);
        assert_eq!(stage.recalled(), ["is alpha indexing"]);

        stage.clock.advance(DAY);
        let not_alpha = stage.learn("two", "not alpha indexing");
        let bravo = stage.learn("two", "is bravo indexing");
        assert!(alpha.id < not_alpha.id && not_alpha.id < bravo.id);
        assert_eq!(store.named_memories().unwrap().find(&bravo.id.to_lowercase()).unwrap().source, bravo.id);
        let forget = bravo.id.clone();
        stage.keep("by hand", Body::Tombstone(kinds::Tombstone { forget }));
        assert!(matches!(store.named_memories().unwrap().find(&bravo.id), Err(IdError::Unknown { .. })));
        assert_eq!(stage.recalled(), ["is alpha indexing", "not alpha indexing"]);
        // In a repository the segments of one day are combined before git tracks them.
        let of_day = if stage.home.worktree().is_some() { 1 } else { 2 };
        assert_eq!(store.flush(Destination::Home).unwrap().segments.len(), of_day);

        assert_eq!(stage.reconcile(true).segments.len(), of_day + 1);
        assert!(stage.main().is_empty(), "a dry run writes nothing");
        let done = stage.reconcile(false);
        let summary = done.summary;
        assert_eq!((summary.consolidated, summary.undecided, summary.open), (4, 1, 1));
        assert_eq!((done.segments.len(), done.notes.len()), (of_day + 1, 0), "{:?}", done.notes);
        assert!(segments_in(&stage.path(SESSIONS)).unwrap().is_empty());
        assert_eq!(stage.recalled(), ["is alpha indexing", "not alpha indexing"]);

        let open = open_conflicts(&stage.home).unwrap();
        let sides: Vec<&str> = open.iter().flat_map(|open| [&*open.sides[0].id, &*open.sides[1].id]).collect();
        assert_eq!(sides, [&alpha.id, &not_alpha.id]);
        stage.clock.advance(DAY);
        let decision = resolve(&store, &open[0].id, &Resolution::Keep(Keep::Right), None).unwrap();
        assert_eq!(&*decision.ts, "2026-01-04T10:00:00.000Z");
        assert_eq!(decision.origin.branch.is_some(), stage.home.worktree().is_some());
        assert!(open_conflicts(&stage.home).unwrap().is_empty());
        assert_eq!(stage.recalled(), ["not alpha indexing"]);
        let kinds = stage.main();
        let mut kinds: Vec<&str> = kinds.iter().map(|record| record.body.kind()).collect();
        kinds.sort_unstable();
        let expected = ["conflict", "decision", "learning", "learning", "learning", "tombstone"];
        assert_eq!(kinds, expected);
        assert_eq!(store.problems(), [] as [String; 0]);
        assert_eq!(stage.reconcile(false).summary.consolidated, 0, "the next run has nothing to do");
    }
}

#[test]
fn invalid_lines_are_reported_and_kept_in_every_home() {
    for stage in MemoryFixture::all() {
        stage.learn("one", "is alpha indexing");
        stage.store().flush(Destination::Home).unwrap();
        fs::write(stage.path(MAIN), "no record\n").unwrap();
        let context = format!("{}:1: no record", stage.home.path(MAIN));
        let problems = stage.store().problems();
        assert!(problems.len() == 1 && problems[0].starts_with(&context), "{problems:?}");
        let note = stage.reconcile(false).notes.remove(0);
        let kept = format!("the file is kept as {}/main-", stage.home.path(ARCHIVE));
        assert!(note.contains(&kept), "{note}");
        let kept = fs::read_dir(stage.path(ARCHIVE)).unwrap().flatten().next().unwrap();
        assert_eq!(fs::read_to_string(kept.path()).unwrap(), "no record\n");
        assert_eq!(stage.recalled(), ["is alpha indexing"]);
    }
}

#[test]
fn pruned_records_stay_in_the_home() {
    let prune = ReconcileOptions { max_main_bytes: Some(1), archive: true, ..ReconcileOptions::default() };
    for stage in MemoryFixture::all() {
        stage.learn("one", "is alpha indexing");
        stage.store().flush(Destination::Home).unwrap();
        let done = reconcile(&stage.store(), prune, &by_letters(), &mut |_| {}).unwrap();
        assert_eq!((done.pruned, stage.main().len()), (1, 0));
        for file in [crate::PRUNED, crate::SESSIONS_ARCHIVE] {
            assert_eq!(fs::read_to_string(stage.path(file)).unwrap().lines().count(), 1, "{file}");
        }
        assert_eq!(stage.recalled(), [] as [&str; 0]);
    }
}

#[test]
fn local_segments_are_recalled_in_every_home() {
    for stage in MemoryFixture::all() {
        stage.learn("one", "is alpha indexing");
        assert_eq!(stage.store().flush(Destination::State).unwrap().records, 1);
        assert!(segments_in(&stage.path(SESSIONS)).unwrap().is_empty());
        assert_eq!(stage.recalled(), ["is alpha indexing"]);
    }
}

#[test]
fn without_git_all_segments_count() {
    let stage = MemoryFixture::directory();
    fs::create_dir(stage.path(SESSIONS)).unwrap();
    let line = r#"{"id":"1","ts":"t","type":"learning","text":"is alpha indexing","branch":"feature"}"#;
    fs::write(stage.path(SESSIONS).join("session_X.0.jsonl"), line.to_owned() + "\n").unwrap();
    assert_eq!(stage.recalled(), ["is alpha indexing"]);
    assert_eq!(stage.store().foreign_branch().unwrap(), None);
    assert_eq!(stage.reconcile(false).summary.consolidated, 1);
    let top = fs::read_dir(stage.home.root()).unwrap().flatten();
    let mut top: Vec<_> = top.map(|entry| entry.file_name().into_string().unwrap()).collect();
    top.sort();
    let expected = ["cache", "conflicts.jsonl", "main.jsonl", "reconciled.jsonl", "sessions"];
    assert_eq!(top, expected, "no files for git");
}

#[cfg(unix)]
#[test]
fn links_out_of_every_home_are_refused() {
    for stage in MemoryFixture::all() {
        let outside = tempfile::tempdir().unwrap();
        let line = r#"{"id":"1","type":"learning","text":"is alpha indexing"}"#;
        fs::write(outside.path().join("main.jsonl"), line).unwrap();
        fs::create_dir_all(stage.path(MAIN).parent().unwrap()).unwrap();
        fs::remove_file(stage.path(MAIN)).ok();
        std::os::unix::fs::symlink(outside.path().join("main.jsonl"), stage.path(MAIN)).unwrap();
        assert_eq!(stage.recalled(), [] as [&str; 0]);
        assert!(open_conflicts(&stage.home).is_err());
        let refused = reconcile(&stage.store(), ReconcileOptions::default(), &by_letters(), &mut |_| {});
        assert!(refused.is_err());
        assert_eq!(fs::read_to_string(outside.path().join("main.jsonl")).unwrap(), line);
    }
}
