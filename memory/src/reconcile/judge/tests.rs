//! Each rule on example sentences, and properties of any two texts.

use proptest::prelude::*;

use super::*;
use crate::reconcile::Judge;

fn claim(text: &str) -> Claim<'_> {
    Claim {
        text,
        subject: None,
        files: &[],
    }
}

fn relation(a: &str, b: &str) -> Relation {
    thread_local!(static TOOLS: Lexicon = Lexicon::new());
    TOOLS.with(|tools| judge(&claim(a), &claim(b), tools).relation)
}

fn exchanged(relation: Relation) -> Relation {
    match relation {
        Relation::Refines => Relation::RefinedBy,
        Relation::RefinedBy => Relation::Refines,
        other => other,
    }
}

/// Checks pairs in both directions.
fn all(expected: Relation, pairs: &[(&str, &str)]) {
    for (a, b) in pairs {
        assert_eq!(relation(a, b), expected, "{a} | {b}");
        assert_eq!(relation(b, a), exchanged(expected), "{b} | {a}");
    }
}

#[test]
fn paraphrases_are_duplicates() {
    all(
        Relation::Same,
        &[
            ("The index is rebuilt daily.", "The index is rebuilt  daily"),
            ("The script deletes the folder.", "The script erases the directory."),
            ("The worker writes the report.", "The report is written by the worker."),
            ("In production the quota is 9.", "The quota is 9 in production."),
            ("Never log the password.", "Do not log the password."),
            ("Telemetry is turned off.", "Telemetry is disabled."),
            ("Three workers share `queue.db`.", "3 workers share queue.db."),
            (
                "The lexer's tables are generated.",
                "The tables of the lexer are generated.",
            ),
        ],
    );
}

#[test]
fn more_words_on_one_side_refine() {
    all(
        Relation::Refines,
        &[
            ("The exporter needs Java 17 on ARM.", "The exporter needs Java."),
            ("A puppy sleeps in the barn.", "An animal sleeps in the barn."),
            (
                "The worker writes the weekly report.",
                "The report is written by the worker.",
            ),
        ],
    );
}

#[test]
fn negation_contradicts() {
    all(
        Relation::Contradicts,
        &[
            ("The exporter needs Java.", "The exporter does not need Java."),
            ("There is a lock on the table.", "There is no lock on the table."),
            ("The lock is held by the writer.", "The lock isn't held by the writer."),
            ("Rebasing works with submodules.", "Rebasing works without submodules."),
            ("The old client is supported.", "The old client is no longer supported."),
            ("Always squash fixups.", "Avoid squashing fixups."),
        ],
    );
}

#[test]
fn negation_of_something_else_is_unrelated() {
    all(
        Relation::Unrelated,
        &[
            ("The exporter needs Java.", "The importer does not need Java."),
            ("Libraries are versioned in git.", "Binaries are not versioned in git."),
            ("The client retries on 503.", "The client does not retry on 404."),
            ("Public modules need tests.", "Private modules do not need tests."),
        ],
    );
}

#[test]
fn negated_special_case_is_a_doubt() {
    all(
        Relation::Doubt,
        &[(
            "The exporter needs Java.",
            "The exporter does not need Java on Windows or in containers.",
        )],
    );
}

#[test]
fn opposites_in_the_predicate_contradict() {
    all(
        Relation::Contradicts,
        &[
            ("Telemetry is enabled.", "Telemetry is disabled."),
            ("Hooks run before the merge.", "Hooks run after the merge."),
            ("The schema is mutable.", "The schema is immutable."),
            ("Telemetry is on for guests.", "Telemetry is off for guests."),
            ("The trunk is locked.", "The trunk is unlocked."),
        ],
    );
}

#[test]
fn opposites_of_different_things_do_not_contradict() {
    all(
        Relation::Unrelated,
        &[
            ("The first shard is slow.", "The last shard is slow."),
            ("Telemetry is enabled in staging.", "Telemetry is disabled in demos."),
            ("A man is sitting on a bench.", "A man is standing on a bench."),
        ],
    );
}

#[test]
fn several_opposites_are_a_doubt() {
    all(
        Relation::Doubt,
        &[(
            "The sync starts before the lazy scan.",
            "The sync stops after the lazy scan.",
        )],
    );
}

#[test]
fn numbers_versions_and_units_in_one_place_contradict() {
    all(
        Relation::Contradicts,
        &[
            ("The quota is 9.", "The quota is 12."),
            ("The quota is nine.", "The quota is 12."),
            ("The agent needs version 1.4.", "The agent needs version 2.0."),
            ("The lease is 30 seconds.", "The lease is 30 milliseconds."),
            (
                "The lease expires after 30 minutes.",
                "The lease expires after 2 hours.",
            ),
        ],
    );
    all(Relation::Unrelated, &[("Shard 3 is full.", "Shard 5 is full.")]);
}

#[test]
fn two_values_of_one_thing_contradict() {
    all(
        Relation::Contradicts,
        &[
            ("The agent is written in Zig.", "The agent is written in Nim."),
            ("`scan` returns a list.", "`scan` returns an iterator."),
            ("The agent is owned by Kim.", "The agent is owned by Lee."),
            ("Kim maintains the agent.", "Lee maintains the agent."),
            ("The default branch is trunk.", "The default branch is develop."),
            ("We use sled for caching.", "We use redb for caching."),
        ],
    );
}

#[test]
fn two_values_of_different_things_do_not_contradict() {
    all(
        Relation::Unrelated,
        &[
            ("The agent is written in Zig.", "The console is written in Nim."),
            ("Kim maintains the agent.", "Kim maintains the console."),
            ("The agent needs Java.", "The agent needs Python."),
            ("`scan` returns a list.", "`walk` returns a list."),
            (
                "Blobs are stored as files on disk.",
                "Blobs are stored as arrays in memory.",
            ),
        ],
    );
}

