//! git, run so that neither the user's configuration nor the machine's has a say.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why git did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It could not be started.
    #[error("git could not be started in {0:?}")]
    Start(PathBuf, #[source] io::Error),
    /// It refused.
    #[error("git {command} in {dir:?}: {message}")]
    Refused {
        /// Where it ran.
        dir: PathBuf,
        /// Its arguments.
        command: String,
        /// What it said.
        message: String,
    },
}

/// Runs git in a directory and returns what it wrote on stdout.
///
/// # Errors
/// When it is not installed, or ends with an error.
pub fn git(dir: &Path, args: &[&str]) -> Result<String, GitError> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["-c", "core.autocrlf=false", "-c", "gc.auto=0", "-c", "core.fsync=none"])
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", dir.join(".no-such-configuration"))
        .env("GIT_NO_LAZY_FETCH", "1")
        .output()
        .map_err(|error| GitError::Start(dir.to_owned(), error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(GitError::Refused {
        dir: dir.to_owned(),
        command: args.join(" "),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
