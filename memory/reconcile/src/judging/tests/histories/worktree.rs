//! A person's repository, in which git makes every commit at the same time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use muninn_base::Clock;
use muninn_repo_tools::Worktree;
use muninn_team::store::{DefaultBranchSegments, StoreSettings};
use muninn_team::{Home, Store};
use muninn_tests::git_command;
use tempfile::TempDir;

use super::actions::PEOPLE;
use crate::SETUP;

/// The folder of records.
const MEMORY: &str = ".muninn/memory";

/// A worktree and a state directory.
pub(super) struct TestWorktree {
    pub(super) worktree: Worktree,
    state: PathBuf,
}

/// A forge, the people's clones, and the forge's own clone for merging.
pub(super) struct Team {
    dir: TempDir,
    pub(super) people: Vec<TestWorktree>,
    pub(super) forge: TestWorktree,
}

impl Team {
    /// Creates the repositories with one commit, the result of `muninn init`.
    pub(super) fn new() -> Self {
        let dir = tempfile::Builder::new()
            .tempdir_in(Some(Path::new("/dev/shm")).filter(|dir| dir.is_dir()).unwrap_or(&std::env::temp_dir()))
            .unwrap();
        let at = |name: &str| dir.path().join(name);
        let run = |args: &[&str]| git(dir.path(), args).unwrap();
        run(&["init", "-q", "--bare", "-b", "main", "forge.git"]);
        run(&["clone", "-q", "forge.git", "forge"]);
        let forge = TestWorktree::at(dir.path(), "forge");
        for (path, text) in SETUP {
            forge.write(path, text);
        }
        forge.run(&["checkout", "-q", "-b", "main"]).unwrap();
        forge.commit("init");
        forge.run(&["push", "-q", "origin", "main"]).unwrap();
        forge.run(&["remote", "set-head", "origin", "main"]).unwrap();
        // Overrides the repository's attributes.
        forge.write(".git/info/attributes", "*.jsonl !merge\n");
        let people = (0..PEOPLE).map(|who| {
            let name = format!("person{who}");
            if who + 1 < PEOPLE {
                run(&["clone", "-q", "forge.git", &name]);
            } else {
                let there = at(&name).display().to_string();
                git(&at("person0"), &["worktree", "add", "-q", "-b", "linked", &there]).unwrap();
            }
            let desk = TestWorktree::at(dir.path(), &name);
            if who == 1 {
                desk.run(&["checkout", "-q", "-b", "one"]).unwrap();
            }
            desk
        });
        let people = people.collect();
        Self { dir, people, forge }
    }

    /// Another clone, which has the branches of all as remotes.
    pub(super) fn another(&self, name: &str) -> TestWorktree {
        git(self.dir.path(), &["clone", "-q", "forge.git", name]).unwrap();
        let desk = TestWorktree::at(self.dir.path(), name);
        for (who, person) in self.people.iter().enumerate() {
            let from = person.worktree.root().display().to_string();
            let to = format!("+refs/heads/*:refs/remotes/person{who}/*");
            desk.run(&["fetch", "-q", &from, &to]).unwrap();
        }
        desk
    }
}

impl TestWorktree {
    fn at(dir: &Path, name: &str) -> Self {
        let dir = dir.canonicalize().unwrap();
        Self { worktree: Worktree::discover(&dir.join(name)).unwrap(), state: dir.join(format!("{name}.state")) }
    }

    /// Git's output; `None` if it fails.
    pub(super) fn run(&self, args: &[&str]) -> Option<String> {
        git(self.worktree.root(), args)
    }

    /// The current commit.
    pub(super) fn head(&self) -> String {
        self.worktree.head_commit().unwrap().unwrap()
    }

    pub(super) fn commit(&self, message: &str) {
        self.run(&["add", "-A"]).unwrap();
        self.run(&["commit", "-q", "-m", message]);
    }

    /// Completes a merge, a cherry-pick, a revert or a rebase by taking all files as they are. Returns whether it
    /// changed anything.
    pub(super) fn finish(&self, went_well: bool) -> bool {
        let under_way = |name: &str| self.worktree.git_dir().join(name).exists();
        if ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"].iter().any(|name| under_way(name))
            && !under_way("rebase-merge")
        {
            self.run(&["add", "-A"]).unwrap();
            self.run(&["commit", "-q", "--allow-empty", "--no-edit"]).unwrap();
            return true;
        }
        let rebasing = under_way("rebase-merge");
        while under_way("rebase-merge") {
            self.run(&["add", "-A"]).unwrap();
            let goes_on = self.run(&["rebase", "--continue"]).is_some();
            let is_empty = || self.run(&["diff", "--cached", "--quiet"]).is_some();
            if !goes_on
                && under_way("rebase-merge")
                && is_empty()
                && self.run(&["ls-files", "-u"]) == Some(String::new())
            {
                self.run(&["rebase", "--skip"]);
            }
        }
        went_well || rebasing
    }

    pub(super) fn home(&self) -> Home {
        Home::Repository(self.worktree.clone())
    }

    pub(super) fn store(&self) -> Store {
        // All segments are read, as on another branch.
        let settings =
            StoreSettings { default_branch_segments: DefaultBranchSegments::All, ..StoreSettings::default() };
        Store::at(self.home(), &self.state, settings, Clock::system())
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.worktree.root().join(path)).unwrap_or_default()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.worktree.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// All files of the memory that git would track, by path below it.
    pub(super) fn memory(&self) -> BTreeMap<String, String> {
        let root = self.worktree.root().join(MEMORY);
        let mut files = BTreeMap::new();
        gather(&root, &root, &mut files);
        files
    }

    /// Restores all files of the memory.
    pub(super) fn restore(&self, memory: &BTreeMap<String, String>) {
        for path in self.memory().keys().filter(|path| !memory.contains_key(*path)) {
            std::fs::remove_file(self.worktree.root().join(MEMORY).join(path)).unwrap();
        }
        for (path, text) in memory {
            self.write(&format!("{MEMORY}/{path}"), text);
        }
    }
}

fn gather(root: &Path, dir: &Path, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(root, &path, files);
        } else if path.extension().is_none_or(|extension| extension != "tmp") {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            files.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn git(dir: &Path, args: &[&str]) -> Option<String> {
    let output = git_command(dir, args)
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
        .output()
        .unwrap();
    let said = || String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(said)
}
