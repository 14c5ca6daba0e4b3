//! Interrupted indexing, damaged caches, and unusual files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::SystemTime;

use muninn_repo_tools::fixture::Fixture;

use super::*;
use crate::Field;

/// Number of files in the larger fixtures: a few blocks per thread.
const MANY: usize = 1_200;

fn many() -> Fixture {
    let repo = Fixture::with(&[]);
    for number in 0..MANY {
        let text = format!("/// Number {number}.\nfn function_{number}() {{ common(); }}\n");
        repo.write(&format!("src/file_{number}.rs"), text.as_bytes());
    }
    repo
}

fn indexer(cache: &tempfile::TempDir) -> Indexer {
    Indexer::new(Some(cache.path().to_owned()), 1 << 20, Clock::system())
}

/// An indexer with a fixed clock, and a time long before it.
fn indexer_at_noon(cache: &tempfile::TempDir) -> (Indexer, SystemTime) {
    let noon: jiff::Timestamp = "2026-01-02T12:00:00Z".parse().unwrap();
    let indexer = Indexer::new(Some(cache.path().to_owned()), 1 << 20, Clock::fixed(noon));
    (indexer, SystemTime::from(noon) - Duration::from_secs(3600))
}

/// Number of chunks with a word, and number of files.
fn said(snapshot: &Snapshot, term: &str) -> (usize, usize) {
    (snapshot.lookup(Field::Bodies, term).len(), snapshot.len())
}

fn holds(snapshot: &Snapshot, term: &str) -> bool {
    said(snapshot, term).0 > 0
}

fn set_time(repo: &Fixture, path: &str, time: SystemTime) {
    let file = std::fs::File::options().write(true).open(repo.path(path)).unwrap();
    file.set_modified(time).unwrap();
}

/// Panics in the thread that indexes a given file.
struct EndAt(usize);

impl Progress for EndAt {
    fn advance(&self, done: usize, _total: usize) {
        assert_ne!(done, self.0, "interrupted");
    }
}

#[test]
fn interrupted_indexing_resumes() {
    let (repo, cache) = (many(), tempfile::tempdir().unwrap());
    let interrupted =
        catch_unwind(AssertUnwindSafe(|| indexer(&cache).refresh(&repo.worktree(), None, &EndAt(MANY - 10))));
    assert!(interrupted.is_err());
    let refreshed = indexer(&cache).refresh(&repo.worktree(), None, &());
    assert!((256..MANY).contains(&refreshed.reused), "{}", refreshed.reused);
    assert_eq!(refreshed.notes, [] as [String; 0]);
    assert_eq!(said(&refreshed.snapshot.unwrap(), "common"), (MANY, MANY));
    assert_eq!(indexer(&cache).refresh(&repo.worktree(), None, &()).reused, MANY);
}

/// Time at which the first file was indexed.
#[derive(Default)]
struct First(OnceLock<Instant>);

impl Progress for First {
    fn advance(&self, _done: usize, _total: usize) {
        self.0.get_or_init(Instant::now);
    }
}

#[test]
fn walk_time_excludes_reading() {
    let (repo, first) = (many(), First::default());
    let started = Instant::now();
    let refreshed = Indexer::new(None, 1 << 20, Clock::system()).refresh(&repo.worktree(), None, &first);
    let first = first.0.into_inner().unwrap().duration_since(started);
    assert!(!refreshed.walk.is_zero() && refreshed.walk < first);
}