#[test]
fn subject_and_object_are_distinguished() {
    for (a, b) in [
        ("The writer blocks the reader.", "The reader blocks the writer."),
        ("The writer blocks the reader.", "The writer is blocked by the reader."),
        ("Use tabs instead of spaces.", "Use spaces instead of tabs."),
        ("The lock is shared but not fair.", "The lock is not shared but fair."),
    ] {
        assert_eq!(relation(a, b), Relation::Doubt, "{a} | {b}");
    }
}

#[test]
fn texts_with_shifting_words_are_not_merged() {
    for (a, b) in [
        ("The agent starts.", "The agent fails to start."),
        ("The agent starts.", "The agent starts only if the lock is free."),
        (
            "The file is moved into the cache.",
            "The file is moved out of the cache.",
        ),
        ("The lock is near the table.", "The lock is far from the table."),
    ] {
        let found = relation(a, b);
        assert!(
            !matches!(found, Relation::Same | Relation::Refines | Relation::RefinedBy),
            "{a} | {b}: {found:?}"
        );
    }
}

#[test]
fn subject_and_files_distinguish_similar_texts() {
    let tools = Lexicon::new();
    let with = |text, subject, files| Claim { text, subject, files };
    let table: [(Claim<'_>, Claim<'_>, Relation); 5] = [
        (
            with("The quota is 9.", Some("billing"), &[]),
            with("The quota is 12.", Some("search"), &[]),
            Relation::Doubt,
        ),
        (
            with("The quota is 9.", Some("billing quota"), &[]),
            with("The quota is 12.", Some("quota"), &[]),
            Relation::Contradicts,
        ),
        (
            with("The quota is 9.", None, &["a.rs"]),
            with("The quota is 12.", None, &["b.rs"]),
            Relation::Doubt,
        ),
        (
            with("The quota is 9.", None, &["a.rs"]),
            with("9 is the quota.", None, &["b.rs"]),
            Relation::Doubt,
        ),
        (
            with("This file is generated.", None, &["a.rs"]),
            with("This file is generated.", None, &["b.rs"]),
            Relation::Doubt,
        ),
    ];
    for (a, b, expected) in table {
        let judged = judge(&a, &b, &tools);
        assert_eq!(judged.relation, expected, "{a:?} {b:?}: {}", judged.reason);
    }
}

#[test]
fn similarity_ignores_voice_and_negation() {
    let tools = Lexicon::new();
    let of = |a, b| Judge::likeness(&tools, &claim(a), &claim(b));
    let near = of("The worker writes the report.", "No report is written by the worker.");
    assert!(near > 0.99, "{near}");
    assert!(of("Telemetry is on for guests.", "Telemetry is off for guests.") > 0.99);
    let far = of("The worker writes the report.", "The worker polls the queue.");
    assert!((far - 1.0 / 3.0).abs() < 0.01, "{far}");
    assert!(of("", "").abs() < f32::EPSILON);
}

#[test]
fn reason_names_the_difference() {
    let tools = Lexicon::new();
    let reason = |a, b| judge(&claim(a), &claim(b), &tools).reason;
    assert_eq!(
        reason("The quota is 9.", "The quota is 12."),
        "same, but `9` against `12`"
    );
    assert_eq!(
        reason("It needs Java.", "It does not need Java."),
        "the second denies what the first says"
    );
    assert!(reason("The agent needs Java 17.", "The agent needs Java.").contains("`17`"));
}

#[test]
fn texts_without_words_are_unrelated() {
    assert_eq!(relation("", ""), Relation::Same);
    for (a, b) in [
        ("", "The quota is 9."),
        ("...", "???"),
        ("\u{4e2d}\u{6587}", "\u{65e5}\u{672c}"),
        ("not", "never the"),
    ] {
        assert_eq!(relation(a, b), Relation::Unrelated, "{a} | {b}");
    }
}

const WORDS: &[&str] = &[
    "the",
    "cache",
    "worker",
    "is",
    "enabled",
    "disabled",
    "not",
    "never",
    "without",
    "no",
    "before",
    "after",
    "runs",
    "run",
    "by",
    "in",
    "of",
    "9",
    "12",
    "`MAX_AGE`",
    "only",
    "if",
    "writes",
    "written",
    "report",
    "daily,",
    "and",
    "doesn't",
    "public",
    "private",
    "animal",
    "dog",
    "on",
    "off",
    "owns",
    "Kim",
    "default",
    "port",
    "out",
    "-",
    "quickly",
    "\u{e9}t\u{e9}",
];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(WORDS), 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exchanging_two_texts_exchanges_the_relation(a in text(), b in text()) {
        prop_assert_eq!(relation(&b, &a), exchanged(relation(&a, &b)));
    }

    #[test]
    fn a_text_is_the_same_as_itself(a in text(), any in ".{0,60}") {
        prop_assert_eq!(relation(&a, &a), Relation::Same);
        prop_assert_eq!(relation(&any, &any), Relation::Same);
    }

    #[test]
    fn one_more_negation_is_never_merged(a in text(), place in 0usize..12, negation in proptest::sample::select(&["not", "never", "nobody", "without", "isn't"])) {
        let mut words: Vec<&str> = a.split(' ').collect();
        words.insert(place.min(words.len()), negation);
        let found = relation(&a, &words.join(" "));
        prop_assert!(!matches!(found, Relation::Same | Relation::Refines | Relation::RefinedBy), "{:?}", found);
    }

    #[test]
    fn any_text_can_be_judged(a in "\\PC{0,80}", b in "\\PC{0,80}") {
        prop_assert_eq!(relation(&b, &a), exchanged(relation(&a, &b)));
    }
}
