//! The current checkout: branch, commits and tracked files. Each call reads them from git again, because a long-running
//! process must notice when another program checks out a branch.

use std::collections::BTreeSet;

use gix::index::entry::{Mode, Stage};
use muninn_base::RelPath;

use crate::blob::BlobId;
use crate::references::{Head, Positions, ReferenceError, References};
use crate::secret::is_secret;
use crate::worktree::Worktree;

/// Default branch names to try when nothing is configured.
const USUAL: [&str; 2] = ["main", "master"];

/// The current checkout of a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkout {
    /// The short name of the branch; `None` on a detached HEAD.
    pub branch: Option<String>,
    /// The commit of HEAD, in hexadecimal; `None` in a repository without commits.
    pub head: Option<String>,
    /// The short name of the default branch: HEAD of the remote `origin`, or else the first existing branch among
    /// `init.defaultBranch` of the repository's own configuration, `main` and `master`. `None` if none of them exists.
    pub default_branch: Option<String>,
}

impl Worktree {
    /// Returns the short name of the current branch; `None` on a detached HEAD.
    pub fn branch(&self) -> Result<Option<String>, ReferenceError> {
        Ok(Positions::open(self.git())?.head()?.branch())
    }

    /// Returns the commit of HEAD, in hexadecimal; `None` in a repository without commits.
    pub fn head_commit(&self) -> Result<Option<String>, ReferenceError> {
        let commit = Positions::open(self.git())?.head()?.commit;
        Ok(commit.map(|commit| commit.to_string()))
    }

    fn references(&self) -> Result<References, ReferenceError> {
        References::open(self.git())
    }

    /// Returns the configured author name for commits; `None` if git has none.
    pub fn author(&self) -> Option<String> {
        self.author_identity().map(|(name, _)| name)
    }

    /// Returns the configured name and address for commits; `None` if git has none. Only this method reads the git
    /// configuration of the user and the system.
    pub fn author_identity(&self) -> Option<(String, String)> {
        let repository = self.git().repository_with(gix::open::Options::default()).ok()?;
        let author = repository.author()?.ok()?;
        let identity = (author.name.to_string(), author.email.to_string());
        Some(identity).filter(|(name, _)| !name.trim().is_empty())
    }

    /// Returns whether a commit, in hexadecimal, is HEAD or an ancestor of HEAD. An unknown commit is neither.
    pub fn has_commit(&self, commit: &str) -> Result<bool, ReferenceError> {
        let Ok(commit) = gix::ObjectId::from_hex(commit.as_bytes()) else {
            return Ok(false);
        };
        let references = self.references()?;
        let head = references.head()?;
        // gix cannot look up an id of the other kind, from before the repository was made anew.
        let is_known_kind = commit.kind() == references.repository.object_hash();
        Ok(is_known_kind && is_ancestor(&references.repository, commit, &head))
    }

    /// Returns whether a branch, by its short name, is the current branch or was merged into it. A branch without a
    /// commit since its creation does not count as merged. For a deleted branch, the commit at which HEAD last left the
    /// branch is checked. A branch that cannot be read, for instance because no branch can have its name, is not merged.
    pub fn has_branch(&self, branch: &str) -> Result<bool, ReferenceError> {
        let references = self.references()?;
        let head = references.head()?;
        if head.branch().as_deref() == Some(branch) {
            return Ok(true);
        }
        let is_merged = |commit| is_ancestor(&references.repository, commit, &head);
        // The logs are read last: they can take a call of git.
        Ok(match references.find(&format!("refs/heads/{branch}")) {
            Ok(Some(tip)) => is_merged(tip) && creation_commit(&references, branch) != Some(tip),
            Ok(None) => references.last_commit_on(branch).ok().flatten().is_some_and(is_merged),
            Err(_) => false,
        })
    }

    /// Returns branch, HEAD and default branch.
    pub fn checkout(&self) -> Result<Checkout, ReferenceError> {
        let positions = Positions::open(self.git())?;
        let head = positions.head()?;
        Ok(Checkout {
            branch: head.branch(),
            head: head.commit.map(|commit| commit.to_string()),
            default_branch: default_branch(&positions),
        })
    }

    /// Returns the id of a file in the commit of HEAD; `None` if it has no such file.
    pub fn committed(&self, path: &RelPath) -> Option<BlobId> {
        let references = self.references().ok()?;
        let entry = references
            .repository
            .find_commit(references.head().ok()?.commit?)
            .ok()?
            .tree()
            .ok()?
            .lookup_entry_by_path(path.as_str())
            .ok()??;
        BlobId::from_bytes(entry.object_id().as_slice())
    }

    /// Returns the tracked files that [`crate::walk`] could list: no symlinks, no secrets, nothing below `.muninn/`.
    /// Only git's index is read, so a file can be missing on disk. Empty if the index cannot be read.
    pub fn tracked(&self) -> Vec<RelPath> {
        let listed = || {
            let repository = self.git().repository().ok()?;
            let index = repository.index_or_empty().ok()?;
            let files = index.entries().iter().filter(|entry| {
                let is_plain = entry.stage() == Stage::Unconflicted;
                is_plain && matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
            });
            let paths = files.filter_map(|entry| RelPath::new(&entry.path(&index).to_string()).ok());
            let is_listed = |path: &RelPath| !is_secret(path) && !path.as_str().starts_with(".muninn/");
            Some(paths.filter(is_listed).collect())
        };
        listed().unwrap_or_default()
    }

