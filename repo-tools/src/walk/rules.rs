//! The ignore rules of a worktree, in bounded time and memory.
//!
//! The walk reads ignore files itself, because the files of a clone are hostile: the walking crate follows a link to an
//! endless device, blocks at a pipe and takes 3.4 GB for a `.gitignore` of 6 MB.
//!
//! A file that exists but cannot be read, or is too large, may hide anything. Therefore its directory counts as ignored.
//! A link, a directory, a pipe, a socket or a device holds no rules: git does not follow a `.gitignore` that is a link
//! either.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use muninn_base::{Links, read_regular};

use super::patterns::{Candidate, Patterns};
use super::wildmatch::MAX_WORK;

/// Maximum size of an ignore file. The largest of well-known repositories has 25 kB.
const MAX_BYTES: u64 = 256 << 10;
/// Maximum size of the ignore files that hold in one directory. Each thread of a walk keeps such a chain.
const MAX_CHAIN_BYTES: u64 = 4 * MAX_BYTES;
/// The effort of a walk, in steps of pattern matching: some tenths of a second. A byte of an ignore file counts an eighth.
const EFFORT: i64 = MAX_WORK.cast_signed();
/// The additional effort for each entry. Ordinary repositories need less than 500.
const EFFORT_PER_ENTRY: i64 = 2_048;

/// The name of the ignore file that is not git's, and takes precedence.
pub(super) const DOT_IGNORE: &str = ".ignore";
/// The name of git's ignore file.
pub(super) const GITIGNORE: &str = ".gitignore";

/// The rules of a walk that hold in every directory, and the effort of all rules.
pub(super) struct WalkRules {
    /// `.git/info/exclude`, then the user's `core.excludesFile`.
    everywhere: Vec<Patterns>,
    effort_left: AtomicI64,
    /// The number of times that files were left out because their rules are unknown.
    unknown: AtomicUsize,
    /// Whether a file that is not followed was logged.
    is_noted: AtomicBool,
}

/// The ignore files of a directory and those above it.
#[derive(Clone, Default)]
pub(super) struct DirectoryRules(Option<Arc<Level>>);

struct Level {
    above: DirectoryRules,
    /// The length of the directory's path, with a slash.
    base: usize,
    dot_ignore: Patterns,
    gitignore: Patterns,
    /// The size of all ignore files to the root.
    bytes: u64,
}

/// Rules that exist and are not known.
#[derive(Debug)]
pub(super) struct UnknownRules;

impl WalkRules {
    /// Reads the rules for a repository whose worktrees share a git directory.
    pub(super) fn read(common_dir: &Path) -> (Self, Result<(), UnknownRules>) {
        let mut rules = Self {
            everywhere: Vec::new(),
            effort_left: AtomicI64::new(EFFORT),
            unknown: AtomicUsize::new(0),
            is_noted: AtomicBool::new(false),
        };
        let users = ignore::gitignore::gitconfig_excludes_path();
        for path in [Some(common_dir.join("info/exclude")), users].into_iter().flatten() {
            // Git follows links to these two, which no clone can contain.
            match rules.file(&path, Links::Follow, &mut 0) {
                Ok(patterns) => rules.everywhere.push(patterns),
                Err(unknown) => return (rules, Err(unknown)),
            }
        }
        rules.everywhere.retain(|patterns| !patterns.is_empty());
        (rules, Ok(()))
    }

    /// The number of directories that count as ignored because their rules are unknown.
    pub(super) fn unknown(&self) -> usize {
        self.unknown.load(Ordering::Relaxed)
    }

