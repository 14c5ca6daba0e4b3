//! Several searches over the same files. Each file is opened and read once.
//!
//! Most files contain no match, and a search in a small tree spends most of its time opening and reading files.
//! Therefore each thread reads a file into a reused buffer and runs all searches over it while the text is in the
//! processor's cache. First the whole buffer is scanned: one scan is cheaper than a search line by line, and usually
//! finds no candidate.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_regex::RegexMatcher;
use muninn_base::ordered::{in_order, threads};
use muninn_base::{RelPath, Until};

use super::search::{DeadlineReader, FileMatches, FileSearch, OpenFile, SkipReason};
use super::{GrepError, GrepQuery, GrepResult, MatchTotals, compile};
use crate::cut::{Cut, Cuts};
use crate::files::{CompiledFilter, FileFilter, bits, files, files_of_many};
use crate::walk::{SkipCounts, WalkLimits};
use crate::worktree::Worktree;

/// Maximum size of a shared file, in bytes; each search reads a larger file by itself.
const MAX_SHARED_BYTES: u64 = 2 << 20;
/// Maximum size for the scan of a whole buffer, in bytes; that scan cannot be interrupted at the deadline.
const MAX_SCAN_BYTES: usize = 1 << 20;
/// Maximum number of searches that share a walk: one bit of a `u64` each.
const MAX_AT_ONCE: usize = 64;

/// Runs several searches at once, over the files that [`crate::walk`] lists, or over those of `within` that each
/// query's filter accepts.
///
/// Each query has its own limits and, before the deadline, the same result as with [`super::grep`]. The deadline of all
/// queries is `until`; their own deadlines are ignored.
pub fn grep_many(
    worktree: &Worktree,
    queries: &[GrepQuery],
    within: Option<&[RelPath]>,
    until: &Until,
) -> Vec<Result<GrepResult, GrepError>> {
    let chunks = queries.chunks(MAX_AT_ONCE);
    chunks.flat_map(|queries| at_once(worktree, queries, within, until)).collect()
}

/// A query with its compiled pattern.
struct CompiledQuery<'q> {
    query: &'q GrepQuery,
    matcher: RegexMatcher,
}

/// The files to search, each with a bit for each query that accepts it.
#[derive(Default)]
struct Listed {
    paths: Vec<(RelPath, u64)>,
    /// The skipped files of each query; empty without a walk.
    skipped: Vec<SkipCounts>,
    cuts: Cuts,
    walked: bool,
}

