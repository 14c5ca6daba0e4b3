//! Several searches over the same files, each file opened and read once.
//!
//! Most files have nothing of what is searched for, and most of a search of a small tree is opening and reading. So the
//! files are read one after the other, each into a buffer that a thread keeps, and all searches that want a file go over
//! it while it is in the processor's cache. A look at the whole of it comes first, which is cheaper than going line by
//! line and nearly always the end.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_regex::RegexMatcher;

use super::search::{Ending, FileSearch, Found, Left, Opened};
use super::{GrepError, GrepQuery, GrepResult, Sums, compile};
use crate::cut::Cut;
use crate::files::{Chosen, FileFilter, bits, files, files_of_many};
use crate::ordered::{in_order, threads};
use crate::path::RelPath;
use crate::until::Until;
use crate::walk::{SkipCounts, WalkLimits};
use crate::worktree::Worktree;

/// Of a larger file no copy is kept for all: each search that wants it reads it for itself, in bytes.
const MAX_SHARED_BYTES: u64 = 2 << 20;
/// In a larger file, lines are searched at once: a look at all of it could not be broken off.
const MAX_LOOK_BYTES: usize = 1 << 20;
/// So many searches share a walk: a bit of a word for each.
const MAX_AT_ONCE: usize = 64;

/// Searches for several things at once, in the files that [`crate::walk`] lists, or in those of `within` that each
/// query's filter wants.
///
/// Each query has its own bounds and, as long as the time lasts, the result that [`super::grep`] has for it alone. The
/// time is `until` for all of them; that of the queries is not looked at.
pub fn grep_many(
    worktree: &Worktree,
    queries: &[GrepQuery],
    within: Option<&[RelPath]>,
    until: &Until,
) -> Vec<Result<GrepResult, GrepError>> {
    let chunks = queries.chunks(MAX_AT_ONCE);
    chunks
        .flat_map(|queries| at_once(worktree, queries, within, until))
        .collect()
}

/// A query that can be run.
struct Ready<'q> {
    query: &'q GrepQuery,
    matcher: RegexMatcher,
}

/// The files to search, each with a bit for each query that wants it.
#[derive(Default)]
struct Listed {
    paths: Vec<(RelPath, u64)>,
    /// Of each query, where a walk counted them.
    skipped: Vec<SkipCounts>,
    late: bool,
    walked: bool,
}

