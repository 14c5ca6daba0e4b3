//! A repository at a commit.
//!
//! Each tree is a repository that borrows the objects of a clone. Its only branch ends at the commit, so that neither the
//! worktree nor the history shows later changes. Nothing is written into the clone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use muninn_tests::git;

use super::instances::Instance;
use crate::harness::at;

/// The directory of trees. Without `--work`, it is removed at the end.
pub(crate) struct Trees {
    dir: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// The directory of its derived cache.
    pub(crate) cache: PathBuf,
}

impl Trees {
    pub(crate) fn new(dir: Option<&Path>) -> Result<Self> {
        let Some(dir) = dir else {
            let temporary = tempfile::tempdir()?;
            return Ok(Self { dir: temporary.path().to_owned(), _temporary: Some(temporary) });
        };
        fs::create_dir_all(dir).with_context(at(dir))?;
        Ok(Self { dir: dir.canonicalize().with_context(at(dir))?, _temporary: None })
    }

    pub(crate) fn of_instance(&self, clones: &Path, instance: &Instance) -> Result<Tree> {
        let clone = clone_of(clones, &instance.repo);
        self.checkout(&clone, &instance.repo, &instance.base_commit, instance.root.as_deref())
    }

    /// The tree of `repo` at `commit`, with only the files under `folder` if there is one. The clone may be bare.
    pub(crate) fn checkout(&self, clone: &Path, repo: &str, commit: &str, folder: Option<&str>) -> Result<Tree> {
        let is_hex = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        ensure!(is_hex, "{commit:?} is no commit");
        let folder = folder.map(|folder| folder.trim_matches('/')).filter(|it| !it.is_empty());
        let leaves = folder.is_some_and(|it| it.split('/').any(|part| matches!(part, ".." | ".")));
        ensure!(!leaves, "{folder:?} is no folder of a tree");
        let objects =
            objects(clone).with_context(|| format!("no clone of {repo}: {clone:?} holds no git repository"))?;
        let suffix = folder.map(|folder| format!("+{}", folder.replace('/', "+"))).unwrap_or_default();
        let name = format!("{}+{}{suffix}", repo.replace('/', "+"), &commit[..12]);
        let tree = Tree { root: self.dir.join(&name).join("tree"), cache: self.dir.join(&name).join("cache") };
        if !tree.root.is_dir() {
            let part = self.dir.join(format!("{name}.part.{}", std::process::id()));
            make(&part, &objects, commit, folder)
                .with_context(|| format!("commit {commit} of {repo} cannot be checked out"))?;
            // Only whole trees have the name by which a later run finds them.
            fs::create_dir_all(self.dir.join(&name))
                .and_then(|()| fs::rename(&part, &tree.root))
                .with_context(at(&part))?;
        }
        Ok(tree)
    }
}

/// The path of the clone of `owner/name` in the directory of all clones.
pub(crate) fn clone_of(clones: &Path, repo: &str) -> PathBuf {
    clones.join(repo.replace('/', "+")).join("repo")
}

/// The objects of a repository, bare or with a worktree, linked or not.
fn objects(clone: &Path) -> Option<PathBuf> {
    let plain = [clone.join("objects"), clone.join(".git/objects")];
    let found = plain.into_iter().find(|dir| dir.is_dir()).or_else(|| {
        let common = git(clone, &["rev-parse", "--git-common-dir"]).ok()?;
        Some(clone.join(common.trim_end()).join("objects"))
    })?;
    found.canonicalize().ok()
}

fn make(dir: &Path, objects: &Path, commit: &str, folder: Option<&str>) -> Result<()> {
    fs::create_dir_all(dir).with_context(at(dir))?;
    git(dir, &["init", "--quiet", "--template=", "--initial-branch=main"])?;
    let write = |path: &str, text: String| {
        let path = dir.join(".git").join(path);
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).with_context(at(&path))
    };
    write("objects/info/alternates", format!("{}\n", objects.display()))?;
    if let Some(folder) = folder {
        git(dir, &["config", "core.sparseCheckout", "true"])?;
        write("info/sparse-checkout", format!("/{folder}/\n"))?;
    }
    git(dir, &["update-ref", "refs/heads/main", commit])?;
    git(dir, &["reset", "--quiet", "--hard", "main"])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_ends_at_its_commit_and_may_hold_one_folder() {
        let (origin, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let run = |arguments: &[&str]| git(origin.path(), arguments).unwrap();
        run(&["init", "--quiet"]);
        fs::create_dir(origin.path().join("src")).unwrap();
        let [older, _] = ["old", "new"].map(|text| {
            fs::write(origin.path().join("a.py"), text).unwrap();
            fs::write(origin.path().join("src").join(text), text).unwrap();
            run(&["add", "--all"]);
            run(&["commit", "--quiet", "--message=c"]);
            run(&["rev-parse", "HEAD"]).trim().to_owned()
        });
        let trees = Trees::new(Some(work.path())).unwrap();
        let tree = trees.checkout(origin.path(), "o/r", &older, None).unwrap();
        assert_eq!(fs::read_to_string(tree.root.join("a.py")).unwrap(), "old");
        assert_eq!(git(&tree.root, &["log", "--all", "--format=%H"]).unwrap().trim(), older);
        assert_eq!(git(&tree.root, &["status", "--porcelain"]).unwrap(), "");
        let folder = trees.checkout(origin.path(), "o/r", &older, Some("src/")).unwrap();
        assert!(folder.root.join("src/old").exists() && !folder.root.join("a.py").exists());
        assert!(trees.checkout(origin.path(), "o/r", &older, Some("../x")).is_err());
    }
}
