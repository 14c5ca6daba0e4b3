//! Which files each commit changed: names only, for thousands of commits.
//!
//! Files that change together belong together, also where they share no word. This answers for many commits in a second:
//! two trees are compared without opening a file, and equal subtrees are not entered.
//!
//! gix is wrapped, because its interface changes with each version. Only its object database and its walk over commits
//! are used, and nothing that runs programs which a repository's configuration names (filters, text converters, monitors).

use std::collections::HashMap;
use std::ops::ControlFlow;

use gix::bstr::{BStr, ByteSlice};
use gix::diff::tree::recorder::Change;
use gix::diff::tree::{Recorder, Visit, visit};
use gix::objs::TreeRefIter;

use crate::cut::{Cut, Cuts, shorten};
use crate::path::RelPath;
use crate::secret::is_secret;
use crate::until::Until;
use crate::worktree::Worktree;

/// Messages are given up to here, in bytes.
const MAX_MESSAGE: usize = 4_000;

/// The repository cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the git repository")]
pub struct HistoryError {
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl HistoryError {
    fn git(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self {
            source: Box::new(source),
        }
    }
}

/// The id of a commit, as 20 bytes of SHA-1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId([u8; 20]);

impl CommitId {
    /// From the 20 raw bytes of an id, for instance out of a cache.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The 20 raw bytes.
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    fn object(self) -> gix::ObjectId {
        gix::ObjectId::from(self.0)
    }
}

/// The commits before HEAD, merges left out.
#[derive(Debug, Default)]
pub struct RecentCommits {
    /// The newest first.
    pub commits: Vec<CommitId>,
    /// [`Cut::Matches`]: there are more. [`Cut::Time`]: there may be more. [`Cut::Shallow`]: the clone has no more.
    pub cuts: Cuts,
}

/// What a commit did, beside its first parent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitChanges {
    /// Its message, cut at 4,000 bytes.
    pub message: String,
    /// Files that it added, modified or removed, in order, each once. A file that only moved counts as its new self.
    /// Secret-like files, submodules and paths that are not UTF-8 are left out.
    pub paths: Vec<RelPath>,
    /// Files that it moved without changing them: from where, to where.
    pub moved: Vec<(RelPath, RelPath)>,
    /// It changed more than was asked for: nothing is listed.
    pub too_many: bool,
}

/// A repository that is asked about many commits.
pub struct CommitReader {
    repository: gix::Repository,
    state: gix::diff::tree::State,
}