fn at_once(
    worktree: &Worktree,
    queries: &[GrepQuery],
    within: Option<&[RelPath]>,
    until: &Until,
) -> Vec<Result<GrepResult, GrepError>> {
    let (mut ready, mut choices, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for query in queries {
        let compiled = compile(query).and_then(|matcher| Ok((matcher, query.filter.compile(worktree.root())?)));
        errors.push(match compiled {
            Ok((matcher, chosen)) => {
                ready.push(Ready { query, matcher });
                choices.push(chosen);
                None
            }
            Err(error) => Some(error),
        });
    }
    let listed = match within {
        Some(paths) => among(paths, &choices),
        None => walked(worktree, &ready, choices, until),
    };
    let mut results = search(worktree, &ready, listed, until).into_iter();
    let result = |error: Option<GrepError>| match error {
        Some(error) => Err(error),
        None => Ok(results.next().unwrap_or_default()),
    };
    errors.into_iter().map(result).collect()
}

fn among(paths: &[RelPath], choices: &[Chosen]) -> Listed {
    let mask = |path: &RelPath| {
        let path = path.to_path_buf();
        let wanting = choices
            .iter()
            .enumerate()
            .filter(|(_, chosen)| chosen.wants(&path, false));
        wanting.fold(0, |mask, (bit, _)| mask | 1 << bit)
    };
    let paths = paths.iter().map(|path| (path.clone(), mask(path)));
    Listed {
        paths: paths.filter(|(_, mask)| *mask != 0).collect(),
        ..Listed::default()
    }
}

fn walked(worktree: &Worktree, ready: &[Ready<'_>], choices: Vec<Chosen>, until: &Until) -> Listed {
    let max_files = WalkLimits::default().max_files;
    // Mostly all are after the same files, which then need not be told apart.
    let filters: Vec<&FileFilter> = ready.iter().map(|ready| &ready.query.filter).collect();
    let same = filters.windows(2).all(|two| two[0] == two[1]);
    match filters
        .first()
        .filter(|_| same)
        .map(|filter| files(worktree, filter, max_files, until))
    {
        Some(Ok(files)) => Listed {
            paths: files.paths.into_iter().map(|path| (path, u64::MAX)).collect(),
            skipped: vec![files.skipped; ready.len()],
            late: files.late,
            walked: true,
        },
        _ => {
            let files = files_of_many(worktree, choices, max_files, until);
            Listed {
                paths: files.paths,
                skipped: files.skipped,
                late: files.late,
                walked: true,
            }
        }
    }
}

/// What is known of a query so far.
#[derive(Default)]
struct Running {
    result: GrepResult,
    sums: Sums,
    /// Files that it wants.
    files: usize,
}

/// What a file is to the queries that want it.
#[derive(Default)]
struct Outcome {
    /// Nothing matches, for these.
    nothing: u64,
    left: Vec<(u64, Left)>,
    found: Vec<(usize, Found)>,
}

fn search(worktree: &Worktree, ready: &[Ready<'_>], mut listed: Listed, until: &Until) -> Vec<GrepResult> {
    let mut running: Vec<Running> = ready.iter().map(|_| Running::default()).collect();
    let known = mask_of(ready.len());
    for (_, mask) in &mut listed.paths {
        *mask &= known;
        for bit in bits(*mask) {
            running[bit].files += 1;
            if running[bit].files > ready[bit].query.limits.max_files {
                *mask &= !(1 << bit);
            }
        }
    }
    // Nobody waits for more of these.
    let done = AtomicU64::new(0);
    in_order(
        &listed.paths,
        threads(listed.paths.len()),
        || Shared::new(worktree, ready, until, listed.walked),
        |shared, (path, mask)| shared.file(path, mask & !done.load(Ordering::Relaxed)),
        |(path, _), outcome| {
            let open = || bits(known & !done.load(Ordering::Relaxed));
            let Some(outcome) = outcome else {
                open().for_each(|bit| running[bit].result.stop(Cut::Time));
                return ControlFlow::Break(());
            };
            for bit in open() {
                let result = &mut running[bit].result;
                let nothing = outcome.nothing >> bit & 1;
                result.searched += nothing as usize;
                let left = outcome.left.iter().filter(|(mask, _)| mask >> bit & 1 == 1);
                left.for_each(|(_, left)| left.count(&mut result.skipped));
            }
            for (bit, found) in outcome.found {
                let Running { result, sums, .. } = &mut running[bit];
                let wanted = done.load(Ordering::Relaxed) >> bit & 1 == 0;
                if wanted && result.add(path, found, ready[bit].query, sums) {
                    done.fetch_or(1 << bit, Ordering::Relaxed);
                }
            }
            if open().next().is_none() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    );
    let results = running.into_iter().zip(ready).enumerate();
    results
        .map(|(bit, (mut running, ready))| {
            if running.files > ready.query.limits.max_files {
                running.result.stop(Cut::Files);
            }
            if let Some(skipped) = listed.skipped.get(bit) {
                running.result.skipped.merge(skipped);
            }
            if listed.late {
                running.result.stop(Cut::Time);
            }
            running.result
        })
        .collect()
}

fn mask_of(queries: usize) -> u64 {
    (0..queries).fold(0, |mask, bit| mask | 1 << bit)
}

/// What a thread keeps from file to file.
struct Shared<'q> {
    worktree: &'q Worktree,
    until: &'q Until,
    walked: bool,
    ready: &'q [Ready<'q>],
    searches: Vec<FileSearch<'q>>,
    /// The file.
    text: Vec<u8>,
}

impl<'q> Shared<'q> {
    fn new(worktree: &'q Worktree, ready: &'q [Ready<'q>], until: &'q Until, walked: bool) -> Self {
        let search = |ready: &'q Ready<'q>| FileSearch::new(&ready.matcher, ready.query, until);
        Self {
            worktree,
            until,
            walked,
            ready,
            searches: ready.iter().map(search).collect(),
            text: Vec::new(),
        }
    }

    /// Searches a file for the queries of `mask`; `None` where the time was over before the end.
    fn file(&mut self, path: &RelPath, mask: u64) -> Option<Outcome> {
        if self.until.is_over() {
            return None;
        }
        let mut outcome = Outcome::default();
        if mask == 0 {
            return Some(outcome);
        }
        let opened = match Opened::open(self.worktree, path, self.walked) {
            Ok(opened) => opened,
            Err(left) => {
                outcome.left.push((mask, left));
                return Some(outcome);
            }
        };
        let too_large = |bit: &usize| opened.size() > self.ready[*bit].query.limits.max_file_bytes;
        let large = bits(mask).filter(too_large).fold(0, |mask, bit| mask | 1 << bit);
        if large != 0 {
            outcome.left.push((large, Left::TooLarge));
        }
        let mask = mask & !large;
        if mask == 0 {
            return Some(outcome);
        }
        let shared = match self.read(&opened) {
            Ok(shared) => shared,
            Err(Left::Late) => return None,
            Err(left) => {
                outcome.left.push((mask, left));
                return Some(outcome);
            }
        };
        for bit in bits(mask) {
            let search = &mut self.searches[bit];
            let found = if !shared {
                search.file(self.worktree, path, self.walked)
            } else if self.text.len() > MAX_LOOK_BYTES || search.may_match(&self.text) {
                search.text(self.text.as_slice(), path)
            } else {
                Ok(Found::default())
            };
            match found {
                Ok(found) if found.lines == 0 => outcome.nothing |= 1 << bit,
                Ok(found) => outcome.found.push((bit, found)),
                Err(Left::Late) => return None,
                Err(left) => outcome.left.push((1 << bit, left)),
            }
        }
        if !outcome.found.is_empty()
            && let Err(left) = opened.proved(self.worktree, path)
        {
            let found = std::mem::take(&mut outcome.found);
            outcome.left.extend(found.into_iter().map(|(bit, _)| (1 << bit, left)));
        }
        Some(outcome)
    }

    /// Reads a file; whether all of it is in `text`.
    fn read(&mut self, opened: &Opened) -> Result<bool, Left> {
        self.text.clear();
        if opened.size() > MAX_SHARED_BYTES {
            return Ok(false);
        }
        let mut ending = Ending::new(&opened.file, self.until);
        let read = (&mut ending).take(MAX_SHARED_BYTES + 1).read_to_end(&mut self.text);
        if ending.over {
            return Err(Left::Late);
        }
        read.map_err(|_| Left::Unreadable)?;
        // It may have grown.
        Ok(self.text.len() as u64 <= MAX_SHARED_BYTES)
    }
}
