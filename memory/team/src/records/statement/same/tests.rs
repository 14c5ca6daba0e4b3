//! Pairs that are the same statement, and pairs that are not.

use proptest::prelude::*;

use super::{Statement, refers_to_its_file};

fn is_same(one: &str, other: &str) -> bool {
    let same = Statement::of_text(one).equals(Statement::of_text(other));
    assert_eq!(same, Statement::of_text(other).equals(Statement::of_text(one)), "{one} | {other}");
    same
}

/// Pairs that differ in one thing of meaning, by its class.
const DIFFERENT: [(&str, &[(&str, &str)]); 22] = [
    (
        "signs",
        &[
            ("The offset is +5", "The offset is -5"),
            ("Retry if a && b", "Retry if a || b"),
            ("The glob is src/*", "The glob is src/**"),
            ("Parsers are in C", "Parsers are in C++"),
            ("The exit code is 1", "The exit code is -1"),
            ("Scores must be < 5", "Scores must be <= 5"),
            ("Compare with ==", "Compare with ==="),
            ("Use x ~> 1.2", "Use x >= 1.2"),
            ("The mask is a & b", "The mask is a | b"),
            ("Pass --no-cache", "Pass -no-cache"),
            ("Ids look like #5", "Ids look like $5"),
            ("Does the cache expire?", "Does the cache expire!"),
            ("Run cd ..", "Run cd ."),
            ("Scan . first", "Scan first"),
            ("The value is foo...", "The value is foo"),
            ("Write to > log", "Write to >> log"),
        ],
    ),
    (
        "articles that give another sense",
        &[("Deploys need a few approvals", "Deploys need few approvals"), ("Keep a little slack", "Keep little slack")],
    ),
    (
        "case",
        &[
            ("The link has 5 Mb", "The link has 5 MB"),
            ("Call getID", "Call getId"),
            ("It needs docker", "It needs Docker"),
            ("Run grep -I", "Run grep -i"),
            ("The US team decides", "The us team decides"),
            ("The cache is warm", "Cache is warm"),
        ],
    ),
    (
        "numbers",
        &[
            ("The release is on 2026-01-02", "The release is on 2026-02-01"),
            ("Standup is at 10:30", "Standup is at 30:10"),
            ("The limit is 1e3", "The limit is 1e6"),
            ("The ratio is 1/2", "The ratio is 2/1"),
            ("The limit is 1.0", "The limit is 10"),
            ("The limit is 1,000", "The limit is 1.000"),
            ("The limit is 3", "The limit is three"),
            ("Split 3 by 4", "Split 4 by 3"),
            ("The limit is 08", "The limit is 8"),
        ],
    ),
    (
        "units",
        &[
            ("The lease is 30 s", "The lease is 30 ms"),
            ("The lease is 30 s", "The lease is half a minute"),
            ("The cap is 5 %", "The cap is 5 \u{2030}"),
        ],
    ),
    (
        "versions",
        &[
            ("It needs 1.4", "It needs 1.40"),
            ("It needs v2", "It needs v2.0"),
            ("It needs 1.2.3", "It needs 1.2.3-rc1"),
        ],
    ),
    (
        "paths",
        &[
            ("Edit src/a.rs", "Edit src/b.rs"),
            ("Edit /etc/x", "Edit etc/x"),
            ("Edit a/b", "Edit a\\b"),
            ("Serve docs/", "Serve docs"),
        ],
    ),
    (
        "small words",
        &[
            ("All tests run", "Some tests run"),
            ("Use this client", "Use that client"),
            ("It was fast", "It will be fast"),
            ("Red or green", "Red and green"),
            ("Any worker writes", "Each worker writes"),
            ("Round half up", "Round half even"),
            ("Only admins write", "Admins write"),
            ("Log in", "Log on"),
            ("Read from it", "Read to it"),
        ],
    ),
    (
        "letters",
        &[
            ("Take plan A", "Take plan B"),
            ("Take plan A", "Take plan"),
            ("Take plan a", "Take plan"),
            ("Option a is slower", "Option is slower"),
            ("Press \"a\" first", "Press first"),
            ("Copy a to b", "Copy to b"),
            ("Its owner writes", "It's owner writes"),
        ],
    ),
    (
        "a as a name",
        &[
            ("Plan a costs more", "Plan costs more"),
            ("Option a needs review", "Option needs review"),
            ("Column a holds ids", "Column holds ids"),
            ("Move a into b", "Move into b"),
            ("Pick a first", "Pick first"),
            ("Variant a wins", "Variant wins"),
            ("Rename a to c", "Rename to c"),
            ("Sort by a then b", "Sort by then b"),
            ("Group a owns billing", "Group owns billing"),
            ("Node a leads", "Node leads"),
            ("Plan a failed", "Plan failed"),
            ("The plan a release", "The plan release"),
            ("Vitamin: A helps", "Vitamin: helps"),
            ("Tier: A customers first", "Tier: customers first"),
            ("Set a before b", "Set before b"),
            ("Let a equal b", "Let equal b"),
            ("Divide a by b", "Divide by b"),
            ("Add a twice", "Add twice"),
            ("Assign a = 5", "Assign = 5"),
            ("Multiply a times b", "Multiply times b"),
            ("Option: a costs less", "Option: costs less"),
            ("Team a deployed it", "Team deployed it"),
            ("A calls B", "Calls B"),
        ],
    ),
    (
        "articles that are meant",
        &[
            ("Add an before vowels", "Add before vowels"),
            ("Write the before nouns", "Write before nouns"),
            ("Drop the, keep others", "Drop keep others"),
            ("Strip the from titles", "Strip from titles"),
            ("The word the is skipped", "The word is skipped"),
            ("Alias an to annotate", "Alias to annotate"),
            ("Stop words are a, an, the", "Stop words are an, the"),
            ("Pattern [a the]", "Pattern [the]"),
            ("The last word is the", "The last word is"),
        ],
    ),
    (
        "accents",
        &[
            ("Call it résumé", "Call it resume"),
            ("The name is Müller", "The name is Muller"),
            ("The key is ñ", "The key is n"),
        ],
    ),
    (
        "negation",
        &[
            ("Jobs are retried", "Jobs aren't retried"),
            ("Never retry", "Don't retry"),
            ("Rebase works with it", "Rebase works without it"),
            ("We're here", "We were here"),
        ],
    ),
    ("order", &[("Lint before test", "Test before lint"), ("a calls b", "b calls a")]),
    (
        "a reason",
        &[
            ("Uploads go to S3", "Uploads go to S3 because disks are small"),
            ("Uploads go to S3 because it is cheap", "Uploads go to S3 because it is safe"),
        ],
    ),
    (
        "quotes",
        &[
            ("Use \"fast mode\" only", "Use \"fast\" mode only"),
            ("Print `a b` c", "Print a `b c`"),
            ("Say \"\"x\"\"", "Say \"x\""),
            ("Say \"a 'b' c\"", "Say \"a b c\""),
            ("A 5\" disk", "A 5 disk"),
            ("The prefix is \"v.\"", "The prefix is \"v\""),
            ("The separator is \"\"", "The separator is"),
            ("The separator is \".\"", "The separator is"),
        ],
    ),
    ("punctuation", &[("Stop, it works", "Stop it works"), ("x: y", "x y"), ("Ids are (a)", "Ids are a")]),
    ("joined words", &[("The set up is old", "The setup is old"), ("Log in here", "Login here"), ("a - b", "a -b")]),
    (
        "contractions that are not listed",
        &[("He's done", "He is done"), ("I'd go", "I would go"), ("We've left", "We have left")],
    ),
    ("plurals and forms", &[("The worker writes", "The workers write"), ("It is cached", "It is caching")]),
    ("synonyms", &[("Telemetry is off", "Telemetry is disabled"), ("Delete the lock", "Remove the lock")]),
    ("pronouns", &[("He owns it", "She owns it"), ("Our key leaked", "Their key leaked")]),
];