impl CommitReader {
    /// Opens the repository of a worktree.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(worktree: &Worktree) -> Result<Self, HistoryError> {
        let mut repository =
            gix::open_opts(worktree.root(), gix::open::Options::isolated()).map_err(HistoryError::git)?;
        // The trees of neighbours in history are nearly the same, and stored as differences from each other.
        repository.object_cache_size(Some(16 << 20));
        Ok(Self {
            repository,
            state: gix::diff::tree::State::default(),
        })
    }

    /// The commit that HEAD stands on; `None` before the first one.
    ///
    /// # Errors
    /// If HEAD cannot be read.
    pub fn head(&self) -> Result<Option<CommitId>, HistoryError> {
        if self.repository.head().map_err(HistoryError::git)?.is_unborn() {
            return Ok(None);
        }
        let head = self.repository.head_commit().map_err(HistoryError::git)?;
        Ok(CommitId::from_bytes(head.id.as_slice()))
    }

    /// The last `max` commits before HEAD that are no merges, by time, as far as the time allows.
    ///
    /// # Errors
    /// If HEAD cannot be read. A commit that is missing ends the list, and is a cut.
    pub fn recent(&self, max: usize, until: &Until) -> Result<RecentCommits, HistoryError> {
        let mut recent = RecentCommits::default();
        let Some(start) = self.head()? else {
            return Ok(recent);
        };
        let order =
            gix::revision::walk::Sorting::ByCommitTime(gix::traverse::commit::simple::CommitTimeOrder::default());
        let walk = self.repository.rev_walk([start.object()]).sorting(order).all();
        for info in walk.map_err(HistoryError::git)? {
            let Ok(info) = info else {
                recent.cuts.add(Cut::Shallow);
                break;
            };
            if recent.commits.len() >= max {
                recent.cuts.add(Cut::Matches);
                return Ok(recent);
            }
            if info.parent_ids.len() < 2 {
                recent.commits.extend(CommitId::from_bytes(info.id.as_slice()));
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

    /// What a commit changed, if that is at most `max` files; `None` where the commit or its parent is missing, as at the
    /// end of a shallow clone: compared with nothing, it would seem to have made all there is.
    pub fn of(&mut self, id: CommitId, max: usize) -> Option<CommitChanges> {
        let commit = self.repository.find_commit(id.object()).ok()?;
        let after = commit.tree().ok()?;
        let before = match commit.parent_ids().next() {
            Some(parent) => Some(self.repository.find_commit(parent.detach()).ok()?.tree().ok()?),
            None => None,
        };
        let old = before.as_ref().map_or(&[] as &[u8], |tree| tree.data.as_slice());
        let mut bounded = Bounded {
            recorder: Recorder::default(),
            left: max,
        };
        let (old, new) = (
            TreeRefIter::from_bytes(old, self.repository.object_hash()),
            TreeRefIter::from_bytes(&after.data, self.repository.object_hash()),
        );
        let compared = gix::diff::tree(old, new, &mut self.state, &self.repository.objects, &mut bounded);
        let message = commit.message_raw_sloppy().to_string();
        let mut changed = CommitChanges {
            message: shorten(message.trim(), MAX_MESSAGE).0.to_owned(),
            ..CommitChanges::default()
        };
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
                Change::Addition {
                    path, entry_mode, oid, ..
                } if entry_mode.is_blob() => added.extend(shown(path.as_ref()).map(|path| (path, oid))),
                Change::Deletion {
                    path, entry_mode, oid, ..
                } if entry_mode.is_blob() => removed.entry(oid).or_default().extend(shown(path.as_ref())),
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

/// A path that may be shown: UTF-8, and not that of a secret.
fn shown(path: &BStr) -> Option<RelPath> {
    let path = path.to_str().ok().and_then(|path| RelPath::new(path).ok());
    path.filter(|path| !is_secret(path))
}

/// Records until there is too much.
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
        // A folder that came or went is reported beside the files in it.
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

    /// What the commits before HEAD changed, the newest first; `None` for those that cannot be compared.
    fn all(worktree: &Worktree, max: usize) -> (Vec<Option<CommitChanges>>, Cuts) {
        let mut changes = CommitReader::open(worktree).unwrap();
        let recent = changes.recent(100, &soon()).unwrap();
        let changed = recent.commits.iter().map(|id| changes.of(*id, max)).collect();
        (changed, recent.cuts)
    }

    fn paths(changed: &CommitChanges) -> Vec<&str> {
        changed.paths.iter().map(RelPath::as_str).collect()
    }

    /// Three commits, a merge among them.
    fn repository() -> Fixture {
        let repo = Fixture::with(&[
            ("a/x.rs", "x\n"),
            ("a/y.rs", "y\n"),
            ("b.rs", "b\n"),
            (".env", "KEY=1\n"),
        ]);
        assert_eq!(CommitReader::open(&repo.worktree()).unwrap().head().unwrap(), None);
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
        assert_eq!(changed.len(), 3, "a merge is none of them");
        let changed: Vec<CommitChanges> = changed.into_iter().flatten().collect();
        let moves = changed
            .iter()
            .find(|changed| changed.message == "move it\n\nfar")
            .unwrap();
        assert_eq!(paths(moves), ["moved/x.rs", "y.rs"]);
        let moved: Vec<_> = moves
            .moved
            .iter()
            .map(|(from, to)| (from.as_str(), to.as_str()))
            .collect();
        assert_eq!(moved, [("a/x.rs", "moved/x.rs"), ("a/y.rs", "y.rs")]);
        assert!(changed.iter().any(|changed| paths(changed) == ["a/y.rs", "b.rs"]));
        let first = changed.iter().find(|changed| changed.paths.len() == 3).unwrap();
        assert_eq!(paths(first), ["a/x.rs", "a/y.rs", "b.rs"], "a secret is not told");
    }

    #[test]
    fn bounds_are_kept_and_told() {
        let repo = repository();
        let (changed, _) = all(&repo.worktree(), 3);
        let cut: Vec<bool> = changed.iter().flatten().map(|changed| changed.too_many).collect();
        assert_eq!(cut.iter().filter(|cut| **cut).count(), 2, "four files, and two moves");
        assert!(
            changed
                .iter()
                .flatten()
                .all(|one| one.paths.len() <= 2 && (!one.too_many || one.paths.is_empty()))
        );
        let changes = CommitReader::open(&repo.worktree()).unwrap();
        let two = changes.recent(2, &soon()).unwrap();
        assert_eq!((two.commits.len(), two.cuts.has(Cut::Matches)), (2, true));
        assert!(
            changes
                .recent(9, &Until::within(Duration::ZERO))
                .unwrap()
                .cuts
                .has(Cut::Time)
        );
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
