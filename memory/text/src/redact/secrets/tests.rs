//! The table of cases, and properties of any text.

mod expand;

use std::borrow::Cow;
use std::collections::BTreeMap;

use expand::{Case, cases};
use proptest::prelude::*;

use super::{redact, secrets};

const POSITIVE: &str = include_str!("../cases/positive.txt");
const NEGATIVE: &str = include_str!("../cases/negative.txt");
/// Number of random samples of each case.
const DRAWS: u64 = 16;

/// The number of cases of a kind, and the failures.
#[derive(Default)]
struct Row {
    cases: usize,
    wrong: Vec<String>,
}

/// Counts a case as wrong if any of its samples is.
fn tried(cases: &[Case<'_>], is_right: impl Fn(&expand::Sample) -> bool) -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for case in cases {
        let row = rows.entry(case.kind.to_owned()).or_default();
        row.cases += 1;
        let wrong = (0..DRAWS).map(|draw| case.sample(draw)).find(|sample| !is_right(sample));
        row.wrong.extend(wrong.map(|sample| format!("{}\n      -> {}", sample.text, redact(&sample.text))));
    }
    rows
}

fn print(title: &str, rows: &BTreeMap<String, Row>) -> (usize, usize) {
    println!("{title:<22} {:>5} {:>5}", "cases", "wrong");
    for (kind, row) in rows {
        println!("  {kind:<20} {:>5} {:>5}", row.cases, row.wrong.len());
        row.wrong.iter().for_each(|text| println!("    {text}"));
    }
    let sum = rows.values().fold((0, 0), |sum, row| (sum.0 + row.cases, sum.1 + row.wrong.len()));
    println!("  {:<20} {:>5} {:>5}\n", "all", sum.0, sum.1);
    sum
}

#[test]
fn secrets_are_redacted_and_their_line_kept() {
    let positive = cases(POSITIVE);
    let rows = tried(&positive, |sample| redact(&sample.text) == sample.expected);
    let (count, missed) = print("secrets", &rows);
    assert!(count >= 150, "{count}");
    assert_eq!(missed, 0);
}

#[test]
fn at_most_one_percent_of_harmless_text_is_redacted() {
    let negative = cases(NEGATIVE);
    let rows = tried(&negative, |sample| matches!(redact(&sample.text), Cow::Borrowed(_)));
    let (count, taken) = print("no secrets", &rows);
    assert!(count >= 300, "{count}");
    assert!(taken * 100 <= count, "{taken} of {count}");
}

#[test]
fn all_secrets_of_a_text_are_found_in_order() {
    let sample: Vec<_> = cases(POSITIVE).iter().map(|case| case.sample(DRAWS)).collect();
    let text: String = sample.iter().map(|sample| format!("{}\n\n", sample.text)).collect();
    let expected: String = sample.iter().map(|sample| format!("{}\n\n", sample.expected)).collect();
    assert_eq!(redact(&text), expected);
    assert!(secrets(&text).is_sorted_by_key(|secret| secret.range.start));
    assert!(secrets(&expected).is_empty());
}

/// Texts of parts of secrets, names and separators.
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
    fn redaction_keeps_lines_and_is_idempotent(text in hostile()) {
        let once = redact(&text);
        prop_assert_eq!(once.matches('\n').count(), text.matches('\n').count());
        let again = redact(&once);
        prop_assert_eq!(again, once.as_ref());
    }

    #[test]
    fn secret_ranges_are_valid_and_sorted(text in hostile()) {
        let mut end = 0;
        for secret in secrets(&text) {
            prop_assert!(secret.range.start >= end && secret.range.start < secret.range.end);
            prop_assert!(text.get(secret.range.clone()).is_some());
            end = secret.range.end;
        }
    }
}

/// A text in which a secret is cut in two at each place, by each of these.
#[test]
fn key_is_found_wherever_a_line_end_divides_it() {
    let key = format!("muninn-{}", "0123456789abcdef".repeat(4));
    for between in [
        "\n", "\r\n", "\n    ", "\n\t", "\\\n", "\\\n  ", "\\\r\n", "=\r\n", "=\n", "\\n", "\\r\\n", "\" +\n  \"",
        "\"\n  + \"", "\" \\\n  \"", "\"\n\"", "' .\n '", "\" & \"", "\\\" + \\\"", "\u{200b}", "\u{ad}", "\n> ",
        "\n| ", "\n# ", "\n// ",
    ] {
        for at in 1..key.len() {
            let quote = if between.contains('\'') { "'" } else { "\"" };
            let text = format!("key: {quote}{}{between}{}{quote} end", &key[..at], &key[at..]);
            let redacted = redact(&text);
            let left = redacted.replace("[redacted:muninn-key]", "").replace(['\n', ' '], "");
            assert_eq!(left, format!("key:{quote}{quote}end"), "{between:?} at {at}: {redacted}");
        }
    }
}

