//! Every long operation ends at its deadline and on cancellation.

use std::time::Duration;

use muninn_base::{CancelFlag, RelPath, Until};
use muninn_repo_tools::fixture::Fixture;
use muninn_repo_tools::metis::{MetisLimits, documents};
use muninn_repo_tools::{
    Cut, Cuts, FileFilter, FindQuery, GrepLimits, GrepPattern, GrepQuery, TreeLimits, WalkLimits, find, grep,
    grep_many, list, tree, walk_until,
};

use crate::syntax::{ParseError, ParseLimits};
use crate::{
    Candidates, CodeLimits, NameMatch, NameQuery, OutlineError, SymbolQuery, callers, definition, outline, references,
    symbols,
};

fn expired_deadlines() -> [Until; 2] {
    let cancelled = CancelFlag::default();
    cancelled.cancel();
    let hour = Until::within(Duration::from_secs(3_600));
    [Until::within(Duration::ZERO), hour.or(cancelled)]
}

#[test]
fn expired_deadlines_end_every_operation_without_results() {
    let repo = Fixture::with(&[
        (".metis/vision.md", "---\nid: v\nlevel: vision\n---\nx\n"),
        ("src/a.rs", "fn hit() { hit() }\n"),
    ]);
    repo.commit();
    repo.write("src/a.rs", b"fn hit() {}\n");
    let worktree = repo.worktree();
    for until in expired_deadlines() {
        let query = GrepQuery {
            limits: GrepLimits { until: until.clone(), ..GrepLimits::default() },
            ..GrepQuery::new(GrepPattern::Literals(vec!["hit".to_owned()]))
        };
        let name = || NameQuery {
            limits: CodeLimits { until: until.clone(), ..CodeLimits::default() },
            ..NameQuery::new("hit")
        };
        let symbol = SymbolQuery {
            name: NameMatch::Exact("hit".to_owned()),
            kinds: Vec::new(),
            filter: FileFilter::default(),
            candidates: Candidates::Grep,
            limits: name().limits,
        };
        let mut many = grep_many(&worktree, &[query.clone(), query.clone()], None, &until);
        let last = many.pop().unwrap().unwrap();
        let mut within =
            grep_many(&worktree, std::slice::from_ref(&query), Some(&[RelPath::new("src/a.rs").unwrap()]), &until);
        let found: Vec<(&str, Cuts, usize)> = vec![
            {
                let found = grep(&worktree, &query, None).unwrap();
                ("grep", found.cuts, found.matches.len())
            },
            ("grep_many", last.cuts, last.matches.len()),
            {
                let found = within.remove(0).unwrap();
                ("grep_many within", found.cuts, found.matches.len())
            },
            {
                let until = until.clone();
                let found = find(&worktree, &FindQuery { until, ..FindQuery::new("a") }).unwrap();
                ("find", found.cuts, found.paths.len())
            },
            {
                let until = until.clone();
                let found = tree(&worktree, &TreeLimits { until, ..TreeLimits::default() }).unwrap();
                ("tree", found.cuts, found.lines.len())
            },
            {
                let found = list(&worktree, None, 9, &until).unwrap();
                ("list", found.cuts, found.entries.len())
            },
            {
                let until = until.clone();
                let found = documents(&worktree, &MetisLimits { until, ..MetisLimits::default() });
                ("metis", found.cuts, found.documents.len())
            },
            {
                let found = symbols(&worktree, &symbol).unwrap();
                ("symbols", found.cuts, found.symbols.len())
            },
            {
                let found = definition(&worktree, &name()).unwrap();
                ("definition", found.cuts, found.definitions.len())
            },
            {
                let found = references(&worktree, &name()).unwrap();
                ("references", found.cuts, found.references.len())
            },
            {
                let found = callers(&worktree, &name()).unwrap();
                ("callers", found.cuts, found.callers.len())
            },
        ];
        for (operation, cuts, results) in found {
            assert!(cuts.has(Cut::Time) && results == 0, "{operation}: {cuts:?}, {results} results");
        }
        let walked = walk_until(&worktree, &WalkLimits::default(), Some(&until));
        assert!(walked.cut && walked.files.is_empty());
        let limits = ParseLimits { until: Some(&until), ..ParseLimits::default() };
        let outlined = outline(&worktree, &RelPath::new("src/a.rs").unwrap(), &limits);
        assert!(matches!(outlined, Err(OutlineError::Unparsed { source: ParseError::Slow, .. })));
    }
}
