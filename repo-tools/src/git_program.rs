//! The user's git program, for what the library cannot do: transports, and references in formats that it cannot read.
//!
//! A repository may be hostile, so git runs without hooks, without a file system monitor and without prompts, and it
//! uses only transports that start no program that an address names.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

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

/// The end of a call of git.
pub(crate) enum GitOutput {
    /// Its output.
    Done(String),
    /// Why it failed: its error output, or the limit that it reached.
    Failed(String),
}

/// Runs git and returns its output, for a limited time. It fetches nothing, not even missing objects of a partial clone.
///
/// # Errors
/// If git cannot be started.
pub(crate) fn run(mut command: Command, max_bytes: u64, time: Duration) -> io::Result<GitOutput> {
    command.env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let end = Instant::now() + time;
    let outputs = [
        child.stdout.take().map(|stream| collected(stream, max_bytes)),
        child.stderr.take().map(|stream| collected(stream, max_bytes)),
    ];
    let mut texts = Vec::new();
    for output in outputs.into_iter().flatten() {
        let Ok(bytes) = output.recv_timeout(end.saturating_duration_since(Instant::now())) else {
            stop(&mut child);
            return Ok(GitOutput::Failed(format!(
                "it does not end within {} seconds",
                time.as_secs()
            )));
        };
        if bytes.len() as u64 >= max_bytes {
            stop(&mut child);
            return Ok(GitOutput::Failed(format!(
                "its output is longer than {max_bytes} bytes"
            )));
        }
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    let is_success = child.wait()?.success();
    let error = texts.pop().unwrap_or_default();
    Ok(match is_success {
        true => GitOutput::Done(texts.pop().unwrap_or_default()),
        false => GitOutput::Failed(error.trim().to_owned()),
    })
}

/// Reads a stream to its end, or to a limit, on a thread of its own: git waits if nobody reads one of its streams.
fn collected(stream: impl Read + Send + 'static, max_bytes: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.take(max_bytes).read_to_end(&mut bytes).ok();
        sender.send(bytes).ok();
    });
    receiver
}

fn stop(child: &mut Child) {
    child.kill().ok();
    child.wait().ok();
}

/// Whether a text can name a remote: neither an option nor several words.
pub fn is_remote(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace)
}
