//! The user's git program, without hooks and prompts.

use std::process::{Command, Stdio};

/// git with these arguments before its command.
pub(crate) fn git() -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "core.hooksPath=/dev/null"]);
    command.stdin(Stdio::null()).env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// Whether a text can be a remote: neither an option nor several words.
pub(crate) fn is_remote(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace)
}
