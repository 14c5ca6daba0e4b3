//! Searches that run together return the same results as separate searches.

use std::time::Duration;

use muninn_base::{CancelFlag, Until};

use super::differential::{Dice, awkward_tree, query};
use super::*;
use crate::fixture::Fixture;
use crate::{GrepPattern, grep_many};

fn hour() -> Until {
    Until::within(Duration::from_secs(3_600))
}

/// Creates a query whose limits can be reached.
fn bounded(dice: &mut Dice) -> GrepQuery {
    let mut query = query(dice);
    let mut bound = |few: usize| if dice.roll(3) == 0 { dice.roll(few) } else { usize::MAX };
    query.limits.max_files = bound(40);
    query.limits.max_matches = bound(60);
    query.limits.max_matches_per_file = bound(6);
    query.limits.max_bytes = bound(2_000);
    query.limits.max_file_bytes = bound(3_000) as u64;
    if dice.roll(4) == 0 {
        let under = dice.pick(&["src", "docs/a.rs", "src/deep", "nowhere", "ignored"]);
        query.filter.under = RelPath::new(under).into_iter().collect();
    }
    query
}

#[test]
fn each_query_has_the_same_result_as_alone() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let repo = awkward_tree(&mut dice);
    repo.write(".env", b"token\n");
    repo.write("inner/.git/HEAD", b"ref: refs/heads/main\n");
    repo.write("src/inner/.git/HEAD", b"ref: refs/heads/main\n");
    // This file is larger than the maximum size of a shared file.
    repo.write("large.txt", "token and a Bucket\nnothing\n".repeat(80_000).as_bytes());
    let worktree = repo.worktree();
    let all: Vec<RelPath> =
        crate::walk(&worktree, &WalkLimits::default()).files.into_iter().map(|file| file.path).collect();
    let (mut cut, mut found) = (0, 0);
    for round in 0..60 {
        let mut queries: Vec<GrepQuery> = (0..=dice.roll(9)).map(|_| bounded(&mut dice)).collect();
        if round % 3 == 0 {
            let filter = queries[0].filter.clone();
            queries.iter_mut().for_each(|query| query.filter = filter.clone());
        }
        let within = (round % 2 == 1).then_some(all.as_slice());
        let together = grep_many(&worktree, &queries, within, &hour());
        assert_eq!(together.len(), queries.len());
        for (query, together) in queries.iter().zip(together) {
            let alone = match within {
                None => grep(&worktree, query, None),
                Some(paths) => {
                    let filter = query.filter.compile(worktree.root()).unwrap();
                    let wanted = paths.iter().filter(|path| filter.accepts(&path.to_path_buf(), false));
                    grep_paths(&worktree, query, &wanted.cloned().collect::<Vec<_>>())
                }
            };
            assert_eq!(format!("{together:?}"), format!("{alone:?}"), "{query:?}");
            if let Ok(result) = together {
                (cut, found) = (cut + usize::from(result.cut), found + result.counts.len());
            }
        }
    }
    assert!(cut > 40 && found > 1_000, "only {cut} cut results and {found} matching files were compared");
}

#[test]
fn an_invalid_query_does_not_affect_the_others() {
    let repo = Fixture::with(&[("a.txt", "hit\n")]);
    let query = |pattern: &str| GrepQuery::new(GrepPattern::Regex(pattern.to_owned()));
    let mut globs = query("hit");
    globs.filter.globs = vec!["{".to_owned()];
    let queries = [query("("), query("hit"), globs, query("")];
    let results = grep_many(&repo.worktree(), &queries, None, &hour());
    let found: Vec<_> = results.iter().map(|result| result.as_ref().map(|found| found.matches.len()).ok()).collect();
    assert_eq!(found, [None, Some(1), None, None]);
    assert!(grep_many(&repo.worktree(), &[], None, &hour()).is_empty());
}

#[test]
fn more_than_64_queries_run() {
    let repo = Fixture::with(&[("a.txt", "n0\nn1\nn69\n")]);
    let queries: Vec<_> = (0..70).map(|n| GrepQuery::new(GrepPattern::Literals(vec![format!("n{n}")]))).collect();
    let results = grep_many(&repo.worktree(), &queries, None, &hour());
    let found = |at: usize| results[at].as_ref().unwrap().matches.len();
    assert_eq!((results.len(), found(0), found(1), found(2), found(69)), (70, 1, 1, 0, 1));
}

/// The reader cancels the search at its third read, and panics at a fourth.
#[test]
fn a_cancelled_search_ends_inside_a_file() {
    struct CancellingReader<'a>(&'a CancelFlag, usize);
    impl std::io::Read for CancellingReader<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 += 1;
            if self.1 == 3 {
                self.0.cancel();
            }
            assert!(self.1 <= 3, "the search read again after the cancellation");
            buffer.fill(b'\n');
            Ok(buffer.len())
        }
    }
    let cancelled = CancelFlag::default();
    let query = GrepQuery::new(GrepPattern::Literals(vec!["hit".to_owned()]));
    let (matcher, until) = (compile(&query).unwrap(), hour().or(cancelled.clone()));
    let path = RelPath::new("endless.txt").unwrap();
    let endless = CancellingReader(&cancelled, 0);
    let found = search::FileSearch::new(&matcher, &query, &until).text(endless, &path);
    assert_eq!(found.err(), Some(SkipReason::Deadline));
}
