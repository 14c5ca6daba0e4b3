use super::*;

const FORM: &str = "test.1";

fn blob(content: &str) -> BlobId {
    BlobId::of(content.as_bytes()).unwrap()
}

fn store(cache: &mut Cache, content: &str, value: &str) {
    cache.store(&[(FORM, blob(content), encoded(&value))]).unwrap();
}

fn get(cache: &Cache, content: &str) -> Option<String> {
    cache.get(FORM, &blob(content))
}

#[test]
fn stored_values_are_returned() {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(&dir.path().join("deep/er")).unwrap();
    store(&mut cache, "x", "value of x");
    drop(cache);
    let cache = Cache::open(&dir.path().join("deep/er")).unwrap();
    assert!(!cache.was_rebuilt());
    assert_eq!(get(&cache, "x").as_deref(), Some("value of x"));
    assert_eq!(get(&cache, "y"), None);
    assert_eq!(cache.get::<String>("test.2", &blob("x")), None, "another form");
}

#[test]
fn commits_are_kept_by_form() {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(dir.path()).unwrap();
    let [one, two] = [[1u8; 20], [2u8; 20]].map(|bytes| ObjectId::from_bytes(&bytes).unwrap());
    cache.store_commits(FORM, [(two, &"two".to_owned())].into_iter()).unwrap();
    let found: Vec<Option<String>> = cache.of_commits(FORM, &[one, two]);
    assert_eq!(found, [None, Some("two".to_owned())]);
    assert_eq!(cache.of_commits::<String>("test.2", &[two]), [None], "another form");
}

#[test]
fn damaged_or_old_cache_is_rebuilt_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    std::fs::write(&path, "this is no database, and long enough to be taken for one".repeat(50)).unwrap();
    let mut cache = Cache::open(dir.path()).unwrap();
    assert!(cache.was_rebuilt());
    store(&mut cache, "x", "value");
    cache.connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1).unwrap();
    drop(cache);
    let cache = Cache::open(dir.path()).unwrap();
    assert!(cache.was_rebuilt());
    assert_eq!(get(&cache, "x"), None);
}

/// Overwrites all pages except those with the schema.
fn damage_pages(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    assert!(bytes.len() > 10 * 4096, "there is something to damage");
    bytes[5 * 4096..].fill(0xde);
    std::fs::write(path, bytes).unwrap();
}

fn store_many(cache: &mut Cache) {
    let values: Vec<_> = (0..400).map(|n| (FORM, blob(&n.to_string()), encoded(&"x".repeat(500)))).collect();
    cache.store(&values).unwrap();
}

#[test]
fn damage_found_on_write_is_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(dir.path()).unwrap();
    store_many(&mut cache);
    drop(cache);
    damage_pages(&dir.path().join(FILE));
    let mut cache = Cache::open(dir.path()).unwrap();
    assert!(!cache.was_rebuilt(), "it does not show yet");
    store_many(&mut cache);
    assert!(cache.was_rebuilt());
    assert!(get(&cache, "7").is_some());
    drop(cache);
    let cache = Cache::open(dir.path()).unwrap();
    assert!(!cache.was_rebuilt() && get(&cache, "7").is_some());
}

#[test]
fn open_cache_continues_after_a_rebuild() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Cache::open(dir.path()).unwrap();
    store_many(&mut other);
    Disposable::reset(&dir.path().join(FILE), SCHEMA, SCHEMA_VERSION).unwrap();
    assert_eq!(get(&other, "7"), None);
    store(&mut other, "x", "value");
    drop(other);
    assert_eq!(get(&Cache::open(dir.path()).unwrap(), "x").as_deref(), Some("value"));
}

#[test]
fn value_with_a_flipped_bit_is_absent() {
    let dir = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(dir.path()).unwrap();
    let whole = encoded(&"value");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        cache.store(&[(FORM, blob("x"), bytes)]).unwrap();
        assert_eq!(get(&cache, "x"), None, "byte {at}");
    }
    cache.store(&[(FORM, blob("x"), whole)]).unwrap();
    assert_eq!(get(&cache, "x").as_deref(), Some("value"));
}

#[test]
fn removed_worktrees_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("worktree");
    std::fs::create_dir(&root).unwrap();
    let mut cache = Cache::open(&dir.path().join("cache")).unwrap();
    assert_eq!(cache.in_use(&root, &[blob("x")]).unwrap(), [] as [PathBuf; 0]);
    std::fs::remove_dir(&root).unwrap();
    assert_eq!(cache.in_use(dir.path(), &[blob("y")]).unwrap(), [root]);
    assert_eq!(cache.blobs(), HashSet::from([blob("y")]));
    assert_eq!(cache.in_use(dir.path(), &[]).unwrap(), [] as [PathBuf; 0]);
}

#[test]
fn uncreatable_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    assert!(matches!(Cache::open(&dir.path().join("file/cache")), Err(CacheError::Directory { .. })));
}

#[test]
fn concurrent_creation_waits() {
    let dir = tempfile::tempdir().unwrap();
    let maker = Connection::open(dir.path().join(FILE)).unwrap();
    maker.execute_batch("BEGIN EXCLUSIVE; CREATE TABLE made (it)").unwrap();
    std::thread::scope(|scope| {
        let (sender, opened) = std::sync::mpsc::channel();
        let dir = dir.path();
        scope.spawn(move || sender.send(Cache::open(dir).is_ok()).unwrap());
        assert!(opened.recv_timeout(Duration::from_millis(200)).is_err(), "did not wait");
        maker.execute_batch("ROLLBACK").unwrap();
        assert!(opened.recv().unwrap());
    });
}

#[test]
fn concurrent_writers_do_not_conflict() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let dir = dir.path();
            scope.spawn(move || {
                let mut cache = Cache::open(dir).unwrap();
                (0..20).for_each(|n| store(&mut cache, &format!("{writer}-{n}"), "value"));
            });
        }
    });
    let cache = Cache::open(dir.path()).unwrap();
    assert!(!cache.was_rebuilt());
    assert!((0..4).all(|writer| (0..20).all(|n| get(&cache, &format!("{writer}-{n}")).is_some())));
}
