use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use muninn_base::RelPath;
use muninn_team::fixture::{Fixture, main_alone};
use muninn_team::records::MAIN;
use muninn_text::embed::{EmbedError, StaticVectors};

use super::*;
use crate::IsStale;

impl Memories {
    /// Knowledge and records of a team, for recall by words alone.
    pub(crate) fn load(home: &Home) -> Self {
        Self::load_from(home, &RecordFile::of_team(home).into(), None, None)
    }
}

/// Creates a worktree with these lines as main memory.
fn remembering(lines: &[&str]) -> (Fixture, Memories) {
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let memories = Memories::load(&repo.home());
    assert_eq!(memories.notes(), [] as [String; 0]);
    (repo, memories)
}

/// Ids of the recalled memories, best first.
fn ids(memories: &Memories, question: &str, options: &RecallOptions<'_>) -> Vec<String> {
    let recalled = memories.recall(question, options).into_iter();
    let memories = recalled.filter_map(|recalled| memories.get(recalled.doc));
    memories.map(|memory| memory.source.clone()).collect()
}

#[test]
fn both_layers_are_loaded_and_changes_detected() {
    let repo = Fixture::with(&[
        (".muninn/knowledge/errors.md", "# Error handling\nEvery endpoint returns a code.\n"),
        (MAIN, "{\"id\":\"01A\",\"type\":\"learning\",\"text\":\"retries use jitter\"}\n"),
    ]);
    let home = repo.home();
    let memories = Memories::load(&home);
    let best = |question: &str| ids(&memories, question, &RecallOptions::default());
    assert_eq!(best("what do endpoints return?"), [".muninn/knowledge/errors.md:1-2"]);
    assert_eq!(best("is there jitter?"), ["01A"]);
    assert_eq!(best("absent"), [] as [&str; 0]);
    assert!(memories.is_current(&home, &main_alone().into()));
    repo.write(".muninn/knowledge/new.md", b"# New\n");
    assert!(!memories.is_current(&home, &main_alone().into()));
}

#[test]
fn worktree_without_memory_is_valid() {
    let repo = Fixture::with(&[("a.txt", "x")]);
    let memories = Memories::load(&repo.home());
    assert!(memories.items().is_empty() && memories.notes().is_empty());
    assert!(memories.is_current(&repo.home(), &main_alone().into()));
    assert!(memories.recall("anything", &RecallOptions::default()).is_empty());
}

#[test]
fn neighbours_raise_a_memory() {
    let (_repo, memories) = remembering(&[
        r#"{"id":"1","type":"learning","text":"why does the parser stall","session":"a"}"#,
        r#"{"id":"2","type":"learning","text":"a table grows without bound","session":"a"}"#,
        r#"{"id":"3","type":"learning","text":"a table grows without bound","session":"b"}"#,
    ]);
    let found = ids(&memories, "the parser stall: which table", &RecallOptions::default());
    assert_eq!(found[..2], ["1", "2"], "{found:?}");
    assert_eq!(found.last().map(String::as_str), Some("3"), "the record of the other session must be last");
}

#[test]
fn vectors_find_memories_without_a_common_word() {
    let lines = [
        r#"{"id":"1","type":"learning","text":"retry the request with exponential backoff","session":"a"}"#,
        r#"{"id":"2","type":"learning","text":"histogram bins are drawn in colour","session":"b"}"#,
    ];
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let question = "attempts that fail are repeated later";
    assert!(ids(&Memories::load(&repo.home()), question, &RecallOptions::default()).is_empty());
    let embedder = Arc::new(StaticVectors::shipped().unwrap());
    let memories = Memories::load_from(&repo.home(), &main_alone().into(), Some(embedder.clone()), None);
    assert_eq!(memories.embedder_id(), Some(embedder.id()));
    let found = memories.recall(question, &RecallOptions::default());
    assert_eq!(memories.get(found[0].doc).unwrap().source, "1");
    assert_eq!(found[0].score, 0.0, "no word of the question matches");
}

