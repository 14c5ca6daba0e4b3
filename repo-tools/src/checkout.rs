//! The current checkout: branch, commits and tracked files. Each call reads them from git again, because a long-running
//! process must notice when another program checks out a branch.

use std::collections::BTreeSet;

use gix::index::entry::{Mode, Stage};

use crate::blob::BlobId;
use crate::discovery::open_with;
use crate::path::RelPath;
use crate::secret::is_secret;
use crate::worktree::Worktree;

/// Default branch names to try when nothing is configured.
const USUAL: [&str; 2] = ["main", "master"];

/// The current checkout of a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkout {
    /// The short name of the branch; `None` on a detached HEAD or an unreadable repository.
    pub branch: Option<String>,
    /// The commit of HEAD, in hexadecimal; `None` in a repository without commits.
    pub head: Option<String>,
    /// The short name of the default branch: HEAD of the remote `origin`, or else the first existing branch among
    /// `init.defaultBranch` of the repository's own configuration, `main` and `master`. `None` if none of them exists.
    pub default_branch: Option<String>,
}

impl Worktree {
    /// Returns the short name of the current branch; `None` on a detached HEAD or an unreadable repository.
    pub fn branch(&self) -> Option<String> {
        let name = self.repository().ok()?.head_name().ok()??;
        Some(name.shorten().to_string())
    }

    /// Returns the commit of HEAD, in hexadecimal; `None` in a repository without commits.
    pub fn head_commit(&self) -> Option<String> {
        let repository = self.repository().ok()?;
        let id = repository.head_id().ok()?;
        Some(id.to_string())
    }

    /// Returns the configured author name for commits; `None` if git has none.
    pub fn author(&self) -> Option<String> {
        self.author_identity().map(|(name, _)| name)
    }

    /// Returns the configured name and address for commits; `None` if git has none. Only this method reads the git
    /// configuration of the user and the system.
    pub fn author_identity(&self) -> Option<(String, String)> {
        let repository = open_with(self.git_dir(), gix::open::Options::default()).ok()?;
        let author = repository.author()?.ok()?;
        let identity = (author.name.to_string(), author.email.to_string());
        Some(identity).filter(|(name, _)| !name.trim().is_empty())
    }

    /// Returns whether a commit, in hexadecimal, is HEAD or an ancestor of HEAD. An unknown commit is neither.
    pub fn has_commit(&self, commit: &str) -> bool {
        let found = || {
            let commit = gix::ObjectId::from_hex(commit.as_bytes()).ok()?;
            is_ancestor_of_head(&self.repository().ok()?, commit)
        };
        found().unwrap_or(false)
    }

    /// Returns whether a branch, by its short name, is the current branch or was merged into it. A branch without a
    /// commit since its creation does not count as merged. For a deleted branch, the commit at which HEAD last left the
    /// branch is checked.
    pub fn has_branch(&self, branch: &str) -> bool {
        let found = || {
            let repository = self.repository().ok()?;
            let head = repository.head_name().ok()?;
            if head.is_some_and(|name| name.shorten() == branch) {
                return Some(true);
            }
            let reference = repository.try_find_reference(&format!("refs/heads/{branch}"));
            let Some(mut reference) = reference.ok()? else {
                return is_ancestor_of_head(&repository, last_commit_on(&repository, branch)?);
            };
            let tip = reference.peel_to_id().ok()?.detach();
            Some(creation_commit(&repository, &reference) != Some(tip) && is_ancestor_of_head(&repository, tip)?)
        };
        found().unwrap_or(false)
    }

    /// Returns branch, HEAD and default branch, opening the repository once.
    pub fn checkout(&self) -> Checkout {
        let Ok(repository) = self.repository() else {
            return Checkout::default();
        };
        let name = repository.head_name().ok().flatten();
        Checkout {
            branch: name.map(|name| name.shorten().to_string()),
            head: repository.head_id().ok().map(|id| id.to_string()),
            default_branch: default_branch(&repository),
        }
    }

