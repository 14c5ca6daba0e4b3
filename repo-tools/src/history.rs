//! The files that each commit changed. Only names are compared, so thousands of commits can be read.
//!
//! Files that change together are related, even if they share no word. Many commits are compared per second: two trees
//! are compared without opening a file, and equal subtrees are skipped.
//!
//! This module wraps gix, because gix's interface changes with each version. It uses only the object database and the
//! walk over commits. It uses nothing that runs the programs that a repository's configuration can name: filters, text
//! converters, monitors.

use std::collections::HashMap;
use std::ops::ControlFlow;

use gix::bstr::{BStr, ByteSlice};
use gix::diff::tree::recorder::Change;
use gix::diff::tree::{Recorder, Visit, visit};
use gix::objs::TreeRefIter;
use muninn_base::{RelPath, Until};
use serde::Serialize;

use crate::cut::{Cut, Cuts, shorten};
use crate::object_id::ObjectId;
use crate::references::{ReferenceError, References};
use crate::secret::is_secret;
use crate::worktree::Worktree;

/// Maximum length of a message, in bytes. Longer messages are truncated.
const MAX_MESSAGE: usize = 4_000;
/// Maximum size of a file whose lines are looked up, in bytes.
const MAX_LINE_FILE: u64 = 1 << 20;

/// Why the history cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The repository cannot be opened, or its HEAD cannot be read.
    #[error(transparent)]
    Head(#[from] ReferenceError),
    /// The commits cannot be read.
    #[error("cannot read the git repository")]
    Git(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The commits up to HEAD, without merges.
#[derive(Debug, Default)]
pub struct RecentCommits {
    /// The commits, newest first.
    pub commits: Vec<ObjectId>,
    /// The limits that were reached. [`Cut::Matches`]: more commits exist. [`Cut::Time`]: more commits can exist.
    /// [`Cut::Shallow`]: the clone's history ends here.
    pub cuts: Cuts,
}

/// The changes of a commit, compared with its first parent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitChanges {
    /// The commit message, truncated to 4,000 bytes.
    pub message: String,
    /// The added, modified and removed files, sorted, without duplicates. A moved file is listed under its new path
    /// only. Secret files, submodules and paths that are not UTF-8 are omitted.
    pub paths: Vec<RelPath>,
    /// The files that were moved without a change of their content: old path, new path.
    pub moved: Vec<(RelPath, RelPath)>,
    /// Whether the commit changed more files than the caller's maximum. If so, `paths` and `moved` are empty.
    pub too_many: bool,
}

/// A commit as a log shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitSummary {
    /// The id, 40 hexadecimal digits or with SHA-256 64.
    pub id: String,
    /// The time of the commit, RFC 3339.
    pub date: String,
    /// The author's name.
    pub author: String,
    /// The first line of the message.
    pub subject: String,
}

/// Reads the changes of commits in one repository.
pub struct CommitReader {
    repository: gix::Repository,
    head: Option<ObjectId>,
    state: gix::diff::tree::State,
}

impl CommitReader {
    /// Opens the repository of a worktree.
    pub fn open(worktree: &Worktree) -> Result<Self, HistoryError> {
        let references = References::open(worktree.git())?;
        let head = references.head()?.commit.map(ObjectId::from);
        let mut repository = references.repository;
        // The trees of successive commits are nearly the same, and git stores them as differences from each other.
        repository.object_cache_size(Some(16 << 20));
        Ok(Self { repository, head, state: gix::diff::tree::State::default() })
    }

    /// Returns the commit of HEAD when the reader was opened; `None` in a repository without commits.
    pub fn head(&self) -> Option<ObjectId> {
        self.head
    }

    /// Returns the last `max` commits up to HEAD that are not merges, newest first. The walk ends at the deadline.
    ///
    /// # Errors
    /// [`HistoryError`] if HEAD cannot be read. A missing commit ends the list and sets a cut.
    pub fn recent(&self, max: usize, until: &Until) -> Result<RecentCommits, HistoryError> {
        let mut recent = RecentCommits::default();
        let Some(start) = self.head else {
            return Ok(recent);
        };
        let order =
            gix::revision::walk::Sorting::ByCommitTime(gix::traverse::commit::simple::CommitTimeOrder::default());
        let walk = self.repository.rev_walk([start.gix()]).sorting(order).all();
        for info in walk.map_err(|error| HistoryError::Git(Box::new(error)))? {
            let Ok(info) = info else {
                recent.cuts.add(Cut::Shallow);
                break;
            };
            if recent.commits.len() >= max {
                recent.cuts.add(Cut::Matches);
                return Ok(recent);
            }
            if info.parent_ids.len() < 2 {
                recent.commits.push(info.id.into());
            }
            if until.is_over() {
                recent.cuts.add(Cut::Time);
                return Ok(recent);
            }
        }
        if self.repository.is_shallow().unwrap_or(false) {
            recent.cuts.add(Cut::Shallow);
        }
        Ok(recent)
    }

