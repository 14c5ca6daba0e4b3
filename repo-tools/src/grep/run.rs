use std::ops::ControlFlow;

use grep_regex::RegexMatcher;
use muninn_base::RelPath;
use muninn_base::ordered::{in_order, threads};

use super::query::{Detail, FileCount, GrepError, GrepQuery, GrepResult, MatchTotals, compile};
use super::search::{self, FileMatches, SkipReason};
use crate::cut::Cut;
use crate::files::files;
use crate::walk::{FileEntry, WalkLimits};
use crate::worktree::Worktree;

/// Searches the files that [`crate::walk`] lists, or only those of `within`.
///
/// # Errors
/// [`GrepError`] for an invalid pattern or glob. Files that cannot be read are skipped and counted.
pub fn grep(worktree: &Worktree, query: &GrepQuery, within: Option<&[FileEntry]>) -> Result<GrepResult, GrepError> {
    match within {
        Some(entries) => {
            let filter = query.filter.compile(worktree.root())?;
            let paths = entries.iter().map(|entry| &entry.path);
            let wanted: Vec<RelPath> =
                paths.filter(|path| filter.accepts(&path.to_path_buf(), false)).cloned().collect();
            grep_paths(worktree, query, &wanted)
        }
        None => {
            let matcher = compile(query)?;
            let limits = &query.limits;
            let listed = files(worktree, &query.filter, WalkLimits::default().max_files, &limits.until)?;
            let mut result = run(worktree, &matcher, query, &listed.paths, true);
            result.skipped.merge(&listed.skipped);
            listed.cuts.iter().for_each(|cut| result.stop(cut));
            Ok(result)
        }
    }
}

/// Searches exactly these files, in their order.
pub fn grep_paths(worktree: &Worktree, query: &GrepQuery, paths: &[RelPath]) -> Result<GrepResult, GrepError> {
    Ok(run(worktree, &compile(query)?, query, paths, false))
}

/// Searches files. `walked` means that a walk has just found the files, so they are known to be regular files.
fn run(worktree: &Worktree, matcher: &RegexMatcher, query: &GrepQuery, paths: &[RelPath], walked: bool) -> GrepResult {
    let limits = &query.limits;
    let mut result = GrepResult::default();
    let mut totals = MatchTotals::default();
    let within = &paths[..paths.len().min(limits.max_files)];
    in_order(
        within,
        threads(within.len()),
        || search::FileSearch::new(matcher, query, &limits.until),
        |search, path| {
            if limits.until.is_over() { Err(SkipReason::Deadline) } else { search.file(worktree, path, walked) }
        },
        |path, found| {
            let found = match found {
                Ok(found) => found,
                Err(SkipReason::Deadline) => {
                    result.stop(Cut::Time);
                    return ControlFlow::Break(());
                }
                Err(reason) => {
                    reason.count(&mut result.skipped);
                    return ControlFlow::Continue(());
                }
            };
            if result.add(path, found, query, &mut totals) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    if within.len() < paths.len() {
        result.stop(Cut::Files);
    }
    result
}

impl GrepResult {
    pub(crate) fn stop(&mut self, cut: Cut) {
        self.cut = true;
        self.cuts.add(cut);
    }

    /// Adds a searched file. Returns whether a limit ends the search. The result counts as cut only if a match beyond
    /// the limit exists, so a result with exactly `max_matches` matches can be complete.
    pub(crate) fn add(
        &mut self,
        path: &RelPath,
        found: FileMatches,
        query: &GrepQuery,
        totals: &mut MatchTotals,
    ) -> bool {
        self.searched += 1;
        if found.lines == 0 {
            return false;
        }
        if found.more {
            self.stop(Cut::MatchesPerFile);
        }
        self.add_matches(path, found, query, totals)
    }

    /// Adds a file's matches within the limits. Returns whether a limit ends the search.
    fn add_matches(&mut self, path: &RelPath, found: FileMatches, query: &GrepQuery, totals: &mut MatchTotals) -> bool {
        let limits = &query.limits;
        let MatchTotals { lines, bytes } = totals;
        if *lines >= limits.max_matches {
            self.stop(Cut::Matches);
            return true;
        }
        let mut count = FileCount { path: path.clone(), lines: found.lines, binary: found.binary };
        if query.detail != Detail::Lines {
            *lines += if query.detail == Detail::Files { 1 } else { found.lines };
            self.counts.push(count);
            return false;
        }
        count.lines = 0;
        let mut full = None;
        for line in found.matches {
            if !line.context && *lines >= limits.max_matches {
                full = Some(Cut::Matches);
                break;
            }
            *bytes += line.text.len();
            if *bytes > limits.max_bytes {
                full = Some(Cut::Bytes);
                break;
            }
            let matched = usize::from(!line.context);
            (*lines, count.lines) = (*lines + matched, count.lines + matched);
            self.matches.push(line);
        }
        self.counts.push(count);
        if let Some(cut) = full {
            self.stop(cut);
        }
        full.is_some()
    }
}

#[cfg(test)]
mod differential;

#[cfg(test)]
mod many_tests;

#[cfg(test)]
mod tests;
