//! Reads the changes of recent commits, and caches them.
//!
//! A commit is immutable, so its changes are cached by id: after a commit, a checkout or a rebase, only new commits are
//! compared. The index of files never waits for history. History is read after the index, in bounded time, and the next
//! refresh reads the rest.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use muninn_base::RelPath;
use muninn_repo_tools::history::{CommitChanges, CommitReader, HistoryError};
use muninn_repo_tools::{Cut, ObjectId, Worktree};
use muninn_text::lexical::{Tokenizer, counted, has_terms_of};
use muninn_text::redact;
use serde::{Deserialize, Serialize};

use super::CoChange;
use super::co_change::MAX_FILES;
use crate::cache::Cache;

/// Maximum number of commits that are read. The files of older commits have changed too much since.
const MAX_COMMITS: usize = 3_000;
/// A commit with more paths is not searched for moves.
const MAX_NAMES: usize = 4_000;
/// Maximum time per refresh.
const TIME: Duration = Duration::from_secs(5);
/// Commits per write to the cache, so that an interruption costs little.
const BATCH: usize = 500;
/// Increased whenever [`Commit`] changes.
const FORM: &str = "commit.3";
const _: () = assert!(has_terms_of(3), "raise the version of commits, too");

/// The history of a worktree, kept between refreshes.
pub struct History {
    cache_dir: Option<PathBuf>,
    cache: Option<Cache>,
    opened: bool,
    /// HEAD at the last complete read.
    head: Option<ObjectId>,
    known: HashMap<ObjectId, Commit>,
}

/// The cached data of a commit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Commit {
    /// Changed paths; empty if there are too many.
    paths: Vec<Box<str>>,
    /// Moves, from old to new path.
    moved: Vec<(Box<str>, Box<str>)>,
    /// Distinct terms of the redacted message, separated by spaces; empty if `paths` is empty.
    terms: Box<str>,
}

/// The result of a refresh.
#[derive(Default)]
pub struct ReadHistory {
    /// `None` if nothing changed.
    pub co_change: Option<CoChange>,
    /// Messages about missing commits.
    pub notes: Vec<String>,
}

impl History {
    /// Creates a history; nothing is opened. Without a directory nothing is stored.
    pub fn new(cache_dir: Option<PathBuf>) -> Self {
        Self { cache_dir, cache: None, opened: false, head: None, known: HashMap::new() }
    }

    /// Reads new commits since the last call, for a few seconds at most.
    pub fn refresh(&mut self, worktree: &Worktree) -> ReadHistory {
        self.refresh_until(worktree, Instant::now() + TIME)
    }

    fn refresh_until(&mut self, worktree: &Worktree, deadline: Instant) -> ReadHistory {
        let mut read = ReadHistory::default();
        match self.read(worktree, deadline, &mut read.notes) {
            Ok(co_change) => read.co_change = co_change,
            Err(error) => read.notes.push(format!("history is not read: {error}")),
        }
        read
    }

    fn read(
        &mut self,
        worktree: &Worktree,
        deadline: Instant,
        notes: &mut Vec<String>,
    ) -> Result<Option<CoChange>, HistoryError> {
        let mut changes = CommitReader::open(worktree)?;
        let head = changes.head();
        if head == self.head {
            return Ok(None);
        }
        let recent = changes.recent(MAX_COMMITS, &deadline.into())?;
        let ids = &recent.commits;
        self.recall(ids, notes);
        let compared = self.compare(&mut changes, ids, deadline, notes);
        let read = ids.iter().filter(|id| self.known.contains_key(*id)).count();
        if compared.late || recent.cuts.has(Cut::Time) {
            notes.push(format!("history: {read} commits were read before the deadline; the next refresh continues"));
        } else {
            self.head = head;
        }
        if compared.missing > 0 || recent.cuts.has(Cut::Shallow) {
            notes.push(format!("history: {read} commits, since the clone is shallow or partial"));
        }
        if self.known.len() > 2 * MAX_COMMITS {
            let current: HashSet<&ObjectId> = ids.iter().collect();
            self.known.retain(|id, _| current.contains(id));
        }
        Ok(Some(self.co_change(ids)))
    }

    /// Loads cached commits.
    fn recall(&mut self, ids: &[ObjectId], notes: &mut Vec<String>) {
        if let Some(dir) = self.cache_dir.as_ref().filter(|_| !self.opened) {
            match Cache::open(dir) {
                Ok(cache) => self.cache = Some(cache),
                Err(error) => notes.push(format!("history is read without a cache: {error}")),
            }
        }
        self.opened = true;
        let Some(cache) = &self.cache else { return };
        let unknown: Vec<ObjectId> = ids.iter().copied().filter(|id| !self.known.contains_key(id)).collect();
        let found = cache.of_commits(FORM, &unknown);
        let found = unknown.into_iter().zip(found);
        self.known.extend(found.filter_map(|(id, commit)| Some((id, commit?))));
    }

