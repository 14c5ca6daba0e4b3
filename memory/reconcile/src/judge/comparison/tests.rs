//! Decisions on example statements, and properties of any two texts.
//!
//! The examples are plain cases. Benchmarks measure the quality.

use proptest::prelude::*;

use super::*;

fn judged(a: &str, b: &str) -> Judgement {
    thread_local!(static TOOLS: FittedJudge = FittedJudge::shipped().unwrap());
    TOOLS.with(|tools| judge(&Claim::of(a), &Claim::of(b), tools))
}

/// Checks pairs in both directions.
fn all(expected: Relation, pairs: &[(&str, &str)]) {
    for (a, b) in pairs {
        let found = judged(a, b);
        assert_eq!(found.relation, expected, "{a} | {b}: {found:?}");
        assert_eq!(judged(b, a).relation, expected, "{b} | {a}");
    }
}

#[test]
fn trees_match_the_features() {
    let tools = FittedJudge::shipped().unwrap();
    let named = tools.features("The quota is 9.", "No quota.");
    let features = named.iter().map(|(name, _)| name).filter(|name| !name.starts_with("rule:"));
    assert!(features.eq(&tools.forest.features));
}

#[test]
fn threshold_is_that_of_the_validation() {
    let fit = include_str!("../../../../training/judge/fit.py");
    assert!(fit.contains(&format!("\nUNDECIDED = {}\n", decide::UNDECIDED)));
}

#[test]
fn equal_statements_in_another_form_are_duplicates() {
    all(
        Relation::Same,
        &[
            ("The index is rebuilt daily.", "The index is rebuilt  daily"),
            ("Don't log the password.", "Do not log password"),
            ("Three workers share `queue.db`.", "Three workers share the queue.db."),
        ],
    );
}

#[test]
fn same_meaning_in_other_words_is_left_to_somebody_with_judgement() {
    for (a, b) in [
        ("Never log the password.", "Don't log the password."),
        ("Three workers share `queue.db`.", "3 workers share queue.db."),
        ("The lease is 30 s.", "The lease is half a minute."),
        ("The limit is 1,024 kB.", "The limit is 1 MiB."),
        ("The client has to be restarted.", "The client must be restarted."),
        ("Telemetry is turned off.", "Telemetry is disabled."),
    ] {
        let found = judged(a, b);
        assert_eq!(found.relation, Relation::Unrelated, "{a} | {b}: {found:?}");
        assert!(found.related > 0.2, "a model is asked: {a} | {b}: {found:?}");
    }
}

#[test]
fn negation_is_undecided() {
    all(
        Relation::Undecided,
        &[
            ("The exporter needs Java.", "The exporter does not need Java."),
            ("There is a lock on the table.", "There is no lock on the table."),
            ("The lock is held by the writer.", "The lock isn't held by the writer."),
            ("Rebasing works with submodules.", "Rebasing works without submodules."),
            ("The old client is supported.", "The old client is no longer supported."),
        ],
    );
}

#[test]
fn another_value_is_undecided() {
    all(
        Relation::Undecided,
        &[
            ("The default quota is 9.", "The default quota is 12."),
            ("The agent needs version 1.4 or later.", "The agent needs version 2.0 or later."),
            ("Connections of the pool are capped at 64.", "The maximum number of connections of the pool is 32."),
            ("Releases are tagged by Ana.", "Releases are tagged by Ben."),
            ("Telemetry is enabled by default.", "Telemetry is disabled by default."),
        ],
    );
}

#[test]
fn another_scope_or_subject_is_unrelated() {
    all(
        Relation::Unrelated,
        &[
            ("The exporter needs Java.", "The importer does not need Java."),
            ("Shard 3 is full.", "Shard 5 is full."),
            ("See RFC 7231 for the status codes.", "See RFC 9110 for the status codes."),
            ("read-timeout: the default is 5 seconds.", "write-timeout: the default is 9 seconds."),
            ("", "The quota is 9."),
            ("...", "???"),
            ("not", "never the"),
        ],
    );
}

#[test]
fn statement_that_says_more_is_no_duplicate() {
    all(
        Relation::Unrelated,
        &[
            ("The retry limit is 3.", "The retry limit is 3. The retry limit is 5."),
            ("Sessions live in Redis.", "Sessions live in Redis. Tokens live in Postgres."),
            ("Uploads are stored in S3.", "Uploads are stored in S3 and deleted after 30 days."),
            ("The build uses make.", "The build uses make, and the release uses cargo."),
        ],
    );
}

#[test]
fn the_same_about_two_things_is_no_duplicate() {
    all(
        Relation::Unrelated,
        &[
            (
                "Run `cargo insta review` after changing the session store.",
                "Run `cargo insta review` after changing the token vault.",
            ),
            (
                "Run `npm run gen` after changing the audit log.",
                "Run `npm run gen` after changing the command line tool.",
            ),
        ],
    );
}

