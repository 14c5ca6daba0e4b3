//! Which files a search is about: all that a walk finds, or those that globs and directories leave.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use ignore::WalkState;
use ignore::overrides::{Override, OverrideBuilder};

use crate::ordered;
use crate::path::RelPath;
use crate::secret::is_secret;
use crate::until::Until;
use crate::walk::{SkipCounts, builder_telling};
use crate::worktree::Worktree;

/// A choice among the files of a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    until: &Until,
) -> Result<Files, FilterError> {
    let chosen = filter.compile(worktree.root())?;
    let found = gather(
        worktree,
        move |path, directory| chosen.wants(path, directory),
        max_files,
        until,
    );
    let mut files = Files {
        paths: found.paths,
        late: found.late,
        ..Files::default()
    };
    found.left.iter().for_each(|(left, _)| left.count(&mut files.skipped));
    files.skipped.nested_repositories = found.nested.len();
    Ok(files)
}

/// The files that several choices leave.
#[derive(Debug, Default)]
pub(crate) struct FilesOfMany {
    /// In the order of their paths, each with a bit for each choice that leaves it.
    pub(crate) paths: Vec<(RelPath, u64)>,
    /// Of each choice.
    pub(crate) skipped: Vec<SkipCounts>,
    /// The time was over.
    pub(crate) late: bool,
}

/// Walks once for up to 64 choices; each is left the files that [`files`] would find for it.
pub(crate) fn files_of_many(worktree: &Worktree, choices: Vec<Chosen>, max_files: usize, until: &Until) -> FilesOfMany {
    let choices = Arc::new(choices);
    let all = Arc::clone(&choices);
    let any = move |path: &Path, directory| all.iter().any(|chosen| chosen.wants(path, directory));
    let found = gather(worktree, any, max_files, until);
    let mut masks = Masks {
        choices: &choices,
        directories: HashMap::new(),
    };
    let mut files = FilesOfMany {
        skipped: choices.iter().map(|_| SkipCounts::default()).collect(),
        late: found.late,
        ..FilesOfMany::default()
    };
    for (left, path) in &found.left {
        let mask = path.as_ref().map_or(u64::MAX, |path| masks.of(path, false));
        for (bit, skipped) in files.skipped.iter_mut().enumerate() {
            if mask >> bit & 1 == 1 {
                left.count(skipped);
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

/// The numbers of the bits that are set.
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit as usize)
    })
}

/// Which choices want a path, and every directory on the way to it.
struct Masks<'c> {
    choices: &'c [Chosen],
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
        let choices = self.choices.iter().enumerate();
        let wanting = choices.filter(|(bit, chosen)| above >> bit & 1 == 1 && chosen.wants(path, directory));
        wanting.fold(0, |mask, (bit, _)| mask | 1 << bit)
    }
}

/// What a walk meets.
struct Gathered {
    /// In order.
    paths: Vec<RelPath>,
    /// What is no file to look at, and where it is, if that is known.
    left: Vec<(Left, Option<PathBuf>)>,
    nested: Vec<PathBuf>,
    late: bool,
}

fn gather(
    worktree: &Worktree,
    wanted: impl Fn(&Path, bool) -> bool + Send + Sync + 'static,
    max_files: usize,
    until: &Until,
) -> Gathered {
    let nested = Arc::new(Mutex::new(Vec::new()));
    let found = AtomicUsize::new(0);
    let late = std::sync::atomic::AtomicBool::new(until.is_over());
    let (sender, receiver) = mpsc::channel();
    let told = Arc::clone(&nested);
    let tell = move |path: &Path| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        told.push(path.to_owned());
    };
    let mut builder = builder_telling(worktree.root(), tell, wanted);
    builder.threads(ordered::threads(usize::MAX)).build_parallel().run(|| {
        let sender = sender.clone();
        let (found, late) = (&found, &late);
        Box::new(move |entry| {
            if until.is_over() || found.load(Ordering::Relaxed) >= max_files {
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
    let mut gathered = Gathered {
        paths: Vec::new(),
        left: Vec::new(),
        nested: std::mem::take(&mut nested.lock().unwrap_or_else(PoisonError::into_inner)),
        late: late.into_inner(),
    };
    for outcome in receiver {
        match outcome {
            ControlFlow::Continue(path) => gathered.paths.push(path),
            ControlFlow::Break(left) => gathered.left.push(left),
        }
    }
    gathered.paths.sort_unstable();
    gathered
}

/// Why an entry is no file to look at.
enum Left {
    Secret,
    NotUtf8,
    NotRegular,
    Unreadable,
}

impl Left {
    fn count(&self, skipped: &mut SkipCounts) {
        match self {
            Self::Secret => skipped.secret += 1,
            Self::NotUtf8 => skipped.not_utf8 += 1,
            Self::NotRegular => skipped.not_regular += 1,
            Self::Unreadable => skipped.unreadable += 1,
        }
    }
}

type Looked = ControlFlow<(Left, Option<PathBuf>), RelPath>;

fn look(root: &Path, entry: Result<ignore::DirEntry, ignore::Error>) -> Option<Looked> {
    let Ok(entry) = entry else {
        return Some(ControlFlow::Break((Left::Unreadable, None)));
    };
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    let below = entry.path().strip_prefix(root).ok();
    let left = |left| ControlFlow::Break((left, below.map(Path::to_owned)));
    let outcome = match below.and_then(RelPath::from_relative) {
        None => left(Left::NotUtf8),
        Some(_) if !kind.is_file() => left(Left::NotRegular),
        Some(path) if is_secret(&path) => left(Left::Secret),
        Some(path) => ControlFlow::Continue(path),
    };
    Some(outcome)
}
