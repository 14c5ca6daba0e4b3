//! Helpers of all benchmarks: reports, phases in processes of their own, copies of trees, and readings of the machine.

pub(crate) mod child;
pub(crate) mod corpus;
pub(crate) mod json_lines;
pub(crate) mod procfs;
pub(crate) mod questions;
pub(crate) mod records;
pub(crate) mod stats;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde::Serialize;

/// Prints a report as one line of JSON on stdout, or an error after the benchmark's name on stderr.
pub(crate) fn exit<R: Serialize>(name: &str, report: Result<R>) -> ExitCode {
    match report.and_then(|report| line(&report)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress(&format!("{name}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn line(report: &impl Serialize) -> Result<()> {
    Ok(writeln!(io::stdout(), "{}", serde_json::to_string(report)?)?)
}

pub(crate) fn progress(text: &str) {
    // Without a reader of stderr, progress is not needed.
    drop(writeln!(io::stderr(), "{text}"));
}

pub(crate) fn progress_row(row: &impl Serialize) {
    progress(&serde_json::to_string(row).unwrap_or_default());
}

/// Names a path as the context of an error: `.with_context(at(path))`.
pub(crate) fn at(path: &Path) -> impl Fn() -> String {
    move || format!("{path:?}")
}

/// The regular files below a directory, or a file itself, in the order of their paths. Links and git's files are left out.
pub(crate) fn files_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    if kind.is_dir() && path.file_name().is_none_or(|name| name != ".git") {
        for entry in fs::read_dir(path)? {
            files.extend(files_below(&entry?.path())?);
        }
        files.sort();
    }
    Ok(files)
}

/// The repository of this benchmark.
pub(crate) fn our_repository() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().with_context(at(&root))
}
