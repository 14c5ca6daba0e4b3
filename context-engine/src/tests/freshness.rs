//! Packs show the current content of the disk, and a refresh reads only changed files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use muninn_base::Progress;

use super::{Repo, ask, assert_spans_are_on_disk, files};
use crate::EngineSettings;

const QUESTION: &str = "how does the ledger replay bookings into balances";

#[test]
fn an_edited_file_is_packed_with_its_current_lines() {
    let repo = Repo::service();
    let engine = repo.ready();
    let text = std::fs::read_to_string(repo.path("src/ledger.rs")).unwrap();
    repo.write("src/ledger.rs", format!("{}{text}", "// A line more.\n".repeat(25)));
    let found = ask(&engine, QUESTION);
    assert!(files(&found).contains(&"src/ledger.rs"));
    assert_spans_are_on_disk(repo.root(), &found);
    assert!(found.items.iter().any(|item| item.text.contains("pub fn replay")));
}

#[test]
fn a_file_without_a_match_any_more_or_missing_is_left_out() {
    let repo = Repo::service();
    let engine = repo.ready();
    repo.write("src/ledger.rs", "fn other() {}\n");
    std::fs::remove_file(repo.path("tests/ledger_replay.rs")).unwrap();
    let found = ask(&engine, QUESTION);
    assert!(!files(&found).iter().any(|file| file.contains("ledger")), "{:?}", files(&found));
    assert_spans_are_on_disk(repo.root(), &found);
}

#[test]
fn a_corrected_memory_counts_at_once() {
    let repo = Repo::service();
    let engine = repo.ready();
    repo.write(".muninn/knowledge/errors.md", "# Colours of the dashboard\nThe dashboard is teal and ochre.\n");
    assert!(
        !files(&ask(&engine, "what do error responses look like, which fields"))
            .contains(&".muninn/knowledge/errors.md")
    );
    let found = ask(&engine, "which colours has the dashboard");
    assert_eq!(found.items[0].source, ".muninn/knowledge/errors.md:1-2");
}

#[test]
fn without_a_watcher_a_question_sees_edits_also_after_a_slow_walk() {
    let repo = Repo::service();
    let engine = Arc::new(repo.engine_with(EngineSettings::default()));
    engine.refuse_watching();
    engine.refresh(&()).unwrap();
    engine.watch();
    assert!(!engine.is_watching());
    // The engine expects the second walk to take longer than the question's deadline.
    for (walk, animal) in [(0, "zebra"), (1 << 40, "okapi"), (1 << 40, "quagga")] {
        let name = format!("src/{animal}.rs");
        repo.write(&name, format!("/// Paints the {animal}.\nfn paint_{animal}() {{}}\n"));
        engine.set_last_walk(walk);
        let found = ask(&engine, &format!("paint the {animal}"));
        assert_eq!(files(&found).first(), Some(&name.as_str()));
    }
}

#[test]
fn questions_at_once_each_see_the_edit_before_them() {
    let repo = Repo::service();
    for watches in [true, false] {
        let engine = Arc::new(repo.engine_with(EngineSettings::default()));
        if !watches {
            engine.refuse_watching();
        }
        engine.refresh(&()).unwrap();
        engine.watch();
        std::thread::scope(|threads| {
            for animal in ["zebra", "okapi", "quagga", "tapir"] {
                let (repo, engine) = (&repo, &engine);
                threads.spawn(move || {
                    for turn in 0..8 {
                        let word = format!("{animal}{}", char::from(b'a' + turn));
                        repo.write(&format!("src/{animal}.rs"), format!("fn paint_{word}() {{}}\n"));
                        let found = ask(engine, &format!("where is `paint_{word}`"));
                        assert_eq!(files(&found).first(), Some(&format!("src/{animal}.rs").as_str()), "{word}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_second_refresh_parses_only_changed_files() {
    let repo = Repo::service();
    let engine = repo.ready();
    let before = engine.refresh(&()).unwrap();
    assert_eq!(before.reused, before.files);
    repo.write("src/fresh.rs", "/// Paints the zebra.\nfn paint_zebra() {}\n");
    std::fs::remove_file(repo.path("src/http/retry.rs")).unwrap();
    let after = engine.refresh(&()).unwrap();
    assert_eq!((after.files, after.reused), (before.files, before.files - 1));
    assert_eq!(files(&ask(&engine, "paint the zebra"))[0], "src/fresh.rs");
    assert!(!files(&ask(&engine, "exponential backoff with jitter")).contains(&"src/http/retry.rs"));
}

#[test]
fn the_cache_is_reused_by_the_next_process() {
    let repo = Repo::service();
    let dir = tempfile::tempdir().unwrap();
    let settings = || EngineSettings { cache_dir: Some(dir.path().join("cache")), ..EngineSettings::default() };
    let first = repo.engine_with(settings()).refresh(&()).unwrap();
    assert_eq!(first.reused, 0);
    let engine = repo.engine_with(settings());
    let second = engine.refresh(&()).unwrap();
    assert_eq!((second.reused, second.chunks), (second.files, first.chunks));
    let cold = repo.ready();
    assert_eq!(ask(&engine, QUESTION).items, ask(&cold, QUESTION).items);
}

#[test]
fn a_damaged_or_unusable_cache_does_not_stop_indexing() {
    let repo = Repo::service();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.db"), "garbage ".repeat(1000)).unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    for (cache, note) in [(dir.path().to_owned(), "was rebuilt"), (dir.path().join("file/cache"), "without a cache")] {
        let engine = repo.engine_with(EngineSettings { cache_dir: Some(cache), ..EngineSettings::default() });
        let report = engine.refresh(&()).unwrap();
        assert!(report.notes.iter().any(|text| text.contains(note)), "{:?}", report.notes);
        assert!(!ask(&engine, QUESTION).items.is_empty());
    }
}

#[test]
fn refreshing_and_asking_from_many_threads_is_safe() {
    struct Counter(AtomicUsize);
    impl Progress for Counter {
        fn advance(&self, _done: usize, _total: usize) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let repo = Repo::service();
    let engine = repo.engine();
    let counter = Counter(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| engine.refresh(&counter).unwrap());
            scope.spawn(|| ask(&engine, QUESTION));
        }
    });
    assert!(counter.0.load(Ordering::Relaxed) >= 8);
    assert!(!ask(&engine, QUESTION).items.is_empty());
}
