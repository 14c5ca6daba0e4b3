//! What is checked out: a branch, its commits, and the files that git knows. Asked anew each time, for it changes under
//! a process that runs for long.

use std::collections::BTreeSet;

use gix::index::entry::{Mode, Stage};

use crate::path::RelPath;
use crate::secret::is_secret;
use crate::worktree::{Worktree, open};

/// Names of a default branch where nothing says which one it is.
const USUAL: [&str; 2] = ["main", "master"];

/// What is checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkout {
    /// The short name of the branch; `None` on a detached HEAD or an unreadable repository.
    pub branch: Option<String>,
    /// The commit that HEAD stands on, in hexadecimal; `None` in a repository without commits.
    pub head: Option<String>,
    /// The short name of the branch that the others come from and go back to: the one that the remote `origin` has
    /// checked out, or else `init.defaultBranch` of the repository's own configuration, `main` or `master`, whichever of
    /// these there is first. `None` where there is none of them.
    pub default_branch: Option<String>,
}

impl Worktree {
    /// The short name of the branch that is checked out; `None` on a detached HEAD or an unreadable repository.
    pub fn branch(&self) -> Option<String> {
        let name = open(self.root()).ok()?.head_name().ok()??;
        Some(name.shorten().to_string())
    }

    /// The commit that HEAD stands on, in hexadecimal; `None` in a repository without commits.
    pub fn head_commit(&self) -> Option<String> {
        let repository = open(self.root()).ok()?;
        let id = repository.head_id().ok()?;
        Some(id.to_string())
    }

    /// The name by which whoever works here signs commits; `None` where git knows none. For that alone the configuration
    /// of the user and the system is read.
    pub fn author(&self) -> Option<String> {
        let repository = gix::open(self.root()).ok()?;
        let author = repository.author()?.ok()?;
        Some(author.name.to_string()).filter(|name| !name.trim().is_empty())
    }

    /// Whether a commit, in hexadecimal, is HEAD or one of those that lead to it. Not where it is unknown here.
    pub fn has_commit(&self, commit: &str) -> bool {
        let is_there = || {
            let commit = gix::ObjectId::from_hex(commit.as_bytes()).ok()?;
            leads_to_head(&open(self.root()).ok()?, commit)
        };
        is_there().unwrap_or(false)
    }

    /// Whether a branch, by its short name, is the one that is checked out or has been merged into it. One on which
    /// nothing was committed since it was made has not. Of a branch that is gone, it is told by where it was left last.
    pub fn has_branch(&self, branch: &str) -> bool {
        let is_there = || {
            let repository = open(self.root()).ok()?;
            let head = repository.head_name().ok()?;
            if head.is_some_and(|name| name.shorten() == branch) {
                return Some(true);
            }
            let reference = repository.try_find_reference(&format!("refs/heads/{branch}"));
            let Some(mut reference) = reference.ok()? else {
                return leads_to_head(&repository, left_at(&repository, branch)?);
            };
            let tip = reference.peel_to_id().ok()?.detach();
            Some(made_at(&repository, &reference) != Some(tip) && leads_to_head(&repository, tip)?)
        };
        is_there().unwrap_or(false)
    }

    /// All of it at once.
    pub fn checkout(&self) -> Checkout {
        let Ok(repository) = open(self.root()) else {
            return Checkout::default();
        };
        let name = repository.head_name().ok().flatten();
        Checkout {
            branch: name.map(|name| name.shorten().to_string()),
            head: repository.head_id().ok().map(|id| id.to_string()),
            default_branch: default_branch(&repository),
        }
    }

    /// The files that git tracks, as the index has them and as [`crate::walk`] could list them: without symlinks, secrets
    /// and what is Muninn's own. Nothing but the index is read, so a file may be gone. None where it cannot be read.
    pub fn tracked(&self) -> Vec<RelPath> {
        let listed = || {
            let repository = open(self.root()).ok()?;
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

    /// The files directly in a directory that git tracks, as the index has them; none where it cannot be read.
    pub fn tracked_in(&self, directory: &RelPath) -> BTreeSet<RelPath> {
        let listed = || {
            let repository = open(self.root()).ok()?;
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

fn leads_to_head(repository: &gix::Repository, commit: gix::ObjectId) -> Option<bool> {
    let head = repository.head_id().ok()?.detach();
    Some(commit == head || repository.merge_base(commit, head).ok()?? == commit)
}

/// The commit at which a branch was made here, as its own log tells; `None` for one that came from a remote with commits
/// of its own, and where there is no log.
fn made_at(repository: &gix::Repository, reference: &gix::Reference<'_>) -> Option<gix::ObjectId> {
    let mut log = reference.log_iter();
    let first = log.all().ok()??.next()?.ok()?;
    let from = first.message.to_string();
    let from = from.strip_prefix("branch: Created from ")?;
    let is_remote = |name: &gix::bstr::BStr| from.starts_with(&format!("{name}/"));
    let came =
        from.starts_with("refs/remotes/") || repository.remote_names().iter().any(|name| is_remote(name.as_ref()));
    (!came).then(|| first.new_oid())
}

/// The commit at which a branch was left last, as the log of HEAD tells.
fn left_at(repository: &gix::Repository, branch: &str) -> Option<gix::ObjectId> {
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
    let is_there = |name: &String| {
        let reference = repository.try_find_reference(&format!("refs/heads/{name}"));
        reference.is_ok_and(|found| found.is_some())
    };
    let configured = repository.config_snapshot().string("init.defaultBranch");
    let named = configured.map(|name| name.to_string()).into_iter();
    let usual = USUAL.map(str::to_owned);
    of_origin().or_else(|| named.chain(usual).find(is_there))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn the_default_branch_is_the_remotes_or_the_usual_one() {
        let repo = Fixture::with(&[("a.txt", "x")]);
        let worktree = repo.worktree();
        let default_branch = || worktree.checkout().default_branch;
        assert_eq!(default_branch(), None, "a branch without a commit is none yet");
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
    fn a_branch_is_part_of_another_once_something_of_it_was_merged() {
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
        assert!(!worktree.has_branch("side"), "there is nothing on it");
        repo.git(&["checkout", "-q", "side"]);
        commit("b.txt");
        assert!(worktree.has_branch("main"));
        repo.git(&["checkout", "-q", "main"]);
        assert!(!worktree.has_branch("side"));
        repo.git(&["merge", "-q", "side"]);
        assert!(worktree.has_branch("side"));
        repo.git(&["branch", "-q", "-d", "side"]);
        assert!(worktree.has_branch("side"), "it was merged before it was deleted");
        repo.git(&["checkout", "-q", "-b", "dropped"]);
        commit("c.txt");
        repo.git(&["checkout", "-q", "main"]);
        repo.git(&["branch", "-q", "-D", "dropped"]);
        assert!(!worktree.has_branch("dropped") && !worktree.has_branch("never"));
    }

    #[test]
    fn what_git_tracks_is_what_was_added() {
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