#[test]
fn filters_apply_before_selection() {
    let cites = r#"[{"path":"src/a.rs","blob":"b1"},{"path":"../x","blob":"b2"}]"#;
    let (_repo, memories) = remembering(&[
        r#"{"id":"1","type":"learning","text":"cache cache cache","ts":"2026-01-01T00:00:00Z","session":"a"}"#,
        r#"{"id":"2","type":"failure","text":"the cache once","ts":"2026-03-01T00:00:00Z","session":"b","task":"T-1"}"#,
        &format!(r#"{{"id":"3","type":"pattern","text":"some cache","branch":"x","sources":{cites}}}"#),
    ]);
    let one = RecallOptions { keep: 1, ..RecallOptions::default() };
    let paths = [RelPath::new("src").unwrap()];
    let table = [
        ("1", one),
        ("2", RecallOptions { types: &["failure"], ..one }),
        ("2", RecallOptions { since: Some(&"2026-02".into()), ..one }),
        ("2", RecallOptions { task: Some("T-1"), ..one }),
        ("2", RecallOptions { sessions: &["b", "c"], ..one }),
        ("3", RecallOptions { branch: Some("x"), ..one }),
        ("3", RecallOptions { paths: &paths, ..one }),
    ];
    for (expected, options) in table {
        assert_eq!(ids(&memories, "what about the cache", &options), [expected]);
    }
}

#[test]
fn doubt_and_staleness_lower_the_score_and_age_breaks_ties() {
    let source = r#""sources":[{"path":"src/a.rs","blob":"b1"}]"#;
    let (_repo, memories) = remembering(&[
        r#"{"id":"1","type":"learning","text":"cache keys are hashed","ts":"2026-01-01T00:00:00Z"}"#,
        r#"{"id":"2","type":"learning","text":"cache keys are hashed","ts":"2026-01-02T00:00:00Z"}"#,
        r#"{"id":"3","type":"learning","text":"cache keys are hashed","ts":"2026-01-03T00:00:00Z","confidence":0.1}"#,
        &format!(
            r#"{{"id":"4","type":"learning","text":"cache keys are hashed","ts":"2026-01-04T00:00:00Z",{source}}}"#
        ),
    ]);
    let found_with = |is_stale: IsStale<'_>| {
        let options = RecallOptions { is_stale: Some(is_stale), ..RecallOptions::default() };
        let stale: Vec<bool> = memories.recall("cache keys", &options).iter().map(|one| one.stale).collect();
        (ids(&memories, "cache keys", &options), stale)
    };
    let changed = found_with(&|_| true);
    assert_eq!(changed.0, ["2", "1", "3", "4"]);
    assert_eq!(changed.1, [false, false, false, true]);
    let as_it_was = found_with(&|cited| cited.path.as_str() != "src/a.rs" || cited.blob.as_deref() != Some("b1"));
    assert_eq!(as_it_was.0, ["4", "2", "1", "3"]);
}