/// Texts of one statement each, in several forms.
const SAME: [&[&str]; 34] = [
    &[
        "The index is rebuilt daily",
        "The index is rebuilt daily.",
        " The  index\tis\nrebuilt\r\ndaily. ",
        "The\u{a0}index is rebuilt daily",
    ],
    &["The cache is warm", "cache is warm", "cache is warm.", "A cache is warm"],
    &["Build the image in a container", "Build image in container", "Build an image in the container."],
    &[
        "Use `x` for y",
        "Use \"x\" for y",
        "Use 'x' for y",
        "Use x for y",
        "Use \u{201c}x\u{201d} for y",
        "Use  x for the y.",
    ],
    &["Use `x`", "Use x.", "Use \"x\".", "Use 'x'", "Use x"],
    &["(see `a.rs`) for it", "(see a.rs) for it", "(see \"a.rs\") for it."],
    &["Don't log it", "Do not log it", "Don\u{2019}t log it."],
    &["It can't work", "It cannot work", "It can not work."],
    &["We won't ship, they shan't", "We will not ship, they shall not"],
    &["They're late and we'll wait", "They are late and we will wait."],
    &["It's slow; it isn't broken", "It is slow; it is not broken", "It\u{2019}s slow; it isn\u{2019}t broken."],
    &["\"Use the fast mode.\"", "Use the fast mode.", "Use fast mode", "`Use the fast mode`"],
    &["Pass a `--dry-run` flag", "Pass --dry-run flag", "Pass the --dry-run flag."],
    &["Read a .env file", "Read .env file"],
    &["Use a $HOME path", "Use $HOME path"],
    &["Add a #label", "Add #label"],
    &["Use a (new) API", "Use (new) API", "Use the (new) API"],
    &["(The cache) is warm", "(cache) is warm", "(A cache) is warm."],
    &["Use (the fast path) now", "Use (fast path) now"],
    &["- The cache is small", "- cache is small"],
    &["* A cache is small", "* cache is small"],
    &["1) The cache is small", "1) cache is small"],
    &["The final word is \"done.\"", "The final word is done.", "The final word is done", "The final word is `done.`"],
    &["Set a timeout of 30 s", "Set timeout of 30 s", "Set the timeout of 30 s."],
    &["Plan a release", "Plan release"],
    &["Run the first test", "Run first test"],
    &["Note: The cache is cold", "Note: cache is cold"],
    &["Take a C compiler", "Take C compiler"],
    &["Retry a failed job", "Retry failed job"],
    &["Use a class", "Use class", "Use the class"],
    &["Send a status", "Send status"],
    &["If it fails, the job waits", "If it fails, job waits"],
    &["Use a lock for writes", "Use lock for writes"],
    &["Name it caf\u{e9}", "Name it cafe\u{301}."],
];