#[test]
fn own_key_is_found_with_any_hyphen() {
    let digits = "0123456789abcdef".repeat(4);
    for hyphen in ["-", "_", "\u{2010}", "\u{2011}", "\u{2013}", "\u{2212}", "\u{ff0d}"] {
        let text = format!("key muninn{hyphen}{digits} end");
        assert_eq!(redact(&text), "key [redacted:muninn-key] end", "{hyphen}");
    }
}

/// A key that is divided or escaped in each of these ways.
fn divided_forms(key: &str) -> Vec<(&'static str, String)> {
    let (first, second) = key.split_at(key.len() / 2);
    let third = key.len() / 3;
    let initial = u32::from(key.chars().next().unwrap());
    vec![
        ("percent", key.replace('-', "%2D").replace('_', "%5F").replace('.', "%2E")),
        ("double percent", key.replace('-', "%252D").replace('_', "%255F").replace('.', "%252E")),
        ("unicode escape", format!("\\u{initial:04x}{}", &key[1..])),
        ("hex escape", format!("\\x{initial:02x}{}", &key[1..])),
        ("reference", format!("&#{initial};{}", &key[1..])),
        ("hex reference", format!("&#x{initial:x};{}", &key[1..])),
        ("continued", format!("{first}\\\n{second}")),
        ("continued and indented", format!("{first}\\\r\n    {second}")),
        ("soft line end", format!("{first}=\n{second}")),
        ("zero width", format!("{first}\u{200b}{second}")),
        ("soft hyphen", format!("{first}\u{ad}{second}")),
        ("invisible reference", format!("{first}&#8203;{second}")),
        ("named reference", format!("{first}&shy;{second}")),
        ("concatenated", format!("\"{first}\" + \"{second}\"")),
        ("adjacent", format!("'{first}' '{second}'")),
        ("list", format!("\"{first}\", \"{second}\"")),
        ("list in lines", format!("[\"{first}\",\n  \"{second}\"]")),
        ("line end", format!("{first}\n{second}")),
        ("indented", format!("|\n  {first}\n  {second}")),
        ("three lines", format!("{}\n{}\n{}", &key[..third], &key[third..2 * third], &key[2 * third..])),
        ("quoted", format!("\n> {first}\n> {second}")),
        ("numbered", format!("\n   12  {first}\n   13  {second}")),
        ("numbered with bars", format!("\n 9 | {first}\n10 | {second}")),
        ("numbered with tabs", format!("\n99\t{first}\n100\t{second}")),
        ("coloured", format!("{first}\u{1b}[0m{second}")),
        ("colour in JSON", format!("{first}\\u001b[1;32m{second}")),
        ("broken", format!("{first}<br>{second}")),
        ("broken and closed", format!("{first}<br />\n{second}")),
        ("word break", format!("{first}<wbr>{second}")),
        ("formatted", format!("<b>{first}</b><i>{second}</i>")),
    ]
}

#[test]
fn divided_key_is_found_whatever_follows() {
    let keys = [
        format!("muninn-{}", "9f3a7bc1d2e4458690ab12cd34ef5678".repeat(2)),
        "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2".to_owned(),
        "MTE5ODYyMjQ4MzQ3MTkyNTI0OA.Gx7Kq2.aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2d4".to_owned(),
        "9f3a7bc1d2e4458690ab12cd34ef5678.aB3dE5fG7hJ9kL1m".to_owned(),
    ];
    let followers = [
        "", "\nfor the gateway", "\n- item", "\r\nand go", "\nend", " and go", ".\nThen", "\n\nNext",
        "\nmore\neven more",
    ];
    let mut wrong = Vec::new();
    for key in &keys {
        for (form, written) in divided_forms(key) {
            for before in ["the token is ", "plain\n", ""] {
                for after in followers {
                    let text = format!("{before}{written}{after}");
                    let left = redact(&text);
                    let is_left =
                        key.as_bytes().windows(8).any(|part| left.contains(std::str::from_utf8(part).unwrap()));
                    if is_left || !left.ends_with(after) || !left.starts_with(before) {
                        wrong.push(format!("{form}: {text:?} -> {left:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
