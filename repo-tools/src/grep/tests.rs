//! Its bounds, and files that are not plain text.

use std::time::Duration;

use super::*;
use crate::fixture::Fixture;

fn limits() -> GrepLimits {
    GrepLimits {
        max_files: 100,
        max_matches: 100,
        max_matches_per_file: 50,
        max_file_bytes: 1 << 20,
        max_bytes: 1 << 20,
        deadline: Instant::now() + Duration::from_secs(60),
    }
}

fn literals(words: &[&str], limits: GrepLimits) -> GrepQuery {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    GrepQuery {
        case_sensitive: false,
        limits,
        ..GrepQuery::new(GrepPattern::Literals(words))
    }
}

#[test]
fn finds_lines_and_counts_them_right() {
    let repo = Fixture::with(&[
        ("a.rs", "\u{feff}fn one() {}\r\nfn Two() {}\r\n"),
        ("b.rs", "// (two)\n"),
        (".env", "two\n"),
    ]);
    let found = grep(&repo.worktree(), &literals(&["two", "x+y"], limits()), None).unwrap();
    let lines: Vec<_> = found
        .matches
        .iter()
        .map(|m| (m.path.as_str(), m.line, m.text.as_str()))
        .collect();
    assert_eq!(lines, [("a.rs", 2, "fn Two() {}"), ("b.rs", 1, "// (two)")]);
    assert!(!found.cut);
    let pattern = GrepPattern::Regex(r"fn \w+\(".to_owned());
    let regex = GrepQuery::new(pattern);
    assert_eq!(grep(&repo.worktree(), &regex, None).unwrap().matches.len(), 2);
}

#[test]
fn every_bound_holds_and_is_told() {
    let many = "hit\n".repeat(60);
    let repo = Fixture::with(&[("a.txt", &many), ("b.txt", &many), ("c.txt", &"hit ".repeat(1000))]);
    let run = |limits| grep(&repo.worktree(), &literals(&["hit"], limits), None).unwrap();
    let per_file = run(limits());
    assert_eq!((per_file.matches.len(), per_file.cut), (100, true));
    assert!(
        run(GrepLimits {
            max_matches: 7,
            ..limits()
        })
        .matches
        .len()
            == 7
    );
    assert_eq!(
        run(GrepLimits {
            max_files: 1,
            ..limits()
        })
        .searched,
        1
    );
    let late = run(GrepLimits {
        deadline: Instant::now(),
        ..limits()
    });
    assert!(late.cut && late.matches.is_empty());
    let wide = run(GrepLimits {
        max_matches_per_file: 1,
        ..limits()
    });
    assert_eq!(wide.matches[2].text.len(), MAX_LINE_BYTES);
}

#[test]
fn refuses_patterns_that_mean_nothing() {
    let repo = Fixture::with(&[]);
    assert!(grep(&repo.worktree(), &literals(&[], limits()), None).is_err());
    let query = GrepQuery::new(GrepPattern::Regex("(".into()));
    assert!(matches!(
        grep(&repo.worktree(), &query, None),
        Err(GrepError::Pattern { .. })
    ));
}
