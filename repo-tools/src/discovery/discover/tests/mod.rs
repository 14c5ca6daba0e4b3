//! Compares discovery with `git rev-parse --show-toplevel`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use muninn_tests::{git, git_command};

use super::super::ownership::is_declared_safe;
use super::*;
use crate::FormatError;

mod like_git;

/// A directory of a test, and the git commands in it.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { root: folder.path().canonicalize().unwrap(), _folder: folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn directory(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.path(path)).unwrap();
        self.path(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    fn git(&self, path: &str, arguments: &[&str]) -> String {
        git(&self.directory(path), arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A repository with one commit.
    fn repository(&self, path: &str) {
        self.git(path, &["init", "--quiet", "--initial-branch=main"]);
        self.write(&format!("{path}/a.txt"), "a\n");
        self.git(path, &["add", "--all"]);
        self.git(path, &["commit", "--quiet", "--message", "first"]);
    }

    fn fifo(&self, path: &str) {
        assert!(Command::new("mkfifo").arg(self.path(path)).status().unwrap().success());
    }
}

/// The directory that git names; `None` if it refuses.
fn top_of_git(start: &Path) -> Option<PathBuf> {
    let output = git_command(start, &["rev-parse", "--show-toplevel"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| PathBuf::from(text.strip_suffix('\n').unwrap()))
}

type Setup = fn(&Place) -> PathBuf;

#[test]
fn configured_worktree_that_does_not_lead_back_is_refused() {
    const CASES: &[(&str, Setup)] = &[
        ("a directory beside", |at| {
            at.repository("r");
            at.git("r", &["config", "core.worktree", "../../home"]);
            at.path("r")
        }),
        ("an absolute path", |at| {
            at.repository("r");
            let home = at.path("home");
            at.git("r", &["config", "core.worktree", home.to_str().unwrap()]);
            at.path("r")
        }),
        ("a directory above", |at| {
            at.repository("home/downloads/r");
            at.git("home/downloads/r", &["config", "core.worktree", "../../.."]);
            at.path("home/downloads/r")
        }),
        ("the root of the file system", |at| {
            at.repository("r");
            at.git("r", &["config", "core.worktree", "/"]);
            at.path("r")
        }),
        ("through a link", |at| {
            at.repository("r");
            symlink("../home", at.path("r/docs")).unwrap();
            at.git("r", &["config", "core.worktree", "../docs"]);
            at.path("r")
        }),
        ("another repository", |at| {
            at.repository("home/other");
            at.repository("r");
            at.git("r", &["config", "core.worktree", "../../home/other"]);
            at.path("r")
        }),
        ("by a configuration of the worktree", |at| {
            at.repository("r");
            at.git("r", &["config", "core.repositoryFormatVersion", "1"]);
            at.git("r", &["config", "extensions.worktreeConfig", "true"]);
            at.git("r", &["config", "--worktree", "core.worktree", "../../home"]);
            at.path("r")
        }),
        ("by a separate git directory", |at| {
            at.directory("data");
            at.git("r", &["init", "--quiet", "--separate-git-dir=../data/.git"]);
            at.git("r", &["config", "core.worktree", "../../home"]);
            at.path("r")
        }),
        ("by a repository among the files of another", |at| {
            at.repository("r");
            at.git("r/fixtures/b", &["init", "--quiet", "--bare"]);
            at.git("r/fixtures/b", &["config", "core.bare", "false"]);
            at.git("r/fixtures/b", &["config", "core.worktree", "../../../home"]);
            at.path("r/fixtures/b")
        }),
        ("with an index of somebody else's files", |at| {
            at.repository("r");
            at.write("r/notes.txt", "private\n");
            at.git("r", &["add", "notes.txt"]);
            at.git("r", &["config", "core.worktree", "../../home"]);
            at.path("r")
        }),
    ];
    for (name, setup) in CASES {
        let place = Place::new();
        place.write("home/notes.txt", "private\n");
        let start = setup(&place);
        let of_git = top_of_git(&start).unwrap();
        assert_ne!(of_git, start, "{name}: git obeys");
        let Err(error) = discover(&start) else {
            panic!("{name}: followed to {}", of_git.display());
        };
        let message = error.to_string();
        assert!(matches!(error, DiscoverError::ForeignWorktree { .. }), "{name}: {message}");
        assert!(message.contains(of_git.to_str().unwrap()), "{name}: {message}");
    }
}

#[test]
fn core_worktree_inside_the_git_directory_is_refused() {
    let place = Place::new();
    place.repository("r");
    place.git("r", &["config", "core.worktree", "hooks"]);
    assert!(discover(&place.path("r")).is_err());
}

#[test]
fn pipes_in_a_git_directory_do_not_block() {
    for file in ["HEAD", "config", "commondir"] {
        let place = Place::new();
        place.repository("r");
        fs::remove_file(place.path("r/.git").join(file)).ok();
        place.fifo(&format!("r/.git/{file}"));
        assert!(discover(&place.path("r")).is_err(), "{file}");
    }
}

#[test]
fn faults_are_named() {
    let place = Place::new();
    place.write("w/.git", "hello\n");
    let error = discover(&place.path("w")).err().unwrap();
    assert!(matches!(error, DiscoverError::GitFile { .. }), "{error}");
    place.directory("x/.git");
    let error = discover(&place.path("x")).err().unwrap();
    assert!(matches!(error, DiscoverError::Incomplete { .. }), "{error}");
    let error = discover(&place.path("gone")).err().unwrap();
    assert!(matches!(error, DiscoverError::NotFound { .. }), "{error}");
}

#[test]
fn extensions_are_refused_like_git_refuses_them() {
    const CASES: &[(&str, &str)] = &[
        ("0", "extensions.noop=1"),
        ("1", "extensions.noop=1"),
        ("1", "extensions.noop-v1=1"),
        ("0", "extensions.noop-v1=1"),
        ("0", "extensions.unknown=1"),
        ("1", "extensions.unknown=1"),
        ("1", "extensions.Unknown=1"),
        ("1", "extensions.sub.unknown=1"),
        ("2", "user.name=x"),
        ("99", "extensions.unknown=1"),
        ("1k", "extensions.unknown=1"),
        ("x", "user.name=x"),
        ("0", "extensions.partialClone=origin"),
        ("1", "extensions.partialClone=origin"),
        ("1", "extensions.preciousObjects=true"),
        ("1", "extensions.preciousObjects=maybe"),
        ("1", "extensions.worktreeConfig=true"),
        ("1", "extensions.worktreeConfig=maybe"),
        ("1", "extensions.objectFormat=sha1"),
        ("0", "extensions.objectFormat=sha1"),
        ("1", "extensions.objectFormat=SHA1"),
        ("1", "extensions.objectFormat=md5"),
        ("1", "extensions.refStorage=files"),
        ("0", "extensions.refStorage=files"),
        ("1", "extensions.refStorage=Files"),
        ("1", "extensions.refStorage=table"),
        ("1", "extensions.compatObjectFormat=sha256"),
        ("1", "extensions.compatObjectFormat=sha3"),
    ];
    for (version, setting) in CASES {
        let place = Place::new();
        place.git("r", &["init", "--quiet", "--ref-format=files", "--object-format=sha1"]);
        let (key, value) = setting.split_once('=').unwrap();
        for (key, value) in [("core.repositoryFormatVersion", *version), (key, value)] {
            git(&place.root, &["config", "--file", "r/.git/config", key, value]).unwrap();
        }
        let output = git_command(&place.path("r"), &["rev-parse", "--show-toplevel"]).output().unwrap();
        let of_git = String::from_utf8(output.stderr).unwrap();
        let found = discover(&place.path("r"));
        assert_eq!(found.is_ok(), output.status.success(), "{version} {setting}: {of_git}");
        let Err(DiscoverError::Format { source, .. }) = found else {
            continue;
        };
        // git writes each extension on a line of its own.
        let of_git = of_git.replacen("\n\t", " ", 1).replace("\n\t", ", ");
        let is_malformed = matches!(source, FormatError::Malformed { .. });
        assert!(is_malformed || of_git.contains(&source.to_string()), "{source} / {of_git}");
    }
}

#[test]
fn safe_directories_are_those_of_the_user_and_of_the_system() {
    let place = Place::new();
    let (repository, other) = (place.directory("home/code/r"), place.directory("other"));
    symlink("code", place.path("home/link")).unwrap();
    let path = repository.to_str().unwrap();
    let cases = [
        (String::new(), false),
        ("directory = *".to_owned(), true),
        (format!("directory = {path}"), true),
        (format!("directory = {path}/"), true),
        (format!("directory = {}", other.display()), false),
        (format!("directory = {}/*", place.path("home").display()), true),
        (format!("directory = {path}/*"), false),
        ("directory = ~/code/r".to_owned(), true),
        ("directory = ~/link/r".to_owned(), true),
        ("directory = code/r".to_owned(), false),
        (format!("directory = {path}\ndirectory ="), false),
        (format!("directory = *\ndirectory =\ndirectory = {path}"), true),
        (format!("directory = {path}\ndirectory = {}", other.display()), true),
        ("bareRepository = all".to_owned(), false),
    ];
    for (text, expected) in &cases {
        for file in ["system", "home/.gitconfig", "home/.config/git/config"] {
            let place_of = |name: &str| match name {
                "HOME" => Some(place.path("home").into_os_string()),
                "GIT_CONFIG_SYSTEM" => Some(place.path("system").into_os_string()),
                _ => None,
            };
            place.write(file, format!("[safe]\n{text}\n"));
            let is_safe = is_declared_safe(&repository, &mut |name| place_of(name));
            assert_eq!(is_safe, *expected, "{text} in {file}");
            fs::remove_file(place.path(file)).unwrap();
        }
    }
}
