//! Keeping `JOURNAL.md` out of git, by the user's own list of ignored files.

use std::fs;
use std::io::{self, ErrorKind, Write as _};

use muninn_memory::worklog::FILE;
use muninn_repo_tools::Worktree;

/// Adds the file to `.git/info/exclude`, unless a line there names it.
pub(super) fn exclude(worktree: &Worktree) -> io::Result<()> {
    let info = worktree.common_dir().join("info");
    let path = info.join("exclude");
    let there = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read?,
    };
    if there.lines().any(|line| line.trim().trim_start_matches('/') == FILE) {
        return Ok(());
    }
    fs::create_dir_all(&info)?;
    let end = if there.is_empty() || there.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let mut file = fs::OpenOptions::new().append(true).create(true).open(&path)?;
    file.write_all(format!("{end}/{FILE}\n").as_bytes())
}