    /// Compares unknown commits, newest first, and caches the results.
    fn compare(
        &mut self,
        changes: &mut CommitReader,
        ids: &[ObjectId],
        deadline: Instant,
        notes: &mut Vec<String>,
    ) -> CompareOutcome {
        let mut compared = CompareOutcome::default();
        let mut tokenizer = Tokenizer::new();
        let unknown: Vec<ObjectId> = ids.iter().copied().filter(|id| !self.known.contains_key(id)).collect();
        for batch in unknown.chunks(BATCH) {
            let mut new = Vec::new();
            for id in batch {
                if Instant::now() >= deadline {
                    compared.late = true;
                    break;
                }
                match changes.of(*id, MAX_NAMES) {
                    Some(changed) => new.push((*id, Commit::of(&changed, &mut tokenizer))),
                    None => compared.missing += 1,
                }
            }
            if let Some(cache) = &mut self.cache
                && let Err(error) = cache.store_commits(FORM, new.iter().map(|(id, commit)| (*id, commit)))
            {
                notes.push(format!("history is not kept: {error}"));
                self.cache = None;
            }
            self.known.extend(new);
        }
        compared
    }

    /// Builds the tables, following files through moves.
    fn co_change(&self, newest_first: &[ObjectId]) -> CoChange {
        let mut newest_names: HashMap<&str, &str> = HashMap::new();
        let mut commits: Vec<(Vec<&str>, &str)> = Vec::new();
        for commit in newest_first.iter().filter_map(|id| self.known.get(id)) {
            let name = |path: &'_ str| newest_names.get(path).copied();
            let paths = commit.paths.iter().map(|path| name(path).unwrap_or(path));
            commits.push((paths.collect(), &commit.terms));
            let moved = commit.moved.iter().map(|(from, to)| (&**from, name(to).unwrap_or(to)));
            let moved: Vec<(&str, &str)> = moved.collect();
            newest_names.extend(moved);
        }
        CoChange::new(commits.iter().map(|(paths, terms)| (paths.as_slice(), *terms)))
    }
}

/// The outcome of comparing commits.
#[derive(Default)]
struct CompareOutcome {
    late: bool,
    /// Number of commits that could not be compared, as at the end of a shallow clone.
    missing: usize,
}

impl Commit {
    fn of(changed: &CommitChanges, tokenizer: &mut Tokenizer) -> Self {
        let name = |path: &RelPath| path.as_str().into();
        let few = (1..=MAX_FILES).contains(&changed.paths.len());
        let message = if few { redact(&changed.message) } else { "".into() };
        let terms: Vec<String> = counted(tokenizer, &message).into_iter().map(|(term, _)| term).collect();
        Self {
            paths: changed.paths.iter().filter(|_| few).map(name).collect(),
            moved: changed.moved.iter().map(|(from, to)| (name(from), name(to))).collect(),
            terms: terms.join(" ").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muninn_repo_tools::fixture::Fixture;

    fn commit(repo: &Fixture, files: &[(&str, &str)]) {
        files.iter().for_each(|(path, text)| repo.write(path, text.as_bytes()));
        repo.commit();
    }

    /// Number of commits that were read; `None` if nothing changed.
    fn read(history: &mut History, repo: &Fixture) -> Option<usize> {
        let read = history.refresh(&repo.worktree());
        assert!(read.notes.is_empty(), "{:?}", read.notes);
        read.co_change.map(|co_change| co_change.messages().len())
    }

    #[test]
    fn history_is_read_when_head_moves_and_from_the_cache() {
        let (repo, cache) = (Fixture::with(&[]), tempfile::tempdir().unwrap());
        let mut history = History::new(Some(cache.path().to_owned()));
        assert_eq!(read(&mut history, &repo), None, "there is none");
        commit(&repo, &[("a.rs", "1"), ("b.rs", "1")]);
        assert_eq!(read(&mut history, &repo), Some(1));
        assert_eq!(read(&mut history, &repo), None, "HEAD did not move");
        commit(&repo, &[("a.rs", "2")]);
        assert_eq!(read(&mut history, &repo), Some(2));

        let head = CommitReader::open(&repo.worktree()).unwrap().head().unwrap();
        let stored = Commit { paths: vec!["stored.rs".into()], ..Commit::default() };
        let mut store = Cache::open(cache.path()).unwrap();
        store.store_commits(FORM, [(head, &stored)].into_iter()).unwrap();
        let mut other = History::new(Some(cache.path().to_owned()));
        assert_eq!(read(&mut other, &repo), Some(2));
        assert_eq!(other.known[&head].paths, stored.paths, "it is not compared again");
        assert_eq!(History::new(None).refresh(&repo.worktree()).co_change.unwrap().messages().len(), 2);
    }

    #[test]
    fn commits_after_the_deadline_are_read_later() {
        let repo = Fixture::with(&[]);
        commit(&repo, &[("a.rs", "1"), ("b.rs", "1")]);
        let mut history = History::new(None);
        let cut = history.refresh_until(&repo.worktree(), Instant::now());
        assert_eq!((cut.co_change.unwrap().messages().len(), cut.notes.len()), (0, 1), "{:?}", cut.notes);
        assert_eq!(read(&mut history, &repo), Some(1));
    }

    #[test]
    fn files_are_followed_through_moves() {
        let repo = Fixture::with(&[]);
        commit(&repo, &[("old/a.rs", "1"), ("b.rs", "1")]);
        repo.git(&["mv", "old", "new"]);
        repo.git(&["commit", "-q", "-m", "move"]);
        let mut history = History::new(None);
        let co_change = history.refresh(&repo.worktree()).co_change.unwrap();
        assert_eq!(co_change.commits_of("new/a.rs"), 2);
        assert_eq!((co_change.commits_of("b.rs"), co_change.commits_of("old/a.rs")), (1, 0));
    }
}
