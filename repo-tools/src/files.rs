//! Selecting the files of a search: everything that a walk finds, narrowed by globs and directories.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use ignore::overrides::{Override, OverrideBuilder};
use muninn_base::{RelPath, Until, ordered};

use crate::cut::{Cut, Cuts};
use crate::secret::is_secret;
use crate::walk::{Found, SkipCounts, Walker};
use crate::worktree::Worktree;

/// A filter on the files of a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// Globs in the syntax of `rg -g`: `*.rs` includes files, `!tests/` excludes files, and the last matching glob
    /// decides. A glob never includes a file that git ignores.
    pub globs: Vec<String>,
    /// Files and directories to include; empty for the whole worktree.
    pub under: Vec<RelPath>,
}

/// Why a filter is invalid.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A glob is malformed.
    #[error("{glob:?} is not a valid glob")]
    Glob {
        /// The glob as written.
        glob: String,
        /// The syntax error.
        source: Box<ignore::Error>,
    },
}

/// The files that a filter accepts.
#[derive(Debug, Default)]
pub struct Files {
    /// Sorted.
    pub paths: Vec<RelPath>,
    pub(crate) skipped: SkipCounts,
    /// The limits that ended the walk.
    pub cuts: Cuts,
}

/// A compiled [`FileFilter`].
pub struct CompiledFilter {
    globs: Override,
    under: Vec<RelPath>,
}

impl FileFilter {
    pub fn compile(&self, root: &Path) -> Result<CompiledFilter, FilterError> {
        let mut builder = OverrideBuilder::new(root);
        for glob in &self.globs {
            builder.add(glob).map_err(|error| FilterError::Glob { glob: glob.clone(), source: Box::new(error) })?;
        }
        let globs = builder
            .build()
            .map_err(|error| FilterError::Glob { glob: self.globs.join(" "), source: Box::new(error) })?;
        Ok(CompiledFilter { globs, under: self.under.clone() })
    }
}

impl CompiledFilter {
    /// Returns whether the filter accepts a file, or can accept a file below a directory.
    pub fn accepts(&self, path: &Path, directory: bool) -> bool {
        if self.globs.matched(path, directory).is_ignore() {
            return false;
        }
        let on_the_way = |wanted: &RelPath| {
            let wanted = wanted.to_path_buf();
            path.starts_with(&wanted) || directory && wanted.starts_with(path)
        };
        self.under.is_empty() || self.under.iter().any(on_the_way)
    }
}

/// Walks the worktree on several threads, without reading metadata.
pub fn files(worktree: &Worktree, filter: &FileFilter, max_files: usize, until: &Until) -> Result<Files, FilterError> {
    let filter = filter.compile(worktree.root())?;
    let found = collect(worktree, move |path, directory| filter.accepts(path, directory), max_files, until);
    let mut files = Files { paths: found.paths, cuts: found.cuts, ..Files::default() };
    found.skipped.iter().for_each(|(reason, _)| reason.count(&mut files.skipped));
    files.skipped.nested_repositories = found.nested.len();
    Ok(files)
}

/// The files that at least one of several filters accepts.
#[derive(Debug, Default)]
pub(crate) struct FilesOfMany {
    /// Sorted; each path with a bit for each filter that accepts it.
    pub(crate) paths: Vec<(RelPath, u64)>,
    /// The skipped files of each filter.
    pub(crate) skipped: Vec<SkipCounts>,
    /// The limits that ended the walk.
    pub(crate) cuts: Cuts,
}

/// Walks once for up to 64 filters. Each filter gets the files that [`files`] would find for it.
pub(crate) fn files_of_many(
    worktree: &Worktree,
    filters: Vec<CompiledFilter>,
    max_files: usize,
    until: &Until,
) -> FilesOfMany {
    let any = |path: &Path, directory| filters.iter().any(|filter| filter.accepts(path, directory));
    let found = collect(worktree, any, max_files, until);
    let mut masks = Masks { filters: &filters, directories: HashMap::new() };
    let mut files =
        FilesOfMany { skipped: vec![SkipCounts::default(); filters.len()], cuts: found.cuts, ..FilesOfMany::default() };
    for (reason, path) in &found.skipped {
        let mask = path.as_ref().map_or(u64::MAX, |path| masks.of(path, false));
        for (bit, skipped) in files.skipped.iter_mut().enumerate() {
            if mask >> bit & 1 == 1 {
                reason.count(skipped);
            }
        }
    }
    for path in &found.nested {
        for bit in bits(masks.of(path, true)) {
            files.skipped[bit].nested_repositories += 1;
        }
    }
    let masked = found.paths.into_iter().map(|path| {
        let mask = masks.of(Path::new(path.as_str()), false);
        (path, mask)
    });
    files.paths = masked.filter(|(_, mask)| *mask != 0).collect();
    files
}

/// Returns the positions of the set bits.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}

/// The filters that accept a path and all directories above it, as bits; remembered for each directory.
struct Masks<'c> {
    filters: &'c [CompiledFilter],
    directories: HashMap<PathBuf, u64>,
}

