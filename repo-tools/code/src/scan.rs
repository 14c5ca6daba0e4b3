//! Reading and parsing the candidate files of a question.

use std::ops::ControlFlow;

use muninn_base::ordered::{in_order, threads};
use muninn_base::{RelPath, Until};
use muninn_repo_tools::{
    Cut, Cuts, Detail, FileFilter, FilterError, GrepLimits, GrepPattern, GrepQuery, WalkLimits, Worktree, files, grep,
    read_text,
};

use super::{Candidates, CodeError, CodeLimits, NameQuery};
use crate::syntax::{Language, ParseLimits, Parsed, parse};

/// A file that was read, and parsed if it has a grammar.
pub(super) struct Scanned {
    pub(super) language: Option<Language>,
    pub(super) source: String,
    /// `None` without a grammar, or if parsing failed.
    pub(super) parsed: Option<Parsed>,
}

/// Parses files on several threads and passes them to `take` in order. Returns the limits that were reached.
pub(super) fn scan(
    worktree: &Worktree,
    paths: &[RelPath],
    limits: &CodeLimits,
    parse_limits: &ParseLimits<'_>,
    mut take: impl FnMut(&RelPath, Scanned) -> ControlFlow<()> + Send,
) -> Cuts {
    let mut cuts = Cuts::default();
    let within = &paths[..paths.len().min(limits.max_files)];
    if within.len() < paths.len() {
        cuts.add(Cut::Files);
    }
    in_order(
        within,
        threads(within.len()),
        || (),
        |(), path| {
            if limits.until.is_over() {
                return None;
            }
            Some(scan_file(worktree, path, limits, parse_limits))
        },
        |path, scanned| match scanned {
            None => {
                cuts.add(Cut::Time);
                ControlFlow::Break(())
            }
            Some(None) => ControlFlow::Continue(()),
            Some(Some(scanned)) => take(path, scanned),
        },
    );
    cuts
}

fn scan_file(
    worktree: &Worktree,
    path: &RelPath,
    limits: &CodeLimits,
    parse_limits: &ParseLimits<'_>,
) -> Option<Scanned> {
    let source = read_text(worktree, path, limits.max_file_bytes).ok()?.text;
    let language = Language::of(path, &source);
    let bounds = ParseLimits {
        max_bytes: usize::try_from(limits.max_file_bytes).unwrap_or(usize::MAX),
        until: Some(&limits.until),
        ..*parse_limits
    };
    let parsed = language.and_then(|language| parse(language, &source, &bounds).ok());
    Some(Scanned { language, source, parsed })
}

/// Returns the files that can contain the name of a question, and the limits that were reached in finding them.
pub(super) fn candidates(worktree: &Worktree, query: &NameQuery<'_>) -> Result<(Vec<RelPath>, Cuts), CodeError> {
    let (name, _) = query.parts();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(CodeError::Name { name: query.name.clone() });
    }
    if let Candidates::Paths(paths) = query.candidates {
        return Ok((wanted(worktree, paths, &query.filter)?, Cuts::default()));
    }
    let search = GrepQuery {
        detail: Detail::Files,
        filter: query.filter.clone(),
        limits: GrepLimits {
            // One file more than can be parsed, to detect that there are more files.
            max_matches: query.limits.max_files.saturating_add(1),
            max_file_bytes: query.limits.max_file_bytes,
            until: query.limits.until.clone(),
            ..GrepLimits::default()
        },
        ..GrepQuery::new(GrepPattern::Literals(vec![name.to_owned()]))
    };
    let found = grep(worktree, &search, None)?;
    Ok((found.counts.into_iter().map(|file| file.path).collect(), found.cuts))
}

/// Returns the paths that a filter accepts.
pub(super) fn wanted(worktree: &Worktree, paths: &[RelPath], filter: &FileFilter) -> Result<Vec<RelPath>, FilterError> {
    let filter = filter.compile(worktree.root())?;
    let wanted = paths.iter().filter(|path| filter.accepts(&path.to_path_buf(), false));
    Ok(wanted.cloned().collect())
}

/// Returns all files that have a grammar by their names.
pub(super) fn sources(
    worktree: &Worktree,
    filter: &FileFilter,
    until: &Until,
) -> Result<(Vec<RelPath>, Cuts), CodeError> {
    let listed = files(worktree, filter, WalkLimits::default().max_files, until)?;
    let known = |path: &RelPath| Language::of_path(path).is_some();
    Ok((listed.paths.into_iter().filter(known).collect(), listed.cuts))
}