#[test]
fn different_statements_are_never_the_same() {
    let mut count = 0;
    for (class, pairs) in DIFFERENT {
        for (one, other) in pairs {
            assert!(!is_same(one, other), "{class}: {one} | {other}");
            // Harmless differences do not hide the other one.
            assert!(
                !is_same(&format!("  {one}"), &format!("{}.", other.trim_end_matches('.'))),
                "{class}: {one} | {other}"
            );
            count += 1;
        }
    }
    assert!(count >= 75, "{count}");
}

#[test]
fn forms_of_one_statement_are_the_same() {
    let mut pairs = 0;
    for forms in SAME {
        for one in forms {
            for other in forms {
                assert!(is_same(one, other), "{one} | {other}");
                pairs += usize::from(one < other);
            }
        }
    }
    assert!(pairs >= 30, "{pairs}");
}

#[test]
fn subjects_names_and_cited_files_count() {
    let of =
        |text: &str, subject: Option<&str>, files: &[&str]| Statement::of_claim(text, subject, files.iter().copied());
    let limit = "The limit is 5 requests";
    assert!(of(limit, None, &["a.rs"]).equals(of(&format!("{limit}."), None, &["b.rs"])));
    assert!(!of("It is 5", Some("billing"), &[]).equals(of("It is 5", None, &[])));
    assert!(!of("It is 5", Some("billing"), &[]).equals(of("It is 5", Some("search"), &[])));
    for text in [
        "This file is generated",
        "Tabs are used here",
        "Read this, test it: this  module",
        "This script is generated by the build",
        "Do not edit this generated Rust file by hand",
        "These tests need a network and a key",
        "The header is generated by the build",
        "It is generated by the build",
    ] {
        assert!(refers_to_its_file(text), "{text}");
        assert!(!of(text, None, &["a.rs"]).equals(of(text, None, &["b.rs"])), "{text}");
        assert!(of(text, None, &["a.rs", "b.rs"]).equals(of(text, None, &["b.rs", "a.rs", "b.rs"])), "{text}");
    }
    assert!(!refers_to_its_file("that is a file, and there it is"));
}

/// Parts from which harmless and other differences are made.
const PARTS: [&str; 22] = [
    "the", "a", "an", "The", "cache", "`cache`", "\"cache\"", "cache.", "don't", "do not", "don\u{2019}t", "Cache",
    "'", "\"", "b", "is", "it's", "it is", "5", "-5", "...", "(x)",
];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&PARTS[..]), 0..8).prop_map(|parts| parts.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reflexive and symmetric, and transitive through texts with the same quotes.
    #[test]
    fn sameness_is_an_equivalence(a in text(), b in text(), c in text(), any in "\\PC{0,60}") {
        prop_assert!(is_same(&a, &a) && is_same(&any, &any));
        let [one, two, three] = [&a, &b, &c].map(|text| Statement::of_text(text));
        prop_assert_eq!(one.equals(two), two.equals(one));
        if one.equals(two) && two.equals(three) && (two.quotes != 0 || one.quotes == three.quotes) {
            prop_assert!(one.equals(three), "{} | {} | {}", a, b, c);
        }
    }

    #[test]
    fn whitespace_never_counts(any in "\\PC{0,60}", blank in "[ \t\n\r\u{a0}\u{3000}]{1,4}") {
        let stretched: String = any.split_whitespace().collect::<Vec<_>>().join(&blank);
        let stop = any.trim().ends_with('.');
        prop_assert!(stop || is_same(&any, &format!("{blank}{stretched}{blank}")), "{any:?}");
    }

    #[test]
    fn one_more_word_always_counts(a in text(), place in 0usize..8, word in proptest::sample::select(&["not", "all", "-1", "B", "because"][..])) {
        let mut words: Vec<&str> = a.split(' ').collect();
        words.insert(place.min(words.len()), word);
        prop_assert!(!is_same(&a, &words.join(" ")));
    }
}