#[test]
fn best_results_are_kept_at_any_position() {
    let line = |(id, confidence): (&str, &str)| {
        format!(r#"{{"id":"{id}","type":"learning","text":"cache keys are hashed","confidence":{confidence}}}"#)
    };
    let lines = [("1", "0.2"), ("2", "0.9"), ("3", "0.1"), ("4", "0.7"), ("5", "1.0"), ("6", "0.4")].map(line);
    let (_repo, memories) = remembering(&lines.each_ref().map(String::as_str));
    for keep in 0..8 {
        let options = RecallOptions { keep, ..RecallOptions::default() };
        let found = ids(&memories, "cache keys", &options);
        assert_eq!(found, ["5", "2", "4", "6", "1", "3"][..keep.min(6)], "{keep}");
    }
}

#[test]
fn score_is_the_covered_share_of_the_question() {
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
fn large_memory_is_ranked_like_a_small_one() {
    // Most records share a word, so that more match than are scored with their neighbours.
    let mut lines: Vec<String> = (0..3000)
        .map(|n| format!(r#"{{"id":"{n:05}","type":"learning","text":"common filler {n}","session":"s{}"}}"#, n / 50))
        .collect();
    lines[2222] = r#"{"id":"02222","type":"learning","text":"common zebra crossing","session":"s44"}"#.to_owned();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_repo, memories) = remembering(&lines);
    let found = ids(&memories, "common zebra crossing", &RecallOptions::default());
    assert_eq!(found[0], "02222");
    assert_eq!(found.len(), 10);
}

#[test]
fn cached_memory_is_used_until_a_file_changes() {
    let line = |n: usize| format!(r#"{{"id":"{n:05}","type":"learning","text":"word{n} filler","session":"s"}}"#);
    let lines: Vec<String> = (0..WORTH_KEEPING).map(line).collect();
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let cache = tempfile::tempdir().unwrap();
    let embedder: Arc<dyn Embedder> = Arc::new(StaticVectors::shipped().unwrap());
    let files = main_alone();
    let load = |embedder| Memories::load_from(&repo.home(), &files.clone().into(), embedder, Some(cache.path()));
    let made = load(Some(Arc::clone(&embedder)));
    let kept = || image::read::<Store>(&FORM, cache.path(), repo.home().root()).unwrap().unwrap();
    assert!(kept().is_current(&repo.home()));
    let read = load(Some(Arc::clone(&embedder)));
    let found = |memories: &Memories| memories.recall("where is word77", &RecallOptions::default());
    assert_eq!(found(&read), found(&made));
    assert_eq!(read.items(), made.items());

    assert_eq!(load(None).embedder_id(), None);
    assert_eq!(kept().embedder, embedder.id(), "recall by words must keep the stored vectors");

    repo.write(MAIN, line(5000).as_bytes());
    assert!(!kept().is_current(&repo.home()));
    assert_eq!(load(Some(Arc::clone(&embedder))).items().len(), 1);
}

/// A fake embedder that derives two numbers from a text's bytes, and counts the texts.
struct Counting {
    id: &'static str,
    embedded: AtomicUsize,
    is_down: AtomicBool,
}

impl Counting {
    fn of(id: &'static str) -> Arc<Self> {
        Arc::new(Self { id, embedded: AtomicUsize::default(), is_down: AtomicBool::default() })
    }

    /// Number of texts since the last call.
    fn embedded(&self) -> usize {
        self.embedded.swap(0, Ordering::Relaxed)
    }
}

impl Embedder for Counting {
    fn id(&self) -> &str {
        self.id
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.is_down.load(Ordering::Relaxed) {
            return Err(EmbedError::Failed { embedder: self.id.to_owned(), reason: "down".to_owned() });
        }
        self.embedded.fetch_add(texts.len(), Ordering::Relaxed);
        let sum = |text: &&str| text.bytes().map(f32::from).sum::<f32>();
        Ok(texts.iter().map(|text| vec![sum(text).sin(), sum(text).cos()]).collect())
    }
}

#[test]
fn only_new_texts_are_embedded_after_a_change() {
    let line = |n: usize| format!("{{\"id\":\"{n:05}\",\"text\":\"word{n}\",\"session\":\"{}\"}}\n", n % 7);
    let written = |lines: std::ops::Range<usize>| lines.map(line).collect::<String>();
    let all = WORTH_KEEPING + 10;
    let repo = Fixture::with(&[(MAIN, &written(5..all))]);
    let cache = tempfile::tempdir().unwrap();
    let load = |embedder: &Arc<Counting>, cache| {
        let embedder: Arc<dyn Embedder> = embedder.clone();
        Memories::load_from(&repo.home(), &main_alone().into(), Some(embedder), cache)
    };
    let (one, other) = (Counting::of("one"), Counting::of("other"));
    let cached = Some(cache.path());
    load(&one, cached);
    assert_eq!(one.embedded(), all - 5);
    load(&one, cached);
    assert_eq!(one.embedded(), 0);
    repo.write(MAIN, written(2..all - 5).as_bytes());
    let changed = load(&one, cached);
    assert_eq!(one.embedded(), 3);
    let anew = load(&one, None);
    let bytes = |memories: &Memories| {
        let rows = memories.vectors.as_ref().map(|vectors| Arc::clone(&vectors.rows)).unwrap();
        let vectors = (0..memories.items().len()).map(|at| rows.bytes(at as u32).map(<[i8]>::to_vec));
        vectors.collect::<Vec<_>>()
    };
    assert_eq!(bytes(&changed), bytes(&anew), "each text must have its own vector");
    assert_eq!(one.embedded(), all - 7);
    one.is_down.store(true, Ordering::Relaxed);
    repo.write(MAIN, written(1..all - 5).as_bytes());
    let words = load(&one, cached);
    assert_eq!(words.embedder_id(), None);
    assert!(words.notes().iter().any(|note| note.contains("by words alone")), "{:?}", words.notes());
    one.is_down.store(false, Ordering::Relaxed);
    load(&one, cached);
    assert_eq!(one.embedded(), 1, "an outage must not lose vectors");
    load(&other, cached);
    assert_eq!(other.embedded(), all - 6, "vectors of two embedders are not mixed");
}

#[test]
fn vectors_that_are_not_made_yet_are_made_by_the_next_load() {
    let line = |n: usize| format!("{{\"id\":\"{n:05}\",\"type\":\"learning\",\"text\":\"word{n}\"}}\n");
    let repo = Fixture::with(&[(MAIN, &(0..700).map(line).collect::<String>())]);
    let cache = tempfile::tempdir().unwrap();
    let one = Counting::of("one");
    let load = |batches: usize| {
        let (left, embedder) = (std::cell::Cell::new(batches), Arc::clone(&one) as Arc<dyn Embedder>);
        let go_on = |done: usize, all: usize| {
            assert!(done < all && all == 700);
            left.replace(left.get().saturating_sub(1)) > 0
        };
        let sources = main_alone().into();
        Memories::load_while(&go_on, &repo.home(), &sources, Some(embedder), Some(cache.path()))
    };
    for (batches, embedded, unembedded) in [(0, 0, 700), (1, 256, 444), (1, 256, 188), (9, 188, 0), (9, 0, 0)] {
        let memories = load(batches);
        assert_eq!((one.embedded(), memories.unembedded()), (embedded, unembedded));
        assert_eq!(memories.embedder_id(), Some("one"));
        assert_eq!(ids(&memories, "word33", &RecallOptions::default())[0], "00033");
        assert_eq!(one.embedded(), 1, "the question");
    }
}

#[test]
fn memory_is_found_by_the_questions_that_it_answers() {
    let learning = |id: u32, text: &str, answers: &str| {
        format!(r#"{{"id":"{id}","ts":"2026-01-01","type":"learning","text":"{text}","answers":[{answers}]}}"#)
    };
    let lines = [
        learning(1, "pino replaced winston", r#""which logger do we use","why is the console output JSON""#),
        learning(2, "the port is 8080", ""),
        learning(3, "Olga owns the billing service", ""),
        // Questions that somebody added later; a duplicate has those of its newest record.
        r#"{"id":"4","type":"questions","of":"3","answers":["whom do I ask about invoices","whom do I ask about invoices"]}"#
            .to_owned(),
        r#"{"id":"5","type":"questions","of":"absent","answers":["whom do I ask about payrolls"]}"#.to_owned(),
    ];
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let embedder: Arc<dyn Embedder> = Arc::new(StaticVectors::shipped().unwrap());
    let memories = Memories::load_from(&repo.home(), &main_alone().into(), Some(embedder), None);
    let first = |question: &str| {
        let best = memories.recall(question, &RecallOptions::default()).into_iter().next().unwrap();
        (memories.get(best.doc).unwrap().source.clone(), best.asked)
    };
    for (question, source) in [("which logger do we use", "1"), ("whom do I ask about invoices", "3")] {
        let (found, cosine) = first(question);
        assert_eq!(found, source, "{question}");
        assert!(cosine > 0.98, "{question}: {cosine}");
    }
    assert_eq!(first("who is asked about an invoice").0, "3");
    let all: Vec<&Memory> = memories.items().iter().collect();
    assert_eq!((all.len(), all.iter().map(|memory| memory.answers.len()).sum::<usize>()), (3, 3));
}

#[test]
fn excluded_memories_do_not_displace_others() {
    let line = |kind: &str, n: usize| {
        let text = "retry the request with exponential backoff";
        format!(r#"{{"id":"{n:05}","type":"{kind}","text":"{text}"}}"#)
    };
    let mut lines: Vec<String> = (0..2500).map(|n| line("learning", n)).collect();
    lines.push(line("failure", 2500));
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let embedder = Arc::new(StaticVectors::shipped().unwrap());
    let memories = Memories::load_from(&repo.home(), &main_alone().into(), Some(embedder), None);
    let options = RecallOptions { types: &["failure"], ..RecallOptions::default() };
    assert_eq!(ids(&memories, "attempts are repeated later", &options), ["02500"]);
}

#[test]
fn automatic_records_merge_with_higher_confidence() {
    let pattern = |id: &str, session: &str, more: &str| {
        format!(
            r#"{{"id":"{id}","ts":"2026-01-0{id}","type":"pattern","pattern":"edited together","entities":["a.rs","b.rs"],"confidence":0.5,"session":"{session}"{more}}}"#
        )
    };
    let lines = [
        pattern("1", "s", ""),
        pattern("3", "t", r#","branch":"x""#),
        pattern("2", "s", ""),
        r#"{"id":"4","type":"learning","text":"alike","session":"s"}"#.to_owned(),
        r#"{"id":"5","type":"learning","text":"alike","session":"t"}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (_repo, memories) = remembering(&lines);
    let found: Vec<_> = memories.items().iter().map(|item| (item.source.as_str(), item.confidence)).collect();
    assert_eq!(found, [("4", None), ("5", None), ("3", Some(0.75))]);
}

#[test]
fn open_conflict_links_both_sides() {
    let learning = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"type\":\"learning\",\"text\":\"{text}\"}}\n");
    let main = [
        learning("1", "retries use jitter"),
        learning("2", "retries never use jitter"),
        learning("3", "retries do use jitter"),
        "{\"id\":\"4\",\"type\":\"same\",\"kept\":\"1\",\"folded\":\"3\"}\n".to_owned(),
    ];
    let conflicts = [
        "{\"id\":\"C\",\"type\":\"conflict\",\"left\":\"2\",\"right\":\"3\"}\n",
        "{\"id\":\"D\",\"type\":\"conflict\",\"left\":\"1\",\"right\":\"not there yet\"}\n",
    ];
    let repo = Fixture::with(&[(MAIN, &(main.concat() + &conflicts.concat()))]);
    let files = main_alone();
    let memories = Memories::load_from(&repo.home(), &files.clone().into(), None, None);
    let sides: Vec<_> = memories
        .items()
        .iter()
        .map(|item| (item.source.as_str(), item.contested.as_ref().map(|contested| contested.other.as_str())))
        .collect();
    assert_eq!(
        sides,
        [("2", Some("3")), ("3", Some("2"))],
        "a conflict of a duplicate must be shown at the duplicate's representative"
    );
    let opponent = memories.opponent(&memories.items()[0]).and_then(|doc| memories.get(doc));
    assert_eq!(opponent.map(|memory| memory.source.as_str()), Some("3"));
    let distinct = r#"{"id":"E","type":"distinct","left":"2","right":"3"}"#;
    for settled in [distinct, r#"{"id":"E","type":"decision","conflict":"C","keep":["2","3"]}"#] {
        repo.write(MAIN, [&main.concat(), &conflicts.concat(), settled].concat().as_bytes());
        assert!(!memories.is_current(&repo.home(), &files.clone().into()));
        let settled = Memories::load_from(&repo.home(), &files.clone().into(), None, None);
        assert!(settled.items().iter().all(|item| item.contested.is_none()));
    }
}

#[test]
fn newer_record_about_the_same_subject_is_found_by_its_vector() {
    let lines = [
        r#"{"id":"1","ts":"2026-01-01","type":"learning","text":"vectors are made by a cloud API"}"#,
        r#"{"id":"2","ts":"2026-01-02","type":"learning","text":"vectors are made by a local library"}"#,
        r#"{"id":"3","ts":"2026-01-03","type":"learning","text":"the ledger is compacted at night"}"#,
        r#"{"id":"4","ts":"2026-01-04","type":"failure","attempt":"vectors are made by a cloud API","outcome":"slow"}"#,
    ];
    let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
    let embedder = Arc::new(StaticVectors::shipped().unwrap());
    let memories = Memories::load_from(&repo.home(), &main_alone().into(), Some(embedder), None);
    let number = |source: &str| {
        let at = memories.items().iter().position(|item| item.source == source).unwrap();
        DocId(u32::try_from(at).unwrap())
    };
    let (newer, cosine) = memories.newer_like(number("1")).unwrap();
    assert_eq!(newer, number("2"));
    assert!(cosine > 0.4, "{cosine}");
    let (other, cosine) = memories.newer_like(number("2")).unwrap();
    assert_eq!(other, number("3"));
    assert!(cosine < 0.2, "{cosine}");
    assert_eq!(memories.newer_like(number("3")), None);
    assert_eq!(Memories::load(&repo.home()).newer_like(number("1")), None, "no vectors");
}
