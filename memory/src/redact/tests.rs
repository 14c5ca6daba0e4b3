//! The table of cases, and properties that hold for any text.

mod expand;

use std::borrow::Cow;
use std::collections::BTreeMap;

use expand::{Case, cases};
use proptest::prelude::*;

use super::{redact, secrets};

const POSITIVE: &str = include_str!("cases/positive.txt");
const NEGATIVE: &str = include_str!("cases/negative.txt");
/// Each case is tried with so many different random characters.
const DRAWS: u64 = 16;

/// Of a kind of cases, how many there are and which went wrong.
#[derive(Default)]
struct Row {
    cases: usize,
    wrong: Vec<String>,
}

/// Counts a case as wrong if any of its draws is.
fn tried(cases: &[Case<'_>], is_right: impl Fn(&expand::Sample) -> bool) -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for case in cases {
        let row = rows.entry(case.kind.to_owned()).or_default();
        row.cases += 1;
        let wrong = (0..DRAWS)
            .map(|draw| case.sample(draw))
            .find(|sample| !is_right(sample));
        row.wrong
            .extend(wrong.map(|sample| format!("{}\n      -> {}", sample.text, redact(&sample.text))));
    }
    rows
}

fn print(title: &str, rows: &BTreeMap<String, Row>) -> (usize, usize) {
    println!("{title:<22} {:>5} {:>5}", "cases", "wrong");
    for (kind, row) in rows {
        println!("  {kind:<20} {:>5} {:>5}", row.cases, row.wrong.len());
        row.wrong.iter().for_each(|text| println!("    {text}"));
    }
    let sum = rows
        .values()
        .fold((0, 0), |sum, row| (sum.0 + row.cases, sum.1 + row.wrong.len()));
    println!("  {:<20} {:>5} {:>5}\n", "all", sum.0, sum.1);
    sum
}

#[test]
fn every_secret_is_found_and_the_rest_of_its_line_kept() {
    let positive = cases(POSITIVE);
    let rows = tried(&positive, |sample| redact(&sample.text) == sample.expected);
    let (count, missed) = print("secrets", &rows);
    assert!(count >= 150, "{count}");
    assert_eq!(missed, 0);
}

#[test]
fn at_most_one_in_a_hundred_is_taken_for_a_secret() {
    let negative = cases(NEGATIVE);
    let rows = tried(&negative, |sample| matches!(redact(&sample.text), Cow::Borrowed(_)));
    let (count, taken) = print("no secrets", &rows);
    assert!(count >= 300, "{count}");
    assert!(taken * 100 <= count, "{taken} of {count}");
}

#[test]
fn all_secrets_of_a_text_are_found_where_they_are() {
    let sample: Vec<_> = cases(POSITIVE).iter().map(|case| case.sample(DRAWS)).collect();
    let text: String = sample.iter().map(|sample| format!("{}\n\n", sample.text)).collect();
    let expected: String = sample.iter().map(|sample| format!("{}\n\n", sample.expected)).collect();
    assert_eq!(redact(&text), expected);
    assert!(secrets(&text).is_sorted_by_key(|secret| secret.range.start));
    assert!(secrets(&expected).is_empty());
}

/// Texts that come near to what rules look for: parts of secrets, of names and of what joins them.
fn hostile() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        any::<String>(),
        "[a-zA-Z0-9+/=_.:-]{1,60}",
        "[\\\\nrt\"' \\n=:,;@#$%{}<>]{1,4}",
        proptest::sample::select(vec![
            "password",
            "api_key",
            "token",
            "secret: ",
            "Authorization: Bearer ",
            "-----BEGIN PRIVATE KEY-----",
            "://",
            "eyJ",
            "-----END PRIVATE KEY-----",
            "[redacted:",
            "sk-",
            "ghp_",
            "AKIA",
            "xoxb-",
            ":AA",
            "-us",
            "machine ",
            "\u{1b}[0m",
            "é",
            "curl -u ",
            "\"auth\": \"",
            "value=",
            "--token ",
            "host=a;password=",
            "ENV ",
            "SG.",
            "&sig=",
            ":5432:",
        ])
        .prop_map(str::to_owned),
        proptest::sample::select(cases(POSITIVE))
            .prop_flat_map(|case| (0..u64::MAX).prop_map(move |draw| case.sample(draw).text)),
    ];
    proptest::collection::vec(parts, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn lines_are_kept_and_nothing_is_left_to_cut(text in hostile()) {
        let once = redact(&text);
        prop_assert_eq!(once.matches('\n').count(), text.matches('\n').count());
        let again = redact(&once);
        prop_assert_eq!(again, once.as_ref());
    }

    #[test]
    fn what_is_cut_lies_in_the_text_and_in_order(text in hostile()) {
        let mut end = 0;
        for secret in secrets(&text) {
            prop_assert!(secret.range.start >= end && secret.range.start < secret.range.end);
            prop_assert!(text.get(secret.range.clone()).is_some());
            end = secret.range.end;
        }
    }
}
