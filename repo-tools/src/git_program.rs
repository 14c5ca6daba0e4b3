//! The user's git program, for what the library cannot do: transports, and references in formats that it cannot read.
//!
//! A repository may be hostile, so git runs without hooks, without a file system monitor and without prompts, and it
//! uses only transports that start no program that an address names.

use std::process::{Command, Stdio};

/// Settings that take precedence over those of the repository and of the user.
const SETTINGS: [&str; 5] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
];

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
    command
}

/// Whether a text can name a remote: neither an option nor several words.
pub fn is_remote(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace)
}
