//! Files by name.

use std::time::Duration;

use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, FilterError, files};
use crate::path::RelPath;
use crate::until::Until;
use crate::walk::WalkLimits;
use crate::worktree::Worktree;

/// Which files to find.
#[derive(Debug, Clone)]
pub struct FindQuery {
    /// A glob (`*_test.go`, `src/**/mod.rs`), or a part of the path in any case.
    pub name: String,
    /// Where to look.
    pub filter: FileFilter,
    /// So many files at most.
    pub max_files: usize,
    /// When to give up.
    pub until: Until,
}

impl FindQuery {
    /// Looks everywhere.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            filter: FileFilter::default(),
            max_files: 1_000,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct FindResult {
    /// The files: those with exactly this name first, then those with it in their name, then the others, each by path.
    pub paths: Vec<RelPath>,
    /// Which bounds were reached.
    pub cuts: Cuts,
}

/// Finds files by their names.
///
/// # Errors
/// [`FilterError`] for a malformed glob.
pub fn find(worktree: &Worktree, query: &FindQuery) -> Result<FindResult, FilterError> {
    let mut filter = query.filter.clone();
    let glob = query.name.contains(['*', '?', '[', '{']);
    if glob {
        let own = FileFilter {
            globs: vec![query.name.trim_start_matches('!').to_owned()],
            under: Vec::new(),
        };
        if filter.globs.is_empty() {
            filter.globs = own.globs;
        } else {
            // Two lists of globs that both have to agree.
            let chosen = own.compile(worktree.root())?;
            let mut found = all(worktree, &filter, query)?;
            found.0.retain(|path| chosen.wants(&path.to_path_buf(), false));
            return Ok(first(found, query.max_files));
        }
    }
    let (mut paths, cuts) = all(worktree, &filter, query)?;
    if !glob {
        let wanted = query.name.to_lowercase();
        paths.retain(|path| path.as_str().to_lowercase().contains(&wanted));
        paths.sort_by_cached_key(|path| {
            let name = path.file_name().to_lowercase();
            (name != wanted, !name.contains(&wanted), path.clone())
        });
    }
    Ok(first((paths, cuts), query.max_files))
}

fn all(worktree: &Worktree, filter: &FileFilter, query: &FindQuery) -> Result<(Vec<RelPath>, Cuts), FilterError> {
    let listed = files(worktree, filter, WalkLimits::default().max_files, &query.until)?;
    let mut cuts = Cuts::default();
    if listed.late {
        cuts.add(Cut::Time);
    }
    Ok((listed.paths, cuts))
}

fn first((mut paths, mut cuts): (Vec<RelPath>, Cuts), max_files: usize) -> FindResult {
    if paths.len() > max_files {
        paths.truncate(max_files);
        cuts.add(Cut::Matches);
    }
    FindResult { paths, cuts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn finds_by_glob_and_by_part() {
        let repo = Fixture::with(&[
            (".gitignore", "target/\n"),
            ("a/Parser.rs", "x"),
            ("a/parser_test.rs", "x"),
            ("parser/mod.rs", "x"),
            ("target/parser.rs", "x"),
            ("credentials.json", "x"),
        ]);
        for (name, expected) in [
            ("parser.rs", &["a/Parser.rs"][..]),
            ("parser", &["a/Parser.rs", "a/parser_test.rs", "parser/mod.rs"]),
            ("*_test.rs", &["a/parser_test.rs"]),
            ("a/**", &["a/Parser.rs", "a/parser_test.rs"]),
            ("credentials", &[]),
            ("mod.rs", &["parser/mod.rs"]),
        ] {
            let found = find(&repo.worktree(), &FindQuery::new(name)).unwrap();
            let paths: Vec<&str> = found.paths.iter().map(RelPath::as_str).collect();
            assert_eq!(paths, expected, "{name}");
        }
        let one = FindQuery {
            max_files: 1,
            ..FindQuery::new("rs")
        };
        assert!(find(&repo.worktree(), &one).unwrap().cuts.has(Cut::Matches));
        let mut both = FindQuery::new("*.rs");
        both.filter.globs = vec!["!a/".to_owned()];
        assert_eq!(find(&repo.worktree(), &both).unwrap().paths.len(), 1);
        assert!(find(&repo.worktree(), &FindQuery::new("a[")).is_err());
    }
}
