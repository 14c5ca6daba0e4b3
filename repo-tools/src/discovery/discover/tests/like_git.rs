//! Repositories in which git and Muninn find the same worktree, or none.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Place, Setup, top_of_git};
use crate::discovery::discover;

/// Repositories that both accept, or both refuse.
const LIKE_GIT: &[(&str, Setup)] = &[
    ("plain", |at| {
        at.repository("r");
        at.path("r")
    }),
    ("subdirectory", |at| {
        at.repository("r");
        at.directory("r/a/b")
    }),
    ("no repository", |at| at.directory("none")),
    ("separate git directory called .git", |at| {
        at.directory("elsewhere");
        at.write("elsewhere/private.txt", "x");
        at.git("w", &["init", "--quiet", "--separate-git-dir=../elsewhere/.git"]);
        at.path("w")
    }),
    ("separate git directory with another name, from below", |at| {
        at.git("w", &["init", "--quiet", "--separate-git-dir=../git-data"]);
        at.directory("w/a")
    }),
    ("separate git directory inside of another worktree", |at| {
        at.repository("outer");
        at.directory("outer/inner");
        at.git("w", &["init", "--quiet", "--separate-git-dir=../outer/inner/.git"]);
        at.path("w")
    }),
    ("linked worktree", |at| {
        at.repository("r");
        at.git("r", &["worktree", "add", "--quiet", "../linked"]);
        at.path("linked")
    }),
    ("linked worktree of a repository with core.worktree", |at| {
        at.repository("r");
        at.git("r", &["worktree", "add", "--quiet", "../linked"]);
        at.git("r", &["config", "core.worktree", "../sub"]);
        at.directory("r/sub");
        at.path("linked")
    }),
    ("linked worktree with a configuration of its own", |at| {
        at.repository("r");
        at.git("r", &["config", "extensions.worktreeConfig", "true"]);
        at.git("r", &["config", "core.repositoryFormatVersion", "1"]);
        at.git("r", &["worktree", "add", "--quiet", "../linked"]);
        at.directory("linked/sub");
        let sub = at.path("linked/sub");
        at.git("linked", &["config", "--worktree", "core.worktree", sub.to_str().unwrap()]);
        at.path("linked")
    }),
    ("moved linked worktree", |at| {
        at.repository("r");
        at.git("r", &["worktree", "add", "--quiet", "../linked"]);
        fs::rename(at.path("linked"), at.path("moved")).unwrap();
        at.path("moved")
    }),
    ("submodule", |at| {
        at.repository("lib");
        at.repository("r");
        at.git("r", &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "sub"]);
        at.path("r/sub")
    }),
    ("git directory of a submodule", |at| {
        at.repository("lib");
        at.repository("r");
        at.git("r", &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "sub"]);
        at.path("r/.git/modules/sub")
    }),
    (".git as a link to a directory outside", |at| {
        at.repository("real");
        at.directory("w");
        symlink("../real/.git", at.path("w/.git")).unwrap();
        at.path("w")
    }),
    (".git as a link to a directory inside", |at| {
        at.repository("w");
        fs::rename(at.path("w/.git"), at.path("w/data")).unwrap();
        symlink("data", at.path("w/.git")).unwrap();
        at.path("w")
    }),
    (".git as a link to a .git file of another directory", |at| {
        at.git("w", &["init", "--quiet", "--separate-git-dir=../data"]);
        at.directory("x/y");
        symlink("../w/.git", at.path("x/.git")).unwrap();
        at.path("x/y")
    }),
    (".git as a link that leads nowhere", |at| {
        at.repository("r");
        symlink("nowhere", at.directory("r/inner").join(".git")).unwrap();
        at.path("r/inner")
    }),
    ("relative core.worktree below", |at| {
        at.repository("r");
        at.directory("r/sub");
        at.git("r", &["config", "core.worktree", "../sub"]);
        at.path("r")
    }),
    ("absolute core.worktree of its own directory", |at| {
        at.repository("r");
        let root = at.path("r");
        at.git("r", &["config", "core.worktree", root.to_str().unwrap()]);
        at.directory("r/sub")
    }),
    ("core.worktree to which files were checked out", |at| {
        at.repository("r");
        at.directory("tree");
        at.git("r", &["config", "core.worktree", "../../tree"]);
        at.git("r", &["checkout", "--quiet", "--force", "HEAD", "--", "."]);
        at.path("r")
    }),
    ("absolute core.worktree that leads back", |at| {
        at.repository("r");
        fs::rename(at.path("r/.git"), at.path("data")).unwrap();
        at.write("r/.git", format!("gitdir: {}\n", at.path("data").display()));
        let root = at.path("r");
        at.git("data", &["config", "-f", "config", "core.worktree", root.to_str().unwrap()]);
        at.path("data")
    }),
    ("core.worktree through a link below", |at| {
        at.repository("r");
        at.directory("r/sub");
        symlink("sub", at.path("r/link")).unwrap();
        at.git("r", &["config", "core.worktree", "../link"]);
        at.path("r")
    }),
    ("core.worktree without a version of the format", |at| {
        at.git("r", &["init", "--quiet", "--ref-format=files", "--object-format=sha1"]);
        at.directory("r/sub");
        at.write("r/.git/config", "[core]\nworktree = ../sub\n");
        at.path("r")
    }),
    ("core.worktree of a bare repository", |at| {
        at.repository("r");
        at.directory("r/sub");
        at.git("r", &["config", "core.worktree", "../sub"]);
        at.git("r", &["config", "core.bare", "true"]);
        at.path("r")
    }),
    ("core.worktree that is missing", |at| {
        at.repository("r");
        fs::write(at.path("r/.git/config"), "[core]\nrepositoryformatversion = 0\nworktree = ../gone/x\n").unwrap();
        at.path("r")
    }),
    ("core.worktree without a value", |at| {
        at.repository("r");
        fs::write(at.path("r/.git/config"), "[core]\nrepositoryformatversion = 0\nworktree\n").unwrap();
        at.path("r")
    }),
    ("bare", |at| {
        at.git("b.git", &["init", "--quiet", "--bare"]);
        at.path("b.git")
    }),
    ("inside of a bare repository", |at| {
        at.git("b.git", &["init", "--quiet", "--bare"]);
        at.path("b.git/refs")
    }),
    ("bare with worktrees", |at| {
        at.repository("r");
        at.git("", &["clone", "--quiet", "--bare", "r", "b.git"]);
        at.git("b.git", &["worktree", "add", "--quiet", "../w"]);
        at.path("w")
    }),
    ("worktree below a bare repository", |at| {
        at.repository("r");
        at.git("", &["clone", "--quiet", "--bare", "r", "p/.git"]);
        at.git("p", &["worktree", "add", "--quiet", "main"]);
        at.path("p/main")
    }),
    ("beside worktrees of a bare .git", |at| {
        at.repository("r");
        at.git("", &["clone", "--quiet", "--bare", "r", "p/.git"]);
        at.path("p")
    }),
    ("inside of .git", |at| {
        at.repository("r");
        at.path("r/.git/refs")
    }),
    ("nested", |at| {
        at.repository("r");
        at.repository("r/inner");
        at.directory("r/inner/deep")
    }),
    ("sparse", |at| {
        at.repository("r");
        at.git("r", &["sparse-checkout", "set", "none"]);
        at.path("r")
    }),
    ("partial clone", |at| {
        at.repository("r");
        at.git("r", &["config", "uploadpack.allowFilter", "true"]);
        let url = format!("file://{}", at.path("r").display());
        at.git("", &["clone", "--quiet", "--no-checkout", "--filter=blob:none", &url, "partial"]);
        at.path("partial")
    }),
    ("shallow clone", |at| {
        at.repository("r");
        let url = format!("file://{}", at.path("r").display());
        at.git("", &["clone", "--quiet", "--depth=1", &url, "shallow"]);
        at.path("shallow")
    }),
    ("relative .git file with spaces and Windows line ends", |at| {
        at.git("w", &["init", "--quiet", "--separate-git-dir=../git data"]);
        at.write("w/.git", "gitdir: ../git data\r\n\r\n");
        at.path("w")
    }),
    (".git file to nothing", |at| {
        at.repository("r");
        at.write("r/inner/.git", "gitdir: ../nothing\n");
        at.path("r/inner")
    }),
    (".git file to a directory that is no repository", |at| {
        at.write("w/.git", "gitdir: ..\n");
        at.path("w")
    }),
    (".git file with something else", |at| {
        at.repository("r");
        at.write("r/inner/.git", "hello\n");
        at.path("r/inner")
    }),
    ("empty .git file", |at| {
        at.repository("r");
        at.write("r/inner/.git", "");
        at.path("r/inner")
    }),
    (".git file without a path", |at| {
        at.repository("r");
        at.write("r/inner/.git", "gitdir: \n");
        at.path("r/inner")
    }),
    (".git file of two mebibytes", |at| {
        at.repository("r");
        at.write("r/inner/.git", format!("gitdir: {}\n", "x".repeat(2 << 20)));
        at.path("r/inner")
    }),
    (".git as a named pipe", |at| {
        at.repository("r");
        at.directory("r/inner");
        at.fifo("r/inner/.git");
        at.path("r/inner")
    }),
    ("directory .git that is no repository, below a repository", |at| {
        at.repository("r");
        at.directory("r/inner/.git");
        at.path("r/inner")
    }),
    ("directory .git that is no repository", |at| {
        at.directory("w/.git/objects");
        at.path("w")
    }),
    (".git without HEAD", |at| {
        at.repository("r");
        fs::remove_file(at.path("r/.git/HEAD")).unwrap();
        at.path("r")
    }),
    (".git with a HEAD that is no reference", |at| {
        at.repository("r");
        at.write("r/.git/HEAD", "main\n");
        at.path("r")
    }),
    ("HEAD as a link", |at| {
        at.git("r", &["init", "--quiet", "--initial-branch=main", "--ref-format=files"]);
        at.git("r", &["commit", "--quiet", "--allow-empty", "--message", "first"]);
        fs::remove_file(at.path("r/.git/HEAD")).unwrap();
        symlink("refs/heads/main", at.path("r/.git/HEAD")).unwrap();
        at.path("r")
    }),
    ("detached HEAD", |at| {
        at.repository("r");
        at.git("r", &["checkout", "--quiet", "--detach"]);
        at.path("r")
    }),
    ("commondir that leads nowhere", |at| {
        at.repository("r");
        at.git("r", &["worktree", "add", "--quiet", "../linked"]);
        at.write("r/.git/worktrees/linked/commondir", "../../../gone\n");
        at.path("linked")
    }),
    ("empty commondir", |at| {
        at.repository("r");
        at.git("r", &["worktree", "add", "--quiet", "../linked"]);
        at.write("r/.git/worktrees/linked/commondir", "");
        at.path("linked")
    }),
    ("absolute commondir without a line end", |at| {
        at.repository("r");
        at.git("r", &["worktree", "add", "--quiet", "../linked"]);
        at.write("r/.git/worktrees/linked/commondir", at.path("r/.git").to_str().unwrap());
        at.path("linked")
    }),
    ("malformed configuration", |at| {
        at.repository("r");
        at.write("r/.git/config", "[[broken");
        at.path("r")
    }),
    ("no configuration", |at| {
        at.repository("r");
        fs::remove_file(at.path("r/.git/config")).unwrap();
        at.path("r")
    }),
    ("Unicode, spaces and a line end in the path", |at| {
        at.repository("Größe 大\nx y");
        at.directory("Größe 大\nx y/ü")
    }),
    ("reached through a link", |at| {
        at.repository("r");
        at.directory("r/sub");
        symlink("r/sub", at.path("link")).unwrap();
        at.path("link")
    }),
];

#[test]
fn worktree_is_the_one_that_git_names() {
    let mut wrong = Vec::new();
    for (name, setup) in LIKE_GIT {
        let place = Place::new();
        let start = setup(&place);
        let found = discover(&start);
        let of_git = top_of_git(&start);
        let found = found.map(|found| found.root).map_err(|error| error.to_string());
        if found.as_ref().ok() != of_git.as_ref() {
            wrong.push(format!("{name}: git {of_git:?}, here {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