    /// Returns what a log shows of a commit; `None` if the commit is missing or malformed.
    pub fn summary(&self, id: ObjectId) -> Option<CommitSummary> {
        let commit = self.repository.find_commit(id.gix()).ok()?;
        let author = commit.author().ok()?;
        Some(CommitSummary {
            id: commit.id.to_string(),
            date: commit.time().ok()?.format_or_unix(gix::date::time::format::ISO8601_STRICT),
            author: author.name.to_str_lossy().into_owned(),
            subject: commit.message().ok()?.summary().to_str_lossy().into_owned(),
        })
    }

    /// Returns whether a commit changed a file or directory, compared with its first parent; `None` if the commit or its
    /// parent is missing.
    pub fn changed(&self, id: ObjectId, path: &RelPath) -> Option<bool> {
        let entry = |commit: &gix::Commit<'_>| {
            let found = commit.tree().ok()?.lookup_entry_by_path(path.as_str()).ok()?;
            Some(found.map(|entry| entry.object_id()))
        };
        let commit = self.repository.find_commit(id.gix()).ok()?;
        let after = entry(&commit)?;
        let before = match commit.parent_ids().next() {
            Some(parent) => entry(&self.repository.find_commit(parent.detach()).ok()?)?,
            None => None,
        };
        Some(before != after)
    }

    /// Returns the author of the commit that brought a line with this text into a file; `None` if none of the last `most`
    /// commits that are not merges did.
    pub fn author_of_line(&self, path: &RelPath, text: &str, most: usize, until: &Until) -> Option<String> {
        let mut author = None;
        for id in self.recent(most, until).ok()?.commits {
            if until.is_over() {
                return None;
            }
            if self.changed(id, path) != Some(true) {
                continue;
            }
            let has_line = self.text_at(id, path).is_some_and(|file| file.lines().any(|line| line.contains(text)));
            if has_line {
                author = Some(id);
            } else if author.is_some() {
                break;
            }
        }
        Some(self.summary(author?)?.author)
    }

    /// The text of a file in a commit; `None` if there is none, or a large one.
    fn text_at(&self, id: ObjectId, path: &RelPath) -> Option<String> {
        let commit = self.repository.find_commit(id.gix()).ok()?;
        let entry = commit.tree().ok()?.lookup_entry_by_path(path.as_str()).ok()??;
        let size = self.repository.find_header(entry.object_id()).ok()?.size();
        let object = (size <= MAX_LINE_FILE).then(|| entry.object().ok())??;
        Some(String::from_utf8_lossy(&object.data).into_owned())
    }

    /// Returns the changes of a commit. If the commit changed more than `max` files, [`CommitChanges::too_many`] is
    /// set. Returns `None` if the commit or its parent is missing, as at the end of a shallow clone: without the
    /// parent, every file of the commit would count as added.
    pub fn of(&mut self, id: ObjectId, max: usize) -> Option<CommitChanges> {
        let commit = self.repository.find_commit(id.gix()).ok()?;
        let after = commit.tree().ok()?;
        let before = match commit.parent_ids().next() {
            Some(parent) => Some(self.repository.find_commit(parent.detach()).ok()?.tree().ok()?),
            None => None,
        };
        let old = before.as_ref().map_or(&[] as &[u8], |tree| tree.data.as_slice());
        let mut bounded = Bounded { recorder: Recorder::default(), left: max };
        let (old, new) = (
            TreeRefIter::from_bytes(old, self.repository.object_hash()),
            TreeRefIter::from_bytes(&after.data, self.repository.object_hash()),
        );
        let compared = gix::diff::tree(old, new, &mut self.state, &self.repository.objects, &mut bounded);
        let message = commit.message_raw_sloppy().to_string();
        let mut changed =
            CommitChanges { message: shorten(message.trim(), MAX_MESSAGE).0.to_owned(), ..CommitChanges::default() };
        match compared {
            Ok(()) => changed.list(bounded.recorder.records),
            Err(gix::diff::tree::Error::Cancelled) => changed.too_many = true,
            Err(gix::diff::tree::Error::Failure(_)) => return None,
        }
        Some(changed)
    }
}

impl CommitChanges {
    fn list(&mut self, records: Vec<Change>) {
        let mut removed: HashMap<gix::ObjectId, Vec<RelPath>> = HashMap::new();
        let mut added = Vec::new();
        for record in records {
            match record {
                Change::Modification { path, entry_mode, .. } if entry_mode.is_blob() => {
                    self.paths.extend(shown(path.as_ref()));
                }
                Change::Addition { path, entry_mode, oid, .. } if entry_mode.is_blob() => {
                    added.extend(shown(path.as_ref()).map(|path| (path, oid)));
                }
                Change::Deletion { path, entry_mode, oid, .. } if entry_mode.is_blob() => {
                    removed.entry(oid).or_default().extend(shown(path.as_ref()));
                }
                _ => {}
            }
        }
        for (path, oid) in added {
            if let Some(from) = removed.get_mut(&oid).and_then(Vec::pop) {
                self.moved.push((from, path.clone()));
            }
            self.paths.push(path);
        }
        self.moved.sort();
        self.paths.extend(removed.into_values().flatten());
        self.paths.sort();
        self.paths.dedup();
    }
}

