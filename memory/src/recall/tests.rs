use muninn_repo_tools::RelPath;

use super::*;
use crate::embed::StaticVectors;
use crate::fixture::{Fixture, main_alone};
use crate::records::MAIN;

/// A worktree that remembers these lines.
fn remembering(lines: &[&str]) -> (Fixture, Memories) {
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let memories = Memories::load(&repo.worktree());
    assert_eq!(memories.notes(), [] as [String; 0]);
    (repo, memories)
}

/// The ids of what is recalled, best first.
fn ids(memories: &Memories, question: &str, options: &RecallOptions<'_>) -> Vec<String> {
    let recalled = memories.recall(question, options).into_iter();
    let memories = recalled.filter_map(|recalled| memories.get(recalled.doc));
    memories.map(|memory| memory.source.clone()).collect()
}

#[test]
fn finds_both_layers_and_sees_a_change() {
    let repo = Fixture::with(&[
        (
            ".muninn/knowledge/errors.md",
            "# Error handling\nEvery endpoint returns a code.\n",
        ),
        (
            MAIN,
            "{\"id\":\"01A\",\"type\":\"learning\",\"text\":\"retries use jitter\"}\n",
        ),
    ]);
    let worktree = repo.worktree();
    let memories = Memories::load(&worktree);
    let best = |question: &str| ids(&memories, question, &RecallOptions::default());
    assert_eq!(best("what do endpoints return?"), [".muninn/knowledge/errors.md:1-2"]);
    assert_eq!(best("is there jitter?"), ["01A"]);
    assert_eq!(best("absent"), [] as [&str; 0]);
    assert!(memories.is_current(&worktree, &main_alone()));
    repo.write(".muninn/knowledge/new.md", b"# New\n");
    assert!(!memories.is_current(&worktree, &main_alone()));
}

#[test]
fn a_worktree_without_memory_is_no_trouble() {
    let repo = Fixture::with(&[("a.txt", "x")]);
    let memories = Memories::load(&repo.worktree());
    assert!(memories.items().is_empty() && memories.notes().is_empty());
    assert!(memories.is_current(&repo.worktree(), &main_alone()));
    assert!(memories.recall("anything", &RecallOptions::default()).is_empty());
}

#[test]
fn what_stands_beside_an_answer_helps_to_find_it() {
    let (_repo, memories) = remembering(&[
        r#"{"id":"1","type":"learning","text":"why does the parser stall","session":"a"}"#,
        r#"{"id":"2","type":"learning","text":"a table grows without bound","session":"a"}"#,
        r#"{"id":"3","type":"learning","text":"a table grows without bound","session":"b"}"#,
    ]);
    let found = ids(&memories, "the parser stall: which table", &RecallOptions::default());
    assert_eq!(found[..2], ["1", "2"], "{found:?}");
    assert_eq!(found.last().map(String::as_str), Some("3"), "of another session");
}

#[test]
fn what_is_alike_is_found_without_a_common_word() {
    let lines = [
        r#"{"id":"1","type":"learning","text":"retry the request with exponential backoff","session":"a"}"#,
        r#"{"id":"2","type":"learning","text":"histogram bins are drawn in colour","session":"b"}"#,
    ];
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let question = "attempts that fail are repeated later";
    assert!(ids(&Memories::load(&repo.worktree()), question, &RecallOptions::default()).is_empty());
    let embedder = Arc::new(StaticVectors::shipped().unwrap());
    let memories = Memories::load_from(&repo.worktree(), &main_alone(), Some(embedder), None);
    assert!(memories.has_vectors());
    let found = memories.recall(question, &RecallOptions::default());
    assert_eq!(memories.get(found[0].doc).unwrap().source, "1");
    assert_eq!(found[0].score, 0.0, "no word of the question speaks for it");
}