    /// Reads the ignore files of a directory. `base` is the length of its path in the worktree, with a slash.
    pub(super) fn enter(
        &self,
        above: &DirectoryRules,
        directory: &Path,
        base: usize,
        names: IgnoreFiles,
    ) -> Result<DirectoryRules, UnknownRules> {
        let mut bytes = above.0.as_ref().map_or(0, |level| level.bytes);
        let mut read = |is_there, name| {
            if is_there { self.file(&directory.join(name), Links::Refuse, &mut bytes) } else { Ok(Patterns::default()) }
        };
        let dot_ignore = read(names.dot_ignore, DOT_IGNORE)?;
        let gitignore = read(names.gitignore, GITIGNORE)?;
        if dot_ignore.is_empty() && gitignore.is_empty() {
            return Ok(above.clone());
        }
        Ok(DirectoryRules(Some(Arc::new(Level { above: above.clone(), base, dot_ignore, gitignore, bytes }))))
    }

    /// Reads a file; `bytes` is the size of those read for the same directory.
    fn file(&self, path: &Path, links: Links, bytes: &mut u64) -> Result<Patterns, UnknownRules> {
        let left = MAX_BYTES.min(MAX_CHAIN_BYTES - *bytes);
        let reason = match read_regular(path, links, left) {
            Ok(file) => {
                *bytes += file.len() as u64;
                let is_affordable = self.spend(file.len() as u64 / 8);
                match Patterns::parse(&file).filter(|_| is_affordable) {
                    Some(patterns) => return Ok(patterns),
                    None => "it has too many patterns".to_owned(),
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Patterns::default());
            }
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                self.note(path, &error.to_string(), "it holds no rules");
                return Ok(Patterns::default());
            }
            Err(error) => error.to_string(),
        };
        self.unknown.fetch_add(1, Ordering::Relaxed);
        self.note(path, &reason, "its directory counts as ignored");
        Err(UnknownRules)
    }

    fn note(&self, path: &Path, reason: &str, effect: &str) {
        // One line for each walk, since a hostile repository may have thousands of such files.
        if !self.is_noted.swap(true, Ordering::Relaxed) {
            tracing::warn!("{} is not followed: {reason}; {effect}", path.display());
        }
    }

    fn is_exhausted(&self) -> bool {
        self.effort_left.load(Ordering::Relaxed) < 0
    }

    /// Returns whether the effort is still affordable.
    fn spend(&self, work: u64) -> bool {
        if self.is_exhausted() {
            return false;
        }
        let change = EFFORT_PER_ENTRY - work.cast_signed();
        let left = self.effort_left.fetch_add(change, Ordering::Relaxed) + change;
        if left >= 0 {
            return true;
        }
        // Threads that add to it at the same time do not make it positive again.
        if self.effort_left.swap(i64::MIN / 2, Ordering::Relaxed) > i64::MIN / 4 {
            self.unknown.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("the ignore files take too long to match; all further files count as ignored");
        }
        false
    }

    /// Returns whether an entry is ignored. The path is relative to the root of the worktree.
    ///
    /// Any `.ignore` takes precedence over any `.gitignore`, a deeper file over an upper one, and all of these over the
    /// rules that hold everywhere.
    pub(super) fn is_ignored(&self, rules: &DirectoryRules, entry: Candidate<'_>) -> bool {
        if rules.0.is_none() && self.everywhere.is_empty() {
            return false;
        }
        if self.is_exhausted() {
            return true;
        }
        let mut work = 0;
        let mut last = |patterns: &Patterns, base: usize| {
            let path = entry.path.get(base..)?;
            patterns.ignore(Candidate { path, ..entry }, &mut work)
        };
        let levels = || std::iter::successors(rules.0.as_ref(), |level| level.above.0.as_ref());
        let decision = levels()
            .find_map(|level| last(&level.dot_ignore, level.base))
            .or_else(|| levels().find_map(|level| last(&level.gitignore, level.base)))
            .or_else(|| self.everywhere.iter().find_map(|patterns| last(patterns, 0)));
        let is_affordable = self.spend(work);
        !is_affordable || decision.unwrap_or(false)
    }
}

/// The ignore files that a directory has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IgnoreFiles {
    pub(super) dot_ignore: bool,
    pub(super) gitignore: bool,
}
