//! Limits, and files that are not plain text.

use std::time::Duration;

use muninn_base::Until;

use super::*;
use crate::fixture::Fixture;
use crate::grep::MAX_LINE_BYTES;
use crate::{GrepLimits, GrepPattern};

fn limits() -> GrepLimits {
    GrepLimits {
        max_files: 100,
        max_matches: 100,
        max_matches_per_file: 50,
        max_file_bytes: 1 << 20,
        max_bytes: 1 << 20,
        until: Until::within(Duration::from_secs(60)),
    }
}

fn literals(words: &[&str], limits: GrepLimits) -> GrepQuery {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    GrepQuery { case_sensitive: false, limits, ..GrepQuery::new(GrepPattern::Literals(words)) }
}

#[test]
fn finds_lines_and_counts_them_right() {
    let repo =
        Fixture::with(&[("a.rs", "\u{feff}fn one() {}\r\nfn Two() {}\r\n"), ("b.rs", "// (two)\n"), (".env", "two\n")]);
    let found = grep(&repo.worktree(), &literals(&["two", "x+y"], limits()), None).unwrap();
    let lines: Vec<_> = found.matches.iter().map(|m| (m.path.as_str(), m.line, m.text.as_str())).collect();
    assert_eq!(lines, [("a.rs", 2, "fn Two() {}"), ("b.rs", 1, "// (two)")]);
    assert!(!found.cut);
    let pattern = GrepPattern::Regex(r"fn \w+\(".to_owned());
    let regex = GrepQuery::new(pattern);
    assert_eq!(grep(&repo.worktree(), &regex, None).unwrap().matches.len(), 2);
}

#[test]
fn every_limit_holds_and_is_reported() {
    let many = "hit\n".repeat(60);
    let repo = Fixture::with(&[("a.txt", &many), ("b.txt", &many), ("c.txt", &"hit ".repeat(1000))]);
    let run = |limits| grep(&repo.worktree(), &literals(&["hit"], limits), None).unwrap();
    let per_file = run(limits());
    assert_eq!((per_file.matches.len(), per_file.cut), (100, true));
    assert!(run(GrepLimits { max_matches: 7, ..limits() }).matches.len() == 7);
    assert_eq!(run(GrepLimits { max_files: 1, ..limits() }).searched, 1);
    let late = run(GrepLimits { until: Until::within(Duration::ZERO), ..limits() });
    assert!(late.cut && late.matches.is_empty());
    let wide = run(GrepLimits { max_matches_per_file: 1, ..limits() });
    assert_eq!(wide.matches[2].text.len(), MAX_LINE_BYTES);
}

#[test]
fn empty_and_malformed_patterns_are_refused() {
    let repo = Fixture::with(&[]);
    assert!(grep(&repo.worktree(), &literals(&[], limits()), None).is_err());
    let query = GrepQuery::new(GrepPattern::Regex("(".into()));
    assert!(matches!(grep(&repo.worktree(), &query, None), Err(GrepError::Pattern { .. })));
}

#[test]
fn literals_are_not_read_as_regular_expressions() {
    let repo = Fixture::with(&[("a.txt", "$1 (x) a.b\na+b\naab axb\n")]);
    for (word, expected) in [("$1", 1), ("(x)", 1), ("a.b", 1), ("a+b", 1), ("^", 0)] {
        let found = grep(&repo.worktree(), &literals(&[word], limits()), None).unwrap();
        assert_eq!(found.matches.len(), expected, "{word}");
    }
}

#[test]
fn long_lines_show_their_match_and_context_is_marked() {
    let long = format!("{}needle{}", "x ".repeat(5_000), " y".repeat(5_000));
    let repo = Fixture::with(&[("a.txt", &format!("before\n{long}\nafter\n"))]);
    let query = GrepQuery { context: (1, 1), ..literals(&["needle"], limits()) };
    let found = grep(&repo.worktree(), &query, None).unwrap();
    let shown: Vec<_> = found.matches.iter().map(|line| (line.line, line.context, line.cut)).collect();
    assert_eq!(shown, [(1, true, false), (2, false, true), (3, true, false)]);
    assert!(found.matches[1].text.contains("needle") && found.matches[1].text.len() <= MAX_LINE_BYTES);
    assert_eq!(found.counts, [FileCount { path: RelPath::new("a.txt").unwrap(), lines: 1, binary: false }]);
}

#[test]
fn the_same_limits_give_the_same_lines() {
    let repo = Fixture::with(&[]);
    for n in 0..200 {
        repo.write(&format!("{n:03}.txt"), b"hit\nhit\n");
    }
    let cut = GrepLimits { max_matches: 37, ..limits() };
    let query = GrepQuery { limits: GrepLimits { max_files: 1_000, ..cut }, ..literals(&["hit"], limits()) };
    let first = grep(&repo.worktree(), &query, None).unwrap();
    assert!(first.cuts.has(Cut::Matches) && first.matches.len() == 37);
    assert_eq!(first.matches[36].path.as_str(), "018.txt");
    for _ in 0..20 {
        assert_eq!(grep(&repo.worktree(), &query, None).unwrap().matches, first.matches);
    }
}

#[cfg(unix)]
#[test]
fn symlinks_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.txt"), "needle\n").unwrap();
    let repo = Fixture::with(&[("in/x.txt", "needle\n")]);
    std::os::unix::fs::symlink(outside.path(), repo.path("out")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("x.txt"), repo.path("out.txt")).unwrap();
    let found = grep(&repo.worktree(), &literals(&["needle"], limits()), None).unwrap();
    assert_eq!(found.matches.len(), 1);
    let named: Vec<RelPath> = ["out/x.txt", "out.txt", "in/x.txt"].map(|path| RelPath::new(path).unwrap()).into();
    let found = grep_paths(&repo.worktree(), &literals(&["needle"], limits()), &named).unwrap();
    assert_eq!((found.matches.len(), found.matches[0].path.as_str()), (1, "in/x.txt"));
}