#[test]
fn code_and_other_languages_are_not_judged() {
    all(
        Relation::Unrelated,
        &[
            ("Der Port ist offen.", "Der Port ist nicht offen."),
            ("Le port est le 80.", "Le port est le 90."),
            ("\u{4e2d}\u{6587}", "\u{65e5}\u{672c}"),
            ("fn main() { let x = 1; }", "fn main() { let x = 2; }"),
            ("if (a > 3) { return b; }", "if (a > 4) { return b; }"),
            ("use std::io::Write;", "use std::io::Read;"),
            ("#[derive(Debug, Clone, Copy, Default)]", "#[derive(Debug, Clone, Copy, PartialEq)]"),
            ("max_retries = parse(value)", "max_delay = parse(value)"),
        ],
    );
    all(Relation::Same, &[("Der Port ist offen.", "Der Port ist offen")]);
}

#[test]
fn what_opposes_is_not_merged() {
    for (a, b) in [
        ("The writer blocks the reader.", "The reader blocks the writer."),
        ("Use tabs instead of spaces.", "Use spaces instead of tabs."),
        ("Telemetry is on for guests.", "Telemetry is off for guests."),
        ("The cache is enabled, not disabled.", "The cache is disabled, not enabled."),
        ("Add the flag to the config.", "Remove the flag from the config."),
    ] {
        assert_ne!(judged(a, b).relation, Relation::Same, "{a} | {b}");
    }
}

#[test]
fn subject_and_files_distinguish_similar_texts() {
    let tools = FittedJudge::shipped().unwrap();
    let with = |text, subject, files| Claim { text, subject, files };
    let (one, other) = ("The default quota is 9.", "The default quota is 12.");
    let [msvc, gnu] = ["Windows builds use the msvc toolchain", "Windows builds use the gnu toolchain"];
    let table: [(Claim<'_>, Claim<'_>, Relation); 5] = [
        (with(one, Some("billing"), &[]), with(other, Some("search"), &[]), Relation::Unrelated),
        (with(one, Some("billing quota"), &[]), with(other, Some("quotas"), &[]), Relation::Undecided),
        (with(one, None, &["a.rs"]), with(other, None, &["b.rs"]), Relation::Undecided),
        (
            with("This file is generated.", None, &["a.rs"]),
            with("This file is generated.", None, &["b.rs"]),
            Relation::Unrelated,
        ),
        (with(msvc, None, &[]), with(gnu, None, &[]), Relation::Undecided),
    ];
    for (a, b, expected) in table {
        let judged = judge(&a, &b, &tools);
        assert_eq!(judged.relation, expected, "{a:?} {b:?}: {}", judged.reason);
    }
}

#[test]
fn similarity_counts_common_words() {
    let tools = FittedJudge::shipped().unwrap();
    let of = |a, b| tools.tokens(&Claim::of(a)).likeness(&tools.tokens(&Claim::of(b)));
    let near = of("The worker writes the report.", "No report is written by the worker.");
    let far = of("The worker writes the report.", "The scheduler polls a queue.");
    assert!(near > 0.4 && near > far + 0.2, "{near} {far}");
    assert!((of("Quota 9.", "Quotas: 9") - 1.0).abs() < 0.05);
    assert!((of("quota quota", "quota") - 2.0 / 3.0).abs() < 0.001, "a repeated word counts as often");
    assert!(of("", "").abs() < f32::EPSILON);
}

#[test]
fn reason_names_the_difference() {
    let found = judged("The default quota is 9.", "The default quota is 12.");
    assert_eq!(found.reason, "They have the same subject, but the first says `9` and the second `12`.");
    let found = judged("It needs Java.", "It does not need Java.");
    assert_eq!(found.reason, "One denies what the other says.");
}

const WORDS: &[&str] = &[
    "the", "cache", "worker", "is", "enabled", "disabled", "not", "never", "without", "no", "before", "after", "runs",
    "run", "by", "in", "of", "9", "12", "`MAX_AGE`", "only", "if", "writes", "written", "report", "daily,", "and",
    "doesn't", "public", "private", "animal", "30", "seconds", "half", "on", "off", "turned", "has", "to", "default:",
    "port", "out", "-", "instead", "\u{e9}t\u{e9}",
];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(WORDS), 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exchanging_two_texts_changes_no_relation(a in text(), b in text()) {
        prop_assert_eq!(judged(&b, &a).relation, judged(&a, &b).relation);
    }

    #[test]
    fn a_text_is_the_same_as_itself(a in text(), any in ".{0,60}") {
        prop_assert_eq!(judged(&a, &a).relation, Relation::Same);
        prop_assert_eq!(judged(&any, &any).relation, Relation::Same);
    }

    #[test]
    fn one_more_negation_is_never_merged(a in text(), place in 0usize..12, negation in proptest::sample::select(&["not", "never", "nobody", "without", "isn't"])) {
        let mut words: Vec<&str> = a.split(' ').collect();
        words.insert(place.min(words.len()), negation);
        let found = judged(&a, &words.join(" "));
        prop_assert!(found.relation != Relation::Same, "{:?}", found);
    }

    #[test]
    fn any_text_can_be_judged(a in "\\PC{0,80}", b in "\\PC{0,80}") {
        prop_assert_eq!(judged(&b, &a).relation, judged(&a, &b).relation);
    }
}