fn at_once(
    worktree: &Worktree,
    queries: &[GrepQuery],
    within: Option<&[RelPath]>,
    until: &Until,
) -> Vec<Result<GrepResult, GrepError>> {
    let (mut compiled_queries, mut filters, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for query in queries {
        let compiled = compile(query).and_then(|matcher| Ok((matcher, query.filter.compile(worktree.root())?)));
        errors.push(match compiled {
            Ok((matcher, filter)) => {
                compiled_queries.push(CompiledQuery { query, matcher });
                filters.push(filter);
                None
            }
            Err(error) => Some(error),
        });
    }
    let listed = match within {
        Some(paths) => listed_within(paths, &filters),
        None => listed_by_walk(worktree, &compiled_queries, filters, until),
    };
    let mut results = search(worktree, &compiled_queries, listed, until).into_iter();
    let result = |error: Option<GrepError>| match error {
        Some(error) => Err(error),
        None => Ok(results.next().unwrap_or_default()),
    };
    errors.into_iter().map(result).collect()
}

fn listed_within(paths: &[RelPath], filters: &[CompiledFilter]) -> Listed {
    let mask = |path: &RelPath| {
        let path = path.to_path_buf();
        let accepting = filters.iter().enumerate().filter(|(_, filter)| filter.accepts(&path, false));
        accepting.fold(0, |mask, (bit, _)| mask | 1 << bit)
    };
    let paths = paths.iter().map(|path| (path.clone(), mask(path)));
    Listed { paths: paths.filter(|(_, mask)| *mask != 0).collect(), ..Listed::default() }
}

fn listed_by_walk(
    worktree: &Worktree,
    queries: &[CompiledQuery<'_>],
    compiled_filters: Vec<CompiledFilter>,
    until: &Until,
) -> Listed {
    let max_files = WalkLimits::default().max_files;
    // Usually all queries have the same filter, and then no mask per path is needed.
    let filters: Vec<&FileFilter> = queries.iter().map(|compiled| &compiled.query.filter).collect();
    let same = filters.windows(2).all(|two| two[0] == two[1]);
    match filters.first().filter(|_| same).map(|filter| files(worktree, filter, max_files, until)) {
        Some(Ok(files)) => Listed {
            paths: files.paths.into_iter().map(|path| (path, u64::MAX)).collect(),
            skipped: vec![files.skipped; queries.len()],
            cuts: files.cuts,
            walked: true,
        },
        _ => {
            let files = files_of_many(worktree, compiled_filters, max_files, until);
            Listed { paths: files.paths, skipped: files.skipped, cuts: files.cuts, walked: true }
        }
    }
}

/// The result of a query so far.
#[derive(Default)]
struct QueryProgress {
    result: GrepResult,
    totals: MatchTotals,
    /// Number of files that the query accepts.
    files: usize,
}

/// The outcome of one file for the queries that accept it.
#[derive(Default)]
struct FileOutcome {
    /// The queries without a match, as bits.
    unmatched: u64,
    skipped: Vec<(u64, SkipReason)>,
    found: Vec<(usize, FileMatches)>,
}

fn search(worktree: &Worktree, queries: &[CompiledQuery<'_>], mut listed: Listed, until: &Until) -> Vec<GrepResult> {
    let mut progress: Vec<QueryProgress> = queries.iter().map(|_| QueryProgress::default()).collect();
    let known = mask_of(queries.len());
    for (_, mask) in &mut listed.paths {
        *mask &= known;
        for bit in bits(*mask) {
            progress[bit].files += 1;
            if progress[bit].files > queries[bit].query.limits.max_files {
                *mask &= !(1 << bit);
            }
        }
    }
    // The queries that have reached a limit, as bits.
    let done = AtomicU64::new(0);
    in_order(
        &listed.paths,
        threads(listed.paths.len()),
        || SharedSearcher::new(worktree, queries, until, listed.walked),
        |searcher, (path, mask)| searcher.file(path, mask & !done.load(Ordering::Relaxed)),
        |(path, _), outcome| {
            let open = || bits(known & !done.load(Ordering::Relaxed));
            let Some(outcome) = outcome else {
                open().for_each(|bit| progress[bit].result.stop(Cut::Time));
                return ControlFlow::Break(());
            };
            for bit in open() {
                let result = &mut progress[bit].result;
                let unmatched = outcome.unmatched >> bit & 1;
                result.searched += unmatched as usize;
                let skipped = outcome.skipped.iter().filter(|(mask, _)| mask >> bit & 1 == 1);
                skipped.for_each(|(_, reason)| reason.count(&mut result.skipped));
            }
            for (bit, found) in outcome.found {
                let QueryProgress { result, totals, .. } = &mut progress[bit];
                let is_open = done.load(Ordering::Relaxed) >> bit & 1 == 0;
                if is_open && result.add(path, found, queries[bit].query, totals) {
                    done.fetch_or(1 << bit, Ordering::Relaxed);
                }
            }
            if open().next().is_none() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    let results = progress.into_iter().zip(queries).enumerate();
    results
        .map(|(bit, (mut progress, compiled))| {
            if progress.files > compiled.query.limits.max_files {
                progress.result.stop(Cut::Files);
            }
            if let Some(skipped) = listed.skipped.get(bit) {
                progress.result.skipped.merge(skipped);
            }
            listed.cuts.iter().for_each(|cut| progress.result.stop(cut));
            progress.result
        })
        .collect()
}

fn mask_of(queries: usize) -> u64 {
    (0..queries).fold(0, |mask, bit| mask | 1 << bit)
}

/// The searches and the buffer of one thread, reused from file to file.
struct SharedSearcher<'q> {
    worktree: &'q Worktree,
    until: &'q Until,
    walked: bool,
    queries: &'q [CompiledQuery<'q>],
    searches: Vec<FileSearch<'q>>,
    /// The content of the current file.
    text: Vec<u8>,
}

impl<'q> SharedSearcher<'q> {
    fn new(worktree: &'q Worktree, queries: &'q [CompiledQuery<'q>], until: &'q Until, walked: bool) -> Self {
        let search = |compiled: &'q CompiledQuery<'q>| FileSearch::new(&compiled.matcher, compiled.query, until);
        Self { worktree, until, walked, queries, searches: queries.iter().map(search).collect(), text: Vec::new() }
    }

    /// Searches a file for the queries of `mask`; `None` if the deadline passed before its end.
    fn file(&mut self, path: &RelPath, mask: u64) -> Option<FileOutcome> {
        if self.until.is_over() {
            return None;
        }
        let mut outcome = FileOutcome::default();
        if mask == 0 {
            return Some(outcome);
        }
        let opened = match OpenFile::open(self.worktree, path, self.walked) {
            Ok(opened) => opened,
            Err(reason) => {
                outcome.skipped.push((mask, reason));
                return Some(outcome);
            }
        };
        let too_large = |bit: &usize| opened.size() > self.queries[*bit].query.limits.max_file_bytes;
        let large = bits(mask).filter(too_large).fold(0, |mask, bit| mask | 1 << bit);
        if large != 0 {
            outcome.skipped.push((large, SkipReason::TooLarge));
        }
        let mask = mask & !large;
        if mask == 0 {
            return Some(outcome);
        }
        let shared = match self.read(&opened) {
            Ok(shared) => shared,
            Err(SkipReason::Deadline) => return None,
            Err(reason) => {
                outcome.skipped.push((mask, reason));
                return Some(outcome);
            }
        };
        for bit in bits(mask) {
            let search = &mut self.searches[bit];
            let found = if !shared {
                search.file(self.worktree, path, self.walked)
            } else if self.text.len() > MAX_SCAN_BYTES || search.may_match(&self.text) {
                search.text(self.text.as_slice(), path)
            } else {
                Ok(FileMatches::default())
            };
            match found {
                Ok(found) if found.lines == 0 => outcome.unmatched |= 1 << bit,
                Ok(found) => outcome.found.push((bit, found)),
                Err(SkipReason::Deadline) => return None,
                Err(reason) => outcome.skipped.push((1 << bit, reason)),
            }
        }
        if !outcome.found.is_empty()
            && let Err(reason) = opened.verify(self.worktree, path)
        {
            let found = std::mem::take(&mut outcome.found);
            outcome.skipped.extend(found.into_iter().map(|(bit, _)| (1 << bit, reason)));
        }
        Some(outcome)
    }

    /// Reads a file into `text`. Returns `false` if the file is too large to share.
    fn read(&mut self, opened: &OpenFile) -> Result<bool, SkipReason> {
        self.text.clear();
        if opened.size() > MAX_SHARED_BYTES {
            return Ok(false);
        }
        let mut reader = DeadlineReader::new(&opened.file, self.until);
        let read = (&mut reader).take(MAX_SHARED_BYTES + 1).read_to_end(&mut self.text);
        if reader.is_over {
            return Err(SkipReason::Deadline);
        }
        read.map_err(|_| SkipReason::Unreadable)?;
        // The file can have grown since it was opened.
        Ok(self.text.len() as u64 <= MAX_SHARED_BYTES)
    }
}
