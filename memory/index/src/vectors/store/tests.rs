use std::collections::HashSet;

use super::*;

const DIMENSIONS: usize = 4;

fn open(dir: &Path) -> VectorStore {
    VectorStore::open(dir, "test-1", DIMENSIONS, &Clock::system()).unwrap()
}

fn key(name: &str) -> BlockKey {
    (BlobId::of(name.as_bytes()).unwrap(), "code".to_owned())
}

/// Returns two vectors that are unique to the seed.
fn vectors(seed: i8) -> Vec<i8> {
    vec![seed, 1, 2, 3, seed, -1, -2, -128]
}

#[test]
fn gives_back_what_was_stored_and_to_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let rows =
        open(dir.path()).put(&[(key("a"), vectors(7)), (key("none"), Vec::new()), (key("b"), vectors(9))]).unwrap();
    assert_eq!(rows.iter().map(Rows::count).collect::<Vec<_>>(), [2, 0, 2]);
    let store = open(dir.path());
    assert!(!store.was_rebuilt());
    assert_eq!(store.get(&key("a")).unwrap(), Some(vectors(7)));
    assert_eq!(store.get(&key("none")).unwrap(), Some(Vec::new()));
    assert_eq!(store.get(&(key("a").0, "markdown".to_owned())).unwrap(), None, "another form");
    let mut seen = Vec::new();
    let first = rows[0].row(0);
    store.scan(|row, bytes| seen.push((row - first, bytes[0]))).unwrap();
    assert_eq!(seen, [(0, 7), (1, 7), (2, 9), (3, 9)]);

    for (id, dimensions) in [("test-2", DIMENSIONS), ("test-1", 8)] {
        let other = VectorStore::open(dir.path(), id, dimensions, &Clock::system()).unwrap();
        assert_eq!(other.get(&key("a")).unwrap(), None, "{id} {dimensions}");
        assert!(other.blocks().unwrap().is_empty());
    }
}

#[test]
fn the_first_to_store_a_blob_wins() {
    let dir = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (open(dir.path()), open(dir.path()));
    let first = one.put(&[(key("a"), vectors(1))]).unwrap();
    assert_eq!(two.put(&[(key("a"), vectors(2))]).unwrap(), first);
    assert_eq!(two.get(&key("a")).unwrap(), Some(vectors(1)));
}

#[test]
fn several_writers_at_once_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4i8 {
            let dir = dir.path();
            scope.spawn(move || {
                let mut store = open(dir);
                for n in 0..10 {
                    store.put(&[(key(&format!("{writer}-{n}")), vectors(writer))]).unwrap();
                }
            });
        }
    });
    let store = open(dir.path());
    assert!(!store.was_rebuilt());
    for writer in 0..4i8 {
        for n in 0..10 {
            assert_eq!(store.get(&key(&format!("{writer}-{n}"))).unwrap(), Some(vectors(writer)));
        }
    }
}

#[test]
fn damage_is_begun_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    std::fs::write(&path, "this is no database, and long enough to be taken for one".repeat(50)).unwrap();
    let mut store = open(dir.path());
    assert!(store.was_rebuilt());
    let many: Vec<_> = (0..400).map(|n| (key(&n.to_string()), vectors(1).repeat(16))).collect();
    store.put(&many).unwrap();
    drop(store);

    // Everything except the first page is overwritten. The damage is detected when the embedder is looked up.
    let whole = std::fs::read(&path).unwrap();
    damage(&path, &whole, 1);
    let store = open(dir.path());
    assert!(store.was_rebuilt() && store.blocks().unwrap().is_empty());
    drop(store);

    // Everything except the first pages is overwritten. Opening succeeds, and the damage is detected when the store is
    // read.
    damage(&path, &whole, 3);
    let error = match VectorStore::open(dir.path(), "test-1", DIMENSIONS, &Clock::system()) {
        Err(error) => error,
        Ok(store) => {
            let error = store.blocks().and_then(|_| store.scan(|_, _| {})).unwrap_err();
            assert!(store.empty_if_damaged(&error), "{error:?}");
            return assert!(open(dir.path()).blocks().unwrap().is_empty());
        }
    };
    panic!("a damaged file is no reason to go without: {error:?}");
}

fn damage(path: &Path, whole: &[u8], healthy_pages: usize) {
    let mut bytes = whole.to_vec();
    bytes.iter_mut().skip(healthy_pages * 4096).for_each(|byte| *byte = 0x5a);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn rows_of_an_emptied_store_are_not_taken_for_those_of_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut before = open(dir.path());
    let rows = before.put(&[(key("a"), vectors(1))]).unwrap();
    Disposable::reset(&dir.path().join(FILE), SCHEMA, SCHEMA_VERSION).unwrap();
    let mut after = open(dir.path());
    after.put(&[(key("b"), vectors(2))]).unwrap();
    assert!(!after.row(rows[0].row(0), &mut Vec::new()).unwrap());
}

#[test]
fn a_healthy_store_is_not_emptied() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    store.put(&[(key("a"), vectors(1))]).unwrap();
    let busy = CacheError::Database { path: dir.path().join(FILE), source: rusqlite::Error::InvalidQuery };
    assert!(!store.empty_if_damaged(&busy));
    assert_eq!(open(dir.path()).get(&key("a")).unwrap(), Some(vectors(1)));
}

#[test]
fn what_no_worktree_has_is_swept_once_it_is_much() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path());
    let blocks: Vec<_> = (0..6).map(|n| (key(&n.to_string()), vectors(n))).collect();
    let before = store.put(&blocks).unwrap();
    let live = || HashSet::from([key("0").0, key("1").0]);
    assert_eq!(store.sweep_beyond(4, || panic!("there is no need to know"), 2).unwrap(), 0);
    assert_eq!(store.sweep_beyond(3, live, 2).unwrap(), 4);
    assert_eq!(store.blocks().unwrap().len(), 2);
    assert_eq!(store.get(&key("5")).unwrap(), None);
    assert_eq!(store.get(&key("1")).unwrap(), Some(vectors(1)));
    let rows = store.put(&[(key("new"), vectors(8))]).unwrap();
    assert_eq!(rows[0].row(0), before[5].row(1) + 1, "a row's number is never given to another");
}
