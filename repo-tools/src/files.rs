//! Which files a search is about: all that a walk finds, or those that globs and directories leave.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use ignore::WalkState;
use ignore::overrides::{Override, OverrideBuilder};

use crate::ordered;
use crate::path::RelPath;
use crate::secret::is_secret;
use crate::walk::{SkipCounts, builder};
use crate::worktree::Worktree;

/// A choice among the files of a worktree.
#[derive(Debug, Clone, Default)]
pub struct FileFilter {
    /// Globs as `.gitignore` and `rg -g` write them: `*.rs` keeps, `!tests/` leaves out, the last one that fits decides.
    /// They only narrow: a glob does not bring back what git ignores.
    pub globs: Vec<String>,
    /// Files and directories to look at; none for the whole worktree.
    pub under: Vec<RelPath>,
}

/// Why a choice means nothing.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A malformed glob.
    #[error("{glob:?} is no glob")]
    Glob {
        /// The glob as it was given.
        glob: String,
        /// What is wrong with it.
        source: Box<ignore::Error>,
    },
}

/// The files that a choice leaves.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// In the order of their paths.
    pub(crate) paths: Vec<RelPath>,
    pub(crate) skipped: SkipCounts,
    /// The time was over.
    pub(crate) late: bool,
}

/// A [`FileFilter`], compiled.
pub(crate) struct Chosen {
    globs: Override,
    under: Vec<RelPath>,
}

impl FileFilter {
    pub(crate) fn compile(&self, root: &Path) -> Result<Chosen, FilterError> {
        let mut builder = OverrideBuilder::new(root);
        for glob in &self.globs {
            builder.add(glob).map_err(|error| FilterError::Glob {
                glob: glob.clone(),
                source: Box::new(error),
            })?;
        }
        let globs = builder.build().map_err(|error| FilterError::Glob {
            glob: self.globs.join(" "),
            source: Box::new(error),
        })?;
        Ok(Chosen {
            globs,
            under: self.under.clone(),
        })
    }
}

impl Chosen {
    /// Whether a file is wanted, or a directory may hold one that is.
    pub(crate) fn wants(&self, path: &Path, directory: bool) -> bool {
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

/// Walks on several threads, without looking at metadata.
pub(crate) fn files(
    worktree: &Worktree,
    filter: &FileFilter,
    max_files: usize,
    deadline: Instant,
) -> Result<Files, FilterError> {
    let chosen = filter.compile(worktree.root())?;
    let nested = Arc::new(AtomicUsize::new(0));
    let found = AtomicUsize::new(0);
    let late = std::sync::atomic::AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let mut builder = builder(worktree.root(), Arc::clone(&nested), move |path, directory| {
        chosen.wants(path, directory)
    });
    builder.threads(ordered::threads(usize::MAX)).build_parallel().run(|| {
        let sender = sender.clone();
        let (found, late) = (&found, &late);
        Box::new(move |entry| {
            if Instant::now() >= deadline || found.load(Ordering::Relaxed) >= max_files {
                late.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            if let Some(outcome) = look(worktree.root(), entry) {
                found.fetch_add(usize::from(outcome.is_continue()), Ordering::Relaxed);
                // The receiver outlives the walk.
                let _received = sender.send(outcome);
            }
            WalkState::Continue
        })
    });
    drop(sender);
    let mut files = Files {
        late: late.into_inner(),
        ..Files::default()
    };
    for outcome in receiver {
        match outcome {
            ControlFlow::Continue(path) => files.paths.push(path),
            ControlFlow::Break(Left::Secret) => files.skipped.secret += 1,
            ControlFlow::Break(Left::NotUtf8) => files.skipped.not_utf8 += 1,
            ControlFlow::Break(Left::NotRegular) => files.skipped.not_regular += 1,
            ControlFlow::Break(Left::Unreadable) => files.skipped.unreadable += 1,
        }
    }
    files.skipped.nested_repositories = nested.load(Ordering::Relaxed);
    files.paths.sort_unstable();
    Ok(files)
}

/// Why an entry is no file to look at.
enum Left {
    Secret,
    NotUtf8,
    NotRegular,
    Unreadable,
}

fn look(root: &Path, entry: Result<ignore::DirEntry, ignore::Error>) -> Option<ControlFlow<Left, RelPath>> {
    let Ok(entry) = entry else {
        return Some(ControlFlow::Break(Left::Unreadable));
    };
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    let outcome = match entry.path().strip_prefix(root).ok().and_then(RelPath::from_relative) {
        None => ControlFlow::Break(Left::NotUtf8),
        Some(_) if !kind.is_file() => ControlFlow::Break(Left::NotRegular),
        Some(path) if is_secret(&path) => ControlFlow::Break(Left::Secret),
        Some(path) => ControlFlow::Continue(path),
    };
    Some(outcome)
}
