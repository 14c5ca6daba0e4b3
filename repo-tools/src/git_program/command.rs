use std::path::Path;
use std::process::{Command, Stdio};

use super::settings::SETTINGS;

/// Settings of a transfer. Its memory is bounded, and it starts no maintenance, no signing and no command of a repository
/// that it borrows objects from.
const TRANSFER_SETTINGS: [&str; 10] = [
    "core.alternateRefsCommand=true",
    "core.bigFileThreshold=1m",
    "core.deltaBaseCacheLimit=16m",
    "pack.threads=1",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
];

/// The most that a transfer allocates at once: the list of a million objects has 80 MB.
const MAX_ALLOCATION: &str = "96m";

/// The transports of git itself. Any other one is a program, which the address names.
const PROTOCOLS: [&str; 5] = ["file", "git", "http", "https", "ssh"];

/// The variables that redirect git to another repository: `git rev-parse --local-env-vars`, without those that hold settings.
const REPOSITORY_VARIABLES: [&str; 12] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
];

/// Returns a command for git with the settings above and without input. The caller names the repository.
pub fn git() -> Command {
    let mut command = Command::new("git");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    for variable in REPOSITORY_VARIABLES {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).env("GIT_TERMINAL_PROMPT", "0");
    // ssh asks on the terminal itself, so it gets a program to ask that answers nothing.
    command.env("SSH_ASKPASS", "false").env("SSH_ASKPASS_REQUIRE", "force");
    // Unlike settings, this also holds for transports that settings of the repository allow.
    let users = std::env::var("GIT_ALLOW_PROTOCOL").ok();
    command.env("GIT_ALLOW_PROTOCOL", protocols(users.as_deref()));
    // An object that a partial clone lacks would be fetched as settings of the repository say.
    command.env("GIT_NO_LAZY_FETCH", "1");
    command
}

/// Returns a command for git to exchange objects with a remote, from a repository whose configuration is Muninn's own.
pub fn transfer_git(git_dir: &Path) -> Command {
    let mut command = git();
    for setting in TRANSFER_SETTINGS {
        command.args(["-c", setting]);
    }
    command.env("GIT_ALLOC_LIMIT", MAX_ALLOCATION);
    command.arg("--git-dir").arg(git_dir);
    command
}

/// The allowed transports, or those of them that the user's own list has.
fn protocols(users: Option<&str>) -> String {
    let is_allowed = |protocol: &&str| users.is_none_or(|users| users.split(':').any(|user| user == *protocol));
    PROTOCOLS.into_iter().filter(is_allowed).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests;