impl Masks<'_> {
    fn of(&mut self, path: &Path, directory: bool) -> u64 {
        let above = match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            None => u64::MAX,
            Some(parent) => match self.directories.get(parent) {
                Some(known) => *known,
                None => {
                    let mask = self.of(parent, true);
                    self.directories.insert(parent.to_owned(), mask);
                    mask
                }
            },
        };
        let filters = self.filters.iter().enumerate();
        let accepting = filters.filter(|(bit, filter)| above >> bit & 1 == 1 && filter.accepts(path, directory));
        accepting.fold(0, |mask, (bit, _)| mask | 1 << bit)
    }
}

/// The entries that a walk found.
struct Collected {
    /// Sorted.
    paths: Vec<RelPath>,
    /// Entries that are not searched, with their paths if known.
    skipped: Vec<(WalkSkip, Option<PathBuf>)>,
    nested: Vec<PathBuf>,
    cuts: Cuts,
}

fn collect(
    worktree: &Worktree,
    wanted: impl Fn(&Path, bool) -> bool + Sync,
    max_files: usize,
    until: &Until,
) -> Collected {
    let found = AtomicUsize::new(0);
    let is_late = AtomicBool::new(until.is_over());
    let is_full = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let walker = Walker { worktree, wanted, max_depth: usize::MAX, threads: ordered::threads(usize::MAX) };
    let unknown_rules = walker.run(|| {
        let sender = sender.clone();
        let (found, is_late, is_full) = (&found, &is_late, &is_full);
        move |entry: Found<'_>| {
            if until.is_over() {
                is_late.store(true, Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            if found.load(Ordering::Relaxed) >= max_files {
                is_full.store(true, Ordering::Relaxed);
                return ControlFlow::Break(());
            }
            if let Some(outcome) = classify(entry) {
                found.fetch_add(usize::from(outcome.is_continue()), Ordering::Relaxed);
                // Sending cannot fail, because the receiver outlives the walk.
                sender.send(outcome).ok();
            }
            ControlFlow::Continue(())
        }
    });
    drop(sender);
    let mut collected = Collected { paths: Vec::new(), skipped: Vec::new(), nested: Vec::new(), cuts: Cuts::default() };
    for outcome in receiver {
        match outcome {
            ControlFlow::Continue(path) => collected.paths.push(path),
            ControlFlow::Break((WalkSkip::Nested, path)) => collected.nested.extend(path),
            ControlFlow::Break(skipped) => collected.skipped.push(skipped),
        }
    }
    // If several threads reach the limit at the same time, each adds a file, and no thread notices that the limit is
    // exceeded.
    let is_full = is_full.into_inner() || collected.paths.len() > max_files;
    let reached = [(Cut::Time, is_late.into_inner()), (Cut::Files, is_full), (Cut::IgnoreFile, unknown_rules > 0)];
    for (cut, is_reached) in reached {
        if is_reached {
            collected.cuts.add(cut);
        }
    }
    collected.paths.sort_unstable();
    collected
}

/// Why an entry is not searched.
enum WalkSkip {
    Secret,
    NotUtf8,
    NotRegular,
    Unreadable,
    /// A nested repository, which is counted apart because it is a directory.
    Nested,
}

impl WalkSkip {
    fn count(&self, skipped: &mut SkipCounts) {
        match self {
            Self::Secret => skipped.secret += 1,
            Self::NotUtf8 => skipped.not_utf8 += 1,
            Self::NotRegular => skipped.not_regular += 1,
            Self::Unreadable => skipped.unreadable += 1,
            Self::Nested => skipped.nested_repositories += 1,
        }
    }
}

type Classified = ControlFlow<(WalkSkip, Option<PathBuf>), RelPath>;

/// A file to search, or the reason to skip an entry; `None` for a directory.
fn classify(found: Found<'_>) -> Option<Classified> {
    let (path, kind) = match found {
        Found::Directory(_) | Found::LeftOut => return None,
        Found::Unreadable => return Some(ControlFlow::Break((WalkSkip::Unreadable, None))),
        Found::NestedRepository(path) => return Some(ControlFlow::Break((WalkSkip::Nested, Some(path.to_owned())))),
        Found::Entry(path, kind, _) => (path, kind),
    };
    let skip = |reason| ControlFlow::Break((reason, Some(path.to_owned())));
    let outcome = match RelPath::from_relative(path) {
        None => skip(WalkSkip::NotUtf8),
        Some(_) if !kind.is_file() => skip(WalkSkip::NotRegular),
        Some(path) if is_secret(&path) => skip(WalkSkip::Secret),
        Some(path) => ControlFlow::Continue(path),
    };
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_walk_names_the_limit_that_ended_it() {
        let repo = Fixture::with(&[("a.txt", "x"), ("b.txt", "x"), ("c.txt", "x")]);
        let cuts = |max_files, time| {
            let found =
                files(&repo.worktree(), &FileFilter::default(), max_files, &Until::within(Duration::from_secs(time)));
            found.unwrap().cuts.describe()
        };
        assert_eq!((cuts(9, 600).as_str(), cuts(1, 600).as_str()), ("", "files"));
        assert_eq!(cuts(9, 0), "time");
    }
}
