//! Makes a journal of many entries with `git fast-import`, in a pack, as after a garbage collection.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use muninn_notebooks::journal::REFERENCE;
use muninn_tests::{git, git_command};

/// An entry to import.
pub(super) struct Imported {
    /// The section.
    pub(super) section: String,
    /// The kind of work.
    pub(super) context: String,
    /// The text.
    pub(super) text: String,
    /// Seconds since 1970.
    pub(super) seconds: i64,
    /// The session, for which a source's own id can stand.
    pub(super) session: String,
}

/// Makes a repository with a journal of these entries, the oldest first.
pub(super) fn import(repository: &Path, entries: impl IntoIterator<Item = Imported>) -> Result<()> {
    std::fs::create_dir_all(repository)?;
    git(repository, &["init", "--quiet", "--bare"])?;
    let mut command = git_command(repository, &["fast-import", "--quiet"]);
    let mut importing = command.stdin(Stdio::piped()).spawn()?;
    let mut counts: HashMap<String, usize> = HashMap::new();
    {
        let mut stream = BufWriter::new(importing.stdin.take().context("no input")?);
        for entry in entries {
            let count = counts.entry(entry.section.clone()).or_default();
            *count += 1;
            let message = format!(
                "work_context: {}\n\n{}\n\nSection: {}\nSession: {}\n",
                entry.context,
                entry.text.trim_end(),
                entry.section,
                entry.session
            );
            let file = format!("About {}.\n\n<!-- entry count: {count} -->\n", entry.section);
            let at = entry.seconds;
            write!(
                stream,
                "commit {REFERENCE}\nauthor Ada <ada@example.org> {at} +0000\ncommitter Muninn <muninn@localhost> {at} +0000\n\
                 data {}\n{message}\nM 100644 inline {}.md\ndata {}\n{file}\n",
                message.len(),
                entry.section,
                file.len()
            )?;
        }
        stream.flush()?;
    }
    ensure!(importing.wait()?.success(), "git fast-import failed");
    Ok(())
}
