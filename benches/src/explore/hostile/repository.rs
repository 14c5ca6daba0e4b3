//! A small repository with secrets in it and around it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use muninn_tests::git;

/// Text of the file beside the repository.
const OUTSIDE: &str = "kestrelOutsideTheRepository";
/// Text of `.env`.
const ENV: &str = "kestrelInTheEnvironmentFile";

/// Texts that no request may hold.
pub(super) const FORBIDDEN: [&str; 3] = [OUTSIDE, ENV, "root:x:0:0"];

const RETRY: &str = "\
//! Waiting before a request is tried again.

use std::time::Duration;

/// How long a retry waits: twice as long each time, up to a bound.
pub fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(100 << attempt.min(6))
}

/// Whether a status is worth a retry.
pub fn is_worth_a_retry(status: u16) -> bool {
    matches!(status, 429 | 502 | 503)
}
";
const CLIENT: &str = "\
//! Sends requests.

use crate::retry::{backoff, is_worth_a_retry};

/// A client that retries.
pub struct Client {
    attempts: u32,
}

impl Client {
    /// Sends a request, and waits by `backoff` before each retry.
    pub fn send(&self, mut ask: impl FnMut() -> u16) -> u16 {
        let mut status = ask();
        for attempt in 0..self.attempts {
            if !is_worth_a_retry(status) {
                break;
            }
            std::thread::sleep(backoff(attempt));
            status = ask();
        }
        status
    }
}
";

/// The question of all cases.
pub(super) const QUESTION: &str = "How long does a retry wait before the client sends the request again?";

/// Makes the repository and what lies around it; returns its root.
pub(super) fn make(dir: &Path) -> Result<PathBuf> {
    let root = dir.join("repository");
    let write = |path: &str, text: &str| {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap_or(dir)).and_then(|()| fs::write(path, text))
    };
    write("outside.txt", &format!("fn retry() {{ {OUTSIDE} }}\n"))?;
    write("outside/retry.rs", &format!("fn retry() {{ {OUTSIDE} }}\n"))?;
    write("repository/src/retry.rs", RETRY)?;
    write("repository/src/client.rs", CLIENT)?;
    write("repository/src/lib.rs", "pub mod client;\npub mod retry;\n")?;
    write("repository/README.md", "# A client that retries\n")?;
    for number in 0..40 {
        let text = format!(
            "//! Part {number}.\n\n/// Does part {number}.\npub fn part_{number}() -> u32 {{\n    {number}\n}}\n"
        );
        write(&format!("repository/src/parts/part_{number}.rs"), &text)?;
    }
    git(&root, &["init", "--quiet"])?;
    git(&root, &["add", "--all"])?;
    git(&root, &["commit", "--quiet", "--message=c"])?;
    write("repository/.env", &format!("RETRY={ENV}\n"))?;
    std::os::unix::fs::symlink("../outside", root.join("link"))?;
    std::os::unix::fs::symlink("../../outside.txt", root.join("src/linked.rs"))?;
    Ok(root)
}