/// Returns the path if it can be shown: it must be UTF-8 and must not be the path of a secret.
fn shown(path: &BStr) -> Option<RelPath> {
    let path = path.to_str().ok().and_then(|path| RelPath::new(path).ok());
    path.filter(|path| !is_secret(path))
}

/// Records changes up to a maximum number.
struct Bounded {
    recorder: Recorder,
    left: usize,
}

impl Visit for Bounded {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        // An added or removed directory is reported in addition to its files.
        if change.entry_mode().is_tree() {
            return ControlFlow::Continue(());
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return ControlFlow::Break(()),
        }
        self.recorder.visit(change)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fixture::Fixture;

    fn soon() -> Until {
        Until::within(Duration::from_secs(600))
    }

    /// Returns the changes of the commits up to HEAD, newest first; `None` for each commit that cannot be compared.
    fn all(worktree: &Worktree, max: usize) -> (Vec<Option<CommitChanges>>, Cuts) {
        let mut changes = CommitReader::open(worktree).unwrap();
        let recent = changes.recent(100, &soon()).unwrap();
        let changed = recent.commits.iter().map(|id| changes.of(*id, max)).collect();
        (changed, recent.cuts)
    }

    fn paths(changed: &CommitChanges) -> Vec<&str> {
        changed.paths.iter().map(RelPath::as_str).collect()
    }

    /// Creates a repository with three commits and a merge.
    fn repository() -> Fixture {
        let repo = Fixture::with(&[("a/x.rs", "x\n"), ("a/y.rs", "y\n"), ("b.rs", "b\n"), (".env", "KEY=1\n")]);
        assert_eq!(CommitReader::open(&repo.worktree()).unwrap().head(), None);
        assert!(all(&repo.worktree(), 10).0.is_empty());
        repo.commit();
        repo.git(&["checkout", "-q", "-b", "side"]);
        repo.write("b.rs", b"b2\n");
        repo.git(&["rm", "-q", "a/y.rs"]);
        repo.commit();
        repo.git(&["checkout", "-q", "main"]);
        repo.git(&["mv", "a", "moved"]);
        repo.git(&["mv", "moved/y.rs", "y.rs"]);
        repo.git(&["commit", "-q", "-m", "move it\n\nfar"]);
        repo.git(&["merge", "-q", "-s", "ours", "-m", "merged", "side"]);
        repo
    }

    #[test]
    fn commits_tell_what_they_changed() {
        let repo = repository();
        let (changed, cuts) = all(&repo.worktree(), 10);
        assert!(cuts.is_empty());
        assert_eq!(changed.len(), 3, "the merge is not listed");
        let changed: Vec<CommitChanges> = changed.into_iter().flatten().collect();
        let moves = changed.iter().find(|changed| changed.message == "move it\n\nfar").unwrap();
        assert_eq!(paths(moves), ["moved/x.rs", "y.rs"]);
        let moved: Vec<_> = moves.moved.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        assert_eq!(moved, [("a/x.rs", "moved/x.rs"), ("a/y.rs", "y.rs")]);
        assert!(changed.iter().any(|changed| paths(changed) == ["a/y.rs", "b.rs"]));
        let first = changed.iter().find(|changed| changed.paths.len() == 3).unwrap();
        assert_eq!(paths(first), ["a/x.rs", "a/y.rs", "b.rs"], "the path of a secret is omitted");
    }

    #[test]
    fn bounds_are_kept_and_told() {
        let repo = repository();
        let (changed, _) = all(&repo.worktree(), 3);
        let cut: Vec<bool> = changed.iter().flatten().map(|changed| changed.too_many).collect();
        assert_eq!(
            cut.iter().filter(|cut| **cut).count(),
            2,
            "the commits with four files and with two moves exceed the maximum"
        );
        assert!(changed.iter().flatten().all(|one| one.paths.len() <= 2 && (!one.too_many || one.paths.is_empty())));
        let changes = CommitReader::open(&repo.worktree()).unwrap();
        let two = changes.recent(2, &soon()).unwrap();
        assert_eq!((two.commits.len(), two.cuts.has(Cut::Matches)), (2, true));
        assert!(changes.recent(9, &Until::within(Duration::ZERO)).unwrap().cuts.has(Cut::Time));
    }

    #[test]
    fn the_end_of_a_shallow_clone_is_not_compared() {
        let origin = repository();
        let url = format!("file://{}", origin.root().display());
        let repo = Fixture::with(&[]);
        repo.git(&["clone", "-q", "--depth=1", "-b", "side", &url, "shallow"]);
        let (changed, cuts) = all(&Worktree::discover(&repo.path("shallow")).unwrap(), 10);
        assert_eq!(changed, [None]);
        assert!(cuts.has(Cut::Shallow));
    }
}
