//! A repository at a commit.
//!
//! Each tree is a repository that borrows the objects of a clone. Its only branch ends at the commit, so that neither the
//! worktree nor the history shows later changes. Only files are copied, and nothing is written into the clone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use muninn_tests::git;

use crate::command_line::at;

/// The directory of trees.
#[derive(Debug)]
pub struct Trees {
    dir: PathBuf,
    /// Removes the directory at the end, where nobody asked to keep it.
    _temporary: Option<tempfile::TempDir>,
}

/// A tree, and a place for what is derived from it.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The worktree's root.
    pub root: PathBuf,
    /// The directory of its derived cache; not there yet if nothing was derived from it.
    pub cache: PathBuf,
}

impl Trees {
    /// Trees that are kept in `dir` from run to run, or are gone when this is dropped.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(dir: Option<&Path>) -> Result<Self> {
        let (dir, temporary) = match dir {
            Some(dir) => {
                fs::create_dir_all(dir).with_context(at(dir))?;
                (dir.canonicalize().with_context(at(dir))?, None)
            }
            None => {
                let temporary = tempfile::tempdir()?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        Ok(Self { dir, _temporary: temporary })
    }

    /// The tree of `repo` (`owner/name`, or any name) at `commit`, with only the files under `folder` if there is one.
    /// The objects are borrowed from `clone`, bare or not.
    ///
    /// # Errors
    /// When the clone or the commit is not there, or the disk is full.
    pub fn checkout(&self, clone: &Path, repo: &str, commit: &str, folder: Option<&str>) -> Result<Tree> {
        let is_hex = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
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
            // Only whole trees have the name by which they are found again.
            fs::create_dir_all(self.dir.join(&name))
                .and_then(|()| fs::rename(&part, &tree.root))
                .with_context(at(&part))?;
        }
        Ok(tree)
    }
}

/// The path of the clone of `owner/name` in the directory of all clones.
pub fn clone_of(clones: &Path, repo: &str) -> PathBuf {
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
    let write = |path: &str, text: String| {
        let path = dir.join(path);
        let folder = path.parent().unwrap_or(dir);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        written.with_context(at(&path))
    };
    fs::create_dir_all(dir).with_context(at(dir))?;
    git(dir, &["init", "--quiet", "--template=", "--initial-branch=main"])?;
    write(".git/objects/info/alternates", format!("{}\n", objects.display()))?;
    if let Some(folder) = folder {
        git(dir, &["config", "core.sparseCheckout", "true"])?;
        write(".git/info/sparse-checkout", format!("/{folder}/\n"))?;
    }
    git(dir, &["update-ref", "refs/heads/main", commit])?;
    git(dir, &["reset", "--quiet", "--hard", "main"])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with two commits; returns their ids, the older first.
    fn clone(dir: &Path) -> [String; 2] {
        let commit = |files: &[(&str, &str)]| {
            for (path, text) in files {
                let path = dir.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            git(dir, &["add", "--all"]).unwrap();
            git(dir, &["commit", "--quiet", "--message=c"]).unwrap();
            git(dir, &["rev-parse", "HEAD"]).unwrap().trim().to_owned()
        };
        git(dir, &["init", "--quiet"]).unwrap();
        let older = commit(&[("a.py", "old"), ("src/b.py", "b")]);
        [older, commit(&[("a.py", "new"), ("c.py", "c")])]
    }

    #[test]
    fn tree_ends_at_its_commit() {
        let (origin, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [older, newer] = clone(origin.path());
        let trees = Trees::new(Some(work.path())).unwrap();
        let tree = trees.checkout(origin.path(), "o/r", &older, None).unwrap();
        assert_eq!(fs::read_to_string(tree.root.join("a.py")).unwrap(), "old");
        assert!(!tree.root.join("c.py").exists());
        let log = git(&tree.root, &["log", "--all", "--format=%H"]).unwrap();
        assert_eq!(log.trim(), older);
        assert_eq!(git(&tree.root, &["status", "--porcelain"]).unwrap(), "");

        fs::write(tree.root.join("kept"), "").unwrap();
        let again = trees.checkout(origin.path(), "o/r", &older, None).unwrap();
        assert!(again.root.join("kept").exists(), "it is not made twice");
        let other = trees.checkout(origin.path(), "o/r", &newer, None).unwrap();
        assert_ne!(other.root, tree.root);
    }

    #[test]
    fn tree_of_a_folder_holds_only_the_folder() {
        let (origin, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [older, _] = clone(origin.path());
        let trees = Trees::new(Some(work.path())).unwrap();
        let tree = trees.checkout(origin.path(), "o/r", &older, Some("src/")).unwrap();
        assert!(tree.root.join("src/b.py").exists() && !tree.root.join("a.py").exists());
        assert!(trees.checkout(origin.path(), "o/r", &older, Some("../x")).is_err());
    }

    #[test]
    fn missing_clone_and_commit_are_named() {
        let (origin, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let trees = Trees::new(Some(work.path())).unwrap();
        let unknown = "0123456789012345678901234567890123456789";
        let none = trees.checkout(&origin.path().join("nowhere"), "o/r", unknown, None);
        assert!(none.unwrap_err().to_string().starts_with("no clone of o/r"));
        clone(origin.path());
        let error = trees.checkout(origin.path(), "o/r", unknown, None).unwrap_err();
        assert!(error.to_string().contains(unknown), "{error}");
        let head = trees.checkout(origin.path(), "o/r", "HEAD", None);
        assert_eq!(head.unwrap_err().to_string(), "\"HEAD\" is no commit");
    }
}