#[test]
fn conditions_hold_before_the_best_are_taken() {
    let cites = r#"[{"path":"src/a.rs","blob":"b1"},{"path":"../x","blob":"b2"}]"#;
    let (_repo, memories) = remembering(&[
        r#"{"id":"1","type":"learning","text":"cache cache cache","ts":"2026-01-01T00:00:00Z","session":"a"}"#,
        r#"{"id":"2","type":"failure","text":"the cache once","ts":"2026-03-01T00:00:00Z","session":"b","task":"T-1"}"#,
        &format!(r#"{{"id":"3","type":"pattern","text":"some cache","branch":"x","sources":{cites}}}"#),
    ]);
    let one = RecallOptions {
        keep: 1,
        ..RecallOptions::default()
    };
    let paths = [RelPath::new("src").unwrap()];
    let table = [
        ("1", one),
        (
            "2",
            RecallOptions {
                types: &["failure"],
                ..one
            },
        ),
        (
            "2",
            RecallOptions {
                since: Some("2026-02"),
                ..one
            },
        ),
        (
            "2",
            RecallOptions {
                task: Some("T-1"),
                ..one
            },
        ),
        (
            "2",
            RecallOptions {
                sessions: &["b", "c"],
                ..one
            },
        ),
        (
            "3",
            RecallOptions {
                branch: Some("x"),
                ..one
            },
        ),
        ("3", RecallOptions { paths: &paths, ..one }),
    ];
    for (expected, options) in table {
        assert_eq!(ids(&memories, "what about the cache", &options), [expected]);
    }
}

#[test]
fn doubt_and_staleness_cost_and_age_only_decides_a_tie() {
    let source = r#""sources":[{"path":"src/a.rs","blob":"b1"}]"#;
    let (_repo, memories) = remembering(&[
        r#"{"id":"1","type":"learning","text":"cache keys are hashed","ts":"2026-01-01T00:00:00Z"}"#,
        r#"{"id":"2","type":"learning","text":"cache keys are hashed","ts":"2026-01-02T00:00:00Z"}"#,
        r#"{"id":"3","type":"learning","text":"cache keys are hashed","ts":"2026-01-03T00:00:00Z","confidence":0.1}"#,
        &format!(
            r#"{{"id":"4","type":"learning","text":"cache keys are hashed","ts":"2026-01-04T00:00:00Z",{source}}}"#
        ),
    ]);
    let found_with = |blob_of: BlobOf<'_>| {
        let options = RecallOptions {
            blob_of: Some(blob_of),
            ..RecallOptions::default()
        };
        let stale: Vec<bool> = memories
            .recall("cache keys", &options)
            .iter()
            .map(|one| one.stale)
            .collect();
        (ids(&memories, "cache keys", &options), stale)
    };
    let changed = found_with(&|_| Some("b9".to_owned()));
    assert_eq!(changed.0, ["2", "1", "3", "4"]);
    assert_eq!(changed.1, [false, false, false, true]);
    let as_it_was = found_with(&|path| (path.as_str() == "src/a.rs").then(|| "b1".to_owned()));
    assert_eq!(as_it_was.0, ["4", "2", "1", "3"]);
}

#[test]
fn a_score_says_how_much_of_the_question_is_there() {
    let (_repo, memories) = remembering(&[
        r#"{"id":"1","type":"learning","text":"the ledger replays blocks","confidence":1.0}"#,
        r#"{"id":"2","type":"learning","text":"something else entirely","confidence":1.0}"#,
    ]);
    let score = |question: &str| memories.recall(question, &RecallOptions::default())[0].score;
    assert_eq!(score("how does the ledger replay blocks?"), 1.0);
    let half = score("how does the ledger replay in Oslo?");
    assert!((0.4..0.9).contains(&half), "{half}");
}

#[test]
fn a_large_memory_is_ranked_as_a_small_one() {
    // Most records share a word, so that far more match than are looked at closely.
    let mut lines: Vec<String> = (0..3000)
        .map(|n| {
            format!(
                r#"{{"id":"{n:05}","type":"learning","text":"common filler {n}","session":"s{}"}}"#,
                n / 50
            )
        })
        .collect();
    lines[2222] = r#"{"id":"02222","type":"learning","text":"common zebra crossing","session":"s44"}"#.to_owned();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_repo, memories) = remembering(&lines);
    let found = ids(&memories, "common zebra crossing", &RecallOptions::default());
    assert_eq!(found[0], "02222");
    assert_eq!(found.len(), 10);
}

#[test]
fn what_is_kept_is_read_until_a_file_changes() {
    let line = |n: usize| format!(r#"{{"id":"{n:05}","type":"learning","text":"word{n} filler","session":"s"}}"#);
    let lines: Vec<String> = (0..WORTH_KEEPING).map(line).collect();
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let cache = tempfile::tempdir().unwrap();
    let embedder: Arc<dyn Embedder> = Arc::new(StaticVectors::shipped().unwrap());
    let files = [RecordFile::main().unwrap()];
    let load = |embedder| Memories::load_from(&repo.worktree(), &files, embedder, Some(cache.path()));
    let made = load(Some(Arc::clone(&embedder)));
    let kept = || kept::read(cache.path(), &repo.worktree(), &files, embedder.id()).is_some();
    assert!(kept());
    let read = load(Some(Arc::clone(&embedder)));
    let found = |memories: &Memories| memories.recall("where is word77", &RecallOptions::default());
    assert_eq!(found(&read), found(&made));
    assert_eq!(read.items(), made.items());

    let other = kept::read(cache.path(), &repo.worktree(), &files, "another");
    assert!(other.is_none(), "vectors of two embedders are not mixed");

    repo.write(MAIN, line(5000).as_bytes());
    assert!(!kept());
    assert_eq!(load(Some(Arc::clone(&embedder))).items().len(), 1);
}
