//! Finding files by name.

use std::time::Duration;

use muninn_base::{RelPath, Until};
use serde::Serialize;

use crate::cut::{Cut, Cuts};
use crate::files::{FileFilter, FilterError, files};
use crate::walk::WalkLimits;
use crate::worktree::Worktree;

/// A search for files by name.
#[derive(Debug, Clone)]
pub struct FindQuery {
    /// A glob (`*_test.go`, `src/**/mod.rs`), or a part of the path. Case is ignored.
    pub name: String,
    /// The files to search.
    pub filter: FileFilter,
    /// Maximum number of results.
    pub max_files: usize,
    /// The deadline.
    pub until: Until,
}

impl FindQuery {
    /// Creates a search over the whole worktree with default limits.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            filter: FileFilter::default(),
            max_files: 1_000,
            until: Until::within(Duration::from_secs(10)),
        }
    }
}

/// The result of [`find`].
#[derive(Debug, Serialize)]
pub struct FindResult {
    /// The files: exact names first, then names that contain the text, then the other paths, each group sorted.
    pub paths: Vec<RelPath>,
    /// The limits that were reached.
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
        let own = FileFilter { globs: vec![query.name.trim_start_matches('!').to_owned()], under: Vec::new() };
        if filter.globs.is_empty() {
            filter.globs = own.globs;
        } else {
            // A file must match both lists of globs.
            let own = own.compile(worktree.root())?;
            let mut found = all(worktree, &filter, query)?;
            found.0.retain(|path| own.accepts(&path.to_path_buf(), false));
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
    Ok((listed.paths, listed.cuts))
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
        let one = FindQuery { max_files: 1, ..FindQuery::new("rs") };
        assert!(find(&repo.worktree(), &one).unwrap().cuts.has(Cut::Matches));
        let mut both = FindQuery::new("*.rs");
        both.filter.globs = vec!["!a/".to_owned()];
        assert_eq!(find(&repo.worktree(), &both).unwrap().paths.len(), 1);
        assert!(find(&repo.worktree(), &FindQuery::new("a[")).is_err());
    }
}