#[test]
fn damage_found_while_indexing_is_repaired_and_reported() {
    let (repo, cache) = (many(), tempfile::tempdir().unwrap());
    indexer(&cache).refresh(&repo.worktree(), None, &());
    image::remove(&WORKTREE, cache.path(), repo.worktree().root());
    let path = cache.path().join("index.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5 * 4096..].fill(0xde);
    std::fs::write(&path, bytes).unwrap();

    let refreshed = indexer(&cache).refresh(&repo.worktree(), None, &());
    assert_eq!(refreshed.notes.len(), 1, "{:?}", refreshed.notes);
    assert!(refreshed.notes[0].contains("was rebuilt"));
    assert_eq!(said(&refreshed.snapshot.unwrap(), "common"), (MANY, MANY));
    let refreshed = indexer(&cache).refresh(&repo.worktree(), None, &());
    assert_eq!((refreshed.reused, refreshed.notes.len()), (MANY, 0));
}

#[test]
fn unwritable_cache_is_dropped_and_reported_once() {
    let (repo, cache) = (Fixture::with(&[("a.rs", "fn apple() {}\n")]), tempfile::tempdir().unwrap());
    drop(Cache::open(cache.path()).unwrap());
    let full = "CREATE TRIGGER full BEFORE INSERT ON blobs BEGIN SELECT RAISE(ABORT, 'no space'); END";
    let database = rusqlite::Connection::open(cache.path().join("index.db")).unwrap();
    database.execute_batch(full).unwrap();

    let mut indexer = indexer(&cache);
    let first = indexer.refresh(&repo.worktree(), None, &());
    assert_eq!(first.notes.len(), 1, "{:?}", first.notes);
    assert!(first.notes[0].contains("no space"));
    repo.write("b.rs", b"fn pear() {}\n");
    let second = indexer.refresh(&repo.worktree(), first.snapshot.as_ref(), &());
    assert_eq!(second.notes, [] as [String; 0]);
    assert!(holds(&second.snapshot.unwrap(), "pear"));
}

#[test]
fn file_that_was_text_in_between_is_binary_again() {
    let (repo, cache) = (Fixture::with(&[]), tempfile::tempdir().unwrap());
    let worktree = repo.worktree();
    let (mut indexer, time) = indexer_at_noon(&cache);
    let write = |bytes: &[u8]| {
        repo.write("a.txt", bytes);
        set_time(&repo, "a.txt", time);
    };
    write(b"\0binary");
    assert!(indexer.refresh(&worktree, None, &()).snapshot.is_none());
    write(b"pear tree");
    let text = indexer.refresh(&worktree, None, &()).snapshot.unwrap();
    assert!(holds(&text, "pear"));
    write(b"\0binary");
    let binary = indexer.refresh(&worktree, Some(&text), &()).snapshot.unwrap();
    assert!(binary.is_empty());
}

#[test]
fn named_file_is_read_despite_equal_time() {
    let (repo, cache) = (Fixture::with(&[("a.rs", "fn apple() {}\n")]), tempfile::tempdir().unwrap());
    let (mut indexer, time) = indexer_at_noon(&cache);
    set_time(&repo, "a.rs", time);
    let first = indexer.refresh(&repo.worktree(), None, &()).snapshot.unwrap();
    repo.write("a.rs", b"fn peach() {}\n");
    set_time(&repo, "a.rs", time);

    let named = BTreeSet::from([RelPath::new("a.rs").unwrap()]);
    let second = indexer.refresh_at(&repo.worktree(), &first, &named).snapshot.unwrap();
    assert!(holds(&second, "peach") && !holds(&second, "apple"));
    assert!(indexer.refresh_at(&repo.worktree(), &second, &named).snapshot.is_none(), "nothing changed");
}

#[test]
fn image_of_a_removed_worktree_is_deleted() {
    let (one, other) = (Fixture::with(&[("a.rs", "x")]), Fixture::with(&[("b.rs", "y")]));
    let cache = tempfile::tempdir().unwrap();
    let images = || {
        let names = std::fs::read_dir(cache.path()).unwrap().flatten();
        names.filter(|entry| entry.path().extension().is_some_and(|end| end == "idx")).count()
    };
    indexer(&cache).refresh(&one.worktree(), None, &());
    assert_eq!(images(), 1);
    drop(one);
    indexer(&cache).refresh(&other.worktree(), None, &());
    assert_eq!(images(), 1);
}
