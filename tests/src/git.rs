//! Runs git without the configuration of the machine and the user, and creates repositories for tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A git command failed, or could not be started.
#[derive(Debug, thiserror::Error)]
#[error("git {command} in {directory:?}: {message}")]
pub struct GitError {
    directory: PathBuf,
    command: String,
    message: String,
}

/// Variables of the machine that tests keep: they select the format of new repositories, so that all tests can run with
/// another one.
const FORMAT_VARIABLES: [&str; 2] = ["GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT"];

/// A git command in this directory. Its only variables of the machine are `PATH` and those that select the format of new
/// repositories, and its only configuration is the repository's. It commits as Ada and does not sync to the disk.
#[must_use]
pub fn git_command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.env_clear();
    set_git_environment(&mut command);
    for name in FORMAT_VARIABLES {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .args(["-c", "core.fsync=none", "-c", "maintenance.auto=false"])
        .args(arguments)
        .current_dir(directory);
    command
}

/// Sets variables for every git process that this command starts: it ignores the configuration of the machine and the
/// user, and commits as Ada.
pub(crate) fn set_git_environment(command: &mut Command) {
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_EDITOR", "true")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org");
}

/// Runs git in a directory and returns its output on stdout.
///
/// # Errors
/// If git cannot be started, or fails.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let message = match git_command(directory, arguments).output() {
        Ok(output) if output.status.success() => return Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(GitError { directory: directory.to_owned(), command: arguments.join(" "), message })
}

/// A git repository in a temporary directory, with the branch `main`. Its methods panic if git or the disk fails.
pub struct Repository {
    root: PathBuf,
    _directory: tempfile::TempDir,
}

impl Repository {
    /// Creates a repository with these files, without committing them.
    #[must_use]
    pub fn with(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        init(&root, files);
        Self { root, _directory: directory }
    }

    /// The root of the worktree.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path below the root.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file, and creates its parent directories.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.path(path), content);
    }

    /// Commits all files that are not ignored.
    pub fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "fixture"]);
    }

    /// Runs git in the root and returns its output on stdout.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Initialises a repository with the branch `main` in a directory, and writes these files.
pub(crate) fn init(root: &Path, files: &[(&str, &str)]) {
    git(root, &["init", "--quiet", "--initial-branch=main"]).unwrap_or_else(|error| panic!("{error}"));
    for (path, text) in files {
        write(&root.join(path), text);
    }
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