    /// Returns the id of a file in the commit of HEAD; `None` if it has no such file.
    pub fn committed(&self, path: &RelPath) -> Option<BlobId> {
        let repository = self.repository().ok()?;
        let entry = repository
            .head_commit()
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
            let repository = self.repository().ok()?;
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
            let repository = self.repository().ok()?;
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

fn is_ancestor_of_head(repository: &gix::Repository, commit: gix::ObjectId) -> Option<bool> {
    let head = repository.head_id().ok()?.detach();
    Some(commit == head || repository.merge_base(commit, head).ok()?? == commit)
}

/// The commit at which a branch was created in this repository, from the branch's reflog. `None` if there is no reflog,
/// or if the branch was created from a remote branch: a remote branch has commits of its own.
fn creation_commit(repository: &gix::Repository, reference: &gix::Reference<'_>) -> Option<gix::ObjectId> {
    let mut log = reference.log_iter();
    let first = log.all().ok()??.next()?.ok()?;
    let from = first.message.to_string();
    let from = from.strip_prefix("branch: Created from ")?;
    let is_remote = |name: &gix::bstr::BStr| from.starts_with(&format!("{name}/"));
    let from_remote =
        from.starts_with("refs/remotes/") || repository.remote_names().iter().any(|name| is_remote(name.as_ref()));
    (!from_remote).then(|| first.new_oid())
}

/// The commit at which HEAD last left a branch, from the reflog of HEAD.
fn last_commit_on(repository: &gix::Repository, branch: &str) -> Option<gix::ObjectId> {
    let head = repository.find_reference("HEAD").ok()?;
    let mut log = head.log_iter();
    let left = format!("checkout: moving from {branch} to ");
    let moves = log.all().ok()??.flatten();
    let last = moves.filter(|line| line.message.starts_with(left.as_bytes())).last()?;
    Some(last.previous_oid())
}

fn default_branch(repository: &gix::Repository) -> Option<String> {
    let of_origin = || {
        let head = repository.try_find_reference("refs/remotes/origin/HEAD").ok()??;
        let name = head.target().try_name()?.shorten().to_string();
        name.strip_prefix("origin/").map(str::to_owned)
    };
    let exists = |name: &String| {
        let reference = repository.try_find_reference(&format!("refs/heads/{name}"));
        reference.is_ok_and(|found| found.is_some())
    };
    let configured = repository.config_snapshot().string("init.defaultBranch");
    let named = configured.map(|name| name.to_string()).into_iter();
    let usual = USUAL.map(str::to_owned);
    of_origin().or_else(|| named.chain(usual).find(exists))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn default_branch_is_origins_head_or_a_usual_name() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        let worktree = repo.worktree();
        let default_branch = || worktree.checkout().default_branch;
        assert_eq!(default_branch(), None, "an unborn branch does not exist");
        repo.commit();
        assert_eq!(default_branch().as_deref(), Some("main"));
        repo.git(&["checkout", "-q", "-b", "trunk"]);
        assert_eq!(default_branch().as_deref(), Some("main"));
        repo.git(&["config", "init.defaultBranch", "trunk"]);
        assert_eq!(default_branch().as_deref(), Some("trunk"));
        repo.git(&["update-ref", "refs/remotes/origin/develop/x", "HEAD"]);
        repo.git(&[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/develop/x",
        ]);
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
        assert!(worktree.has_branch("side") && worktree.has_branch("main"));
        repo.git(&["checkout", "-q", "main"]);
        assert!(
            !worktree.has_branch("side"),
            "the branch `side` has no commit of its own"
        );
        repo.git(&["checkout", "-q", "side"]);
        commit("b.txt");
        assert!(worktree.has_branch("main"));
        repo.git(&["checkout", "-q", "main"]);
        assert!(!worktree.has_branch("side"));
        repo.git(&["merge", "-q", "side"]);
        assert!(worktree.has_branch("side"));
        repo.git(&["branch", "-q", "-d", "side"]);
        assert!(
            worktree.has_branch("side"),
            "the branch `side` was merged before it was deleted"
        );
        repo.git(&["checkout", "-q", "-b", "dropped"]);
        commit("c.txt");
        repo.git(&["checkout", "-q", "main"]);
        repo.git(&["branch", "-q", "-D", "dropped"]);
        assert!(!worktree.has_branch("dropped") && !worktree.has_branch("never"));
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
