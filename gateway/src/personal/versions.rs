//! Versions of the personal memory in a git repository of its own: a commit for each changed file, whoever changed it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use muninn_memory::personal::{Personal, PersonalError};
use thiserror::Error;

use crate::git::{git, is_remote};

/// The files that are not kept: what can be rebuilt, and what belongs to running programs.
const IGNORED: &str = ".index/\n.daemon.*\n.pending-context\n";
/// More changed files than this are one commit: somebody copied them here.
const MOST_COMMITS: usize = 50;
/// What git leaves in its directory while a person is in the middle of something.
const UNDER_WAY: [&str; 6] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
    "index.lock",
];
/// The author where git knows none.
const NOBODY: [&str; 4] = ["-c", "user.name=Muninn", "-c", "user.email=muninn@localhost"];

/// Why a change is not committed.
#[derive(Debug, Error)]
pub enum VersionError {
    /// git cannot be started.
    #[error("cannot run git: {0}")]
    Start(std::io::Error),
    /// git failed.
    #[error("git {what}: {message}")]
    Git {
        /// The command.
        what: &'static str,
        /// The error output of git.
        message: String,
    },
    /// The name of the remote is an option or has blanks.
    #[error("`git.remote` in macrodata.json: `{0}` is no name of a remote")]
    Remote(String),
    /// The settings, or a file.
    #[error(transparent)]
    Personal(#[from] PersonalError),
}

/// Makes a repository of the directory, if it is none, and has changes committed from now on.
///
/// # Errors
/// [`VersionError`].
pub fn begin(personal: &Personal) -> Result<(), VersionError> {
    let root = personal.root();
    if !root.join(".git").exists() {
        run(root, "init", &["--quiet"])?;
    }
    let ignored = root.join(".gitignore");
    if !ignored.exists() {
        fs::write(&ignored, IGNORED).map_err(|source| PersonalError::Io { path: ignored, source })?;
    }
    personal.commit_changes()?;
    commit(personal).map(drop)
}

/// Commits what has changed, and pushes it if the settings name a remote. Returns the subjects of the commits. Nothing happens
/// unless the user's settings ask for it, and while the repository is in the middle of a merge or the like.
///
/// # Errors
/// [`VersionError`]; what was committed stays.
pub fn commit(personal: &Personal) -> Result<Vec<String>, VersionError> {
    let (root, settings) = (personal.root(), personal.settings()?.git);
    let git_dir = root.join(".git");
    if !settings.enabled || !settings.auto_commit || !git_dir.is_dir() {
        return Ok(Vec::new());
    }
    if UNDER_WAY.iter().any(|name| git_dir.join(name).exists()) {
        return Ok(Vec::new());
    }
    let status = [
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--",
        ".",
        ":(exclude).index",
        ":(exclude).daemon.*",
        ":(exclude).pending-context",
    ];
    let changed = run(root, "status", &status)?;
    let changed: Vec<(&str, &str)> = changed
        .split('\0')
        .filter_map(|entry| Some((entry.get(..2)?, entry.get(3..)?)))
        .collect();
    let mut subjects = Vec::new();
    if changed.len() > MOST_COMMITS {
        let paths: Vec<&str> = changed.iter().map(|(_, path)| *path).collect();
        for paths in paths.chunks(MOST_COMMITS) {
            run(root, "add", &[&["--"], paths].concat())?;
        }
        let subject = format!("Update {} files", paths.len());
        run(root, "commit", &["--quiet", "--no-verify", "-m", &subject])?;
        subjects.push(subject);
    } else {
        for (state, path) in changed {
            let subject = match state.contains('D') {
                true => format!("Remove {path}"),
                false => format!("Update {path}"),
            };
            if state == "??" {
                run(root, "add", &["--", path])?;
            }
            // Only this file: what a person has staged stays staged.
            run(
                root,
                "commit",
                &["--quiet", "--no-verify", "-m", &subject, "--only", "--", path],
            )?;
            subjects.push(subject);
        }
    }
    if let Some(remote) = settings.remote.filter(|_| !subjects.is_empty()) {
        if !is_remote(&remote) {
            return Err(VersionError::Remote(remote));
        }
        run(root, "push", &["--quiet", "--no-verify", "--", &remote, "HEAD"])?;
    }
    Ok(subjects)
}

/// Runs a command of git. Its arguments after `--` are paths, not patterns, except for `status`.
fn run(root: &Path, what: &'static str, arguments: &[&str]) -> Result<String, VersionError> {
    let mut command = git();
    command
        .arg("-C")
        .arg(root)
        .args(["-c", "commit.gpgSign=false", "-c", "core.fsmonitor=false"]);
    if what == "commit" && !knows_author(root) {
        command.args(NOBODY);
    }
    if what != "status" {
        command.arg("--literal-pathspecs");
    }
    // A repository around this process is not the one that is meant.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    let output = said(command.arg(what).args(arguments))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(VersionError::Git {
            what,
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

fn knows_author(root: &Path) -> bool {
    let has_variable = std::env::var_os("GIT_AUTHOR_EMAIL").is_some_and(|email| email != OsStr::new(""));
    let mut command = git();
    let asked = said(command.arg("-C").arg(root).args(["config", "user.email"]));
    has_variable || asked.is_ok_and(|asked| asked.status.success())
}

fn said(command: &mut Command) -> Result<std::process::Output, VersionError> {
    command.output().map_err(VersionError::Start)
}