    /// Returns the tracked files directly in a directory, from git's index; empty if it cannot be read.
    pub fn tracked_in(&self, directory: &RelPath) -> BTreeSet<RelPath> {
        let listed = || {
            let repository = self.git().repository().ok()?;
            let index = repository.index_or_empty().ok()?;
            let prefix = format!("{directory}/");
            let entries = index.prefixed_entries(prefix.as_str().into())?;
            let paths = entries.iter().map(|entry| entry.path(&index).to_string());
            let direct = paths.filter(|path| !path[prefix.len()..].contains('/'));
            Some(direct.filter_map(|path| RelPath::new(&path).ok()).collect())
        };
        listed().unwrap_or_default()
    }
}

fn is_ancestor(repository: &gix::Repository, commit: gix::ObjectId, head: &Head) -> bool {
    let Some(head) = head.commit else { return false };
    commit == head || repository.merge_base(commit, head).is_ok_and(|base| base.is_some_and(|base| base == commit))
}

/// The commit at which a branch was created in this repository, from the branch's log. `None` if there is no log, or if
/// the branch was created from a remote branch: a remote branch has commits of its own.
fn creation_commit(references: &References, branch: &str) -> Option<gix::ObjectId> {
    let (commit, message) = references.creation(branch).ok()??;
    let from = message.strip_prefix("branch: Created from ")?;
    let is_remote = |name: &gix::bstr::BStr| from.starts_with(&format!("{name}/"));
    let remotes = references.repository.remote_names();
    let from_remote = from.starts_with("refs/remotes/") || remotes.iter().any(|name| is_remote(name.as_ref()));
    (!from_remote).then_some(commit)
}

fn default_branch(positions: &Positions) -> Option<String> {
    let of_origin = positions.target("refs/remotes/origin/HEAD").ok().flatten();
    if let Some(name) = of_origin.as_deref().and_then(|name| name.strip_prefix("refs/remotes/origin/")) {
        return Some(name.to_owned());
    }
    let exists = |name: &String| positions.find(&format!("refs/heads/{name}")).is_ok_and(|found| found.is_some());
    positions.default_branch.clone().into_iter().chain(USUAL.map(str::to_owned)).find(exists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn default_branch_is_origins_head_or_a_usual_name() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        let worktree = repo.worktree();
        let default_branch = || worktree.checkout().unwrap().default_branch;
        assert_eq!(default_branch(), None, "an unborn branch does not exist");
        repo.commit();
        assert_eq!(default_branch().as_deref(), Some("main"));
        repo.git(&["checkout", "-q", "-b", "trunk"]);
        assert_eq!(default_branch().as_deref(), Some("main"));
        repo.git(&["config", "init.defaultBranch", "trunk"]);
        assert_eq!(default_branch().as_deref(), Some("trunk"));
        repo.git(&["update-ref", "refs/remotes/origin/develop/x", "HEAD"]);
        repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/develop/x"]);
        assert_eq!(default_branch().as_deref(), Some("develop/x"));
    }

    #[test]
    fn a_merged_branch_is_found_also_after_its_deletion() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        repo.commit();
        let commit = |name: &str| {
            repo.write(name, b"y");
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-q", "-m", name]);
        };
        let worktree = repo.worktree();
        repo.git(&["checkout", "-q", "-b", "side"]);
        assert!(worktree.has_branch("side").unwrap() && worktree.has_branch("main").unwrap());
        repo.git(&["checkout", "-q", "main"]);
        assert!(!worktree.has_branch("side").unwrap(), "the branch `side` has no commit of its own");
        repo.git(&["checkout", "-q", "side"]);
        commit("b.txt");
        assert!(worktree.has_branch("main").unwrap());
        repo.git(&["checkout", "-q", "main"]);
        assert!(!worktree.has_branch("side").unwrap());
        repo.git(&["merge", "-q", "side"]);
        assert!(worktree.has_branch("side").unwrap());
        repo.git(&["branch", "-q", "-d", "side"]);
        assert!(worktree.has_branch("side").unwrap(), "the branch `side` was merged before it was deleted");
        repo.git(&["checkout", "-q", "-b", "dropped"]);
        commit("c.txt");
        repo.git(&["checkout", "-q", "main"]);
        repo.git(&["branch", "-q", "-D", "dropped"]);
        assert!(!worktree.has_branch("dropped").unwrap() && !worktree.has_branch("never").unwrap());
    }

    #[test]
    fn tracked_files_are_those_of_the_index() {
        let repo = Fixture::with(&[("a/x.txt", "x"), ("a/deep/y.txt", "y"), ("ab/z.txt", "z")]);
        repo.commit();
        repo.write("a/new.txt", b"n");
        let tracked = |directory: &str| -> Vec<String> {
            let tracked = repo.worktree().tracked_in(&RelPath::new(directory).unwrap());
            tracked.iter().map(ToString::to_string).collect()
        };
        assert_eq!(tracked("a"), ["a/x.txt"]);
        repo.git(&["add", "-A"]);
        assert_eq!(tracked("a"), ["a/new.txt", "a/x.txt"]);
        assert!(tracked("gone").is_empty());
        repo.write(".env", b"SECRET=1");
        repo.write(".muninn/memory/main.jsonl", b"{}");
        repo.git(&["add", "-f", "-A"]);
        let all = repo.worktree().tracked();
        let all: Vec<&str> = all.iter().map(RelPath::as_str).collect();
        assert_eq!(all, ["a/deep/y.txt", "a/new.txt", "a/x.txt", "ab/z.txt"]);
    }
}
