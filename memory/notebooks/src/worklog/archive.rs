//! The end of a task: the worklog is copied to the team's folder, and what was learned from failures goes into two shared
//! files. The worklog is removed only after the copy is on the disk.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::time::SystemTime;

use muninn_base::added_lines::add_missing_lines;
use muninn_base::private_file::sync_dir;
use muninn_base::{Links, read_regular};
use muninn_repo_tools::Worktree;
use muninn_team::records::{ATTRIBUTES, Body, Home, Moment, PATTERNS, Record, kinds};
use muninn_text::redact::redact;
use serde::Serialize;

use super::FILE;
use super::file::{Worklog, WorklogError};
use super::parsed::{ParsedMutation, ParsedWorklog};

/// The largest file that is archived.
const MOST_BYTES: u64 = 64 << 20;

/// The folder of archived worklogs, below the root of a worktree.
pub const FOLDER: &str = ".muninn/journals";
/// The file of mutations and repeated failures.
pub const CORRECTIONS: &str = ".muninn/journals/corrections.md";

/// Lines are only added to both files, so the union of two versions is a correct merge.
const UNION: [&str; 2] = ["journals/corrections.md merge=union", "journals/patterns.jsonl merge=union"];
/// How often a failure is in a worklog to be a correction.
const REPEATED: usize = 2;
/// The confidence of a pattern: it worked once.
const CONFIDENCE: f64 = 0.6;
/// The longest part of a task in a file's name, in bytes.
const MOST_NAME: usize = 60;

/// An archived worklog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// The copy, below the root.
    pub copy: String,
    /// The lines that were added to the corrections.
    pub corrections: usize,
    /// The records that were added to the patterns.
    pub patterns: usize,
    /// Whether the worklog was removed.
    pub removed: bool,
}

impl Worklog {
    /// Copies the worklog to [`FOLDER`] of `worktree`, and adds to [`CORRECTIONS`] and [`PATTERNS`]. Then it is removed, unless
    /// it is to be kept, or has changed meanwhile.
    ///
    /// # Errors
    /// [`WorklogError`]; the worklog is unchanged then.
    pub fn archive(&self, worktree: &Worktree, task: Option<&str>, keep: bool) -> Result<Archived, WorklogError> {
        let _lock = self.lock()?;
        let parsed = self.parsed()?;
        let home = Home::Repository(worktree.clone());
        let folder = home.own_directory(FOLDER).map_err(|error| WorklogError::Io {
            path: worktree.root().join(FOLDER),
            source: io::Error::other(error),
        })?;
        let before = self.state()?;
        let task = task.or(parsed.task.as_deref()).unwrap_or("task").to_owned();
        let date = self.clock().today().to_string();
        let copy = self.copy(&folder, &format!("{date}-{}", file_name(&task)))?;
        let (corrections, patterns) = self.learn(worktree.root(), &parsed, (&date, &task, &copy))?;
        let removed = !keep && self.state()? == before;
        if removed {
            self.remove().map_err(|source| self.failed(source))?;
        }
        Ok(Archived { copy: format!("{FOLDER}/{copy}"), corrections, patterns, removed })
    }

    /// Size and time of the file.
    fn state(&self) -> Result<(u64, SystemTime), WorklogError> {
        let metadata = fs::metadata(self.path());
        let state = metadata.and_then(|metadata| Ok((metadata.len(), metadata.modified()?)));
        state.map_err(|source| self.failed(source))
    }

    /// Copies the file, and returns the copy's name. A name that is taken gets a number, unless the content is the same.
    fn copy(&self, folder: &Path, name: &str) -> Result<String, WorklogError> {
        let content = read_regular(&self.path(), Links::Refuse, MOST_BYTES).map_err(|source| self.failed(source))?;
        let content = redacted(content);
        for number in 1.. {
            let name = match number {
                1 => format!("{name}.md"),
                number => format!("{name}-{number}.md"),
            };
            let path = folder.join(&name);
            let failed = |source| WorklogError::Io { path: path.clone(), source };
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    let written = file.write_all(&content).and_then(|()| file.sync_all());
                    written.and_then(|()| sync_dir(folder)).map_err(failed)?;
                    return Ok(name);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let most = content.len() as u64;
                    if read_regular(&path, Links::Refuse, most).is_ok_and(|there| there == content) {
                        return Ok(name);
                    }
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(WorklogError::Empty)
    }

    /// Adds to the shared files. Returns the numbers of lines.
    fn learn(
        &self,
        root: &Path,
        parsed: &ParsedWorklog,
        (date, task, copy): (&str, &str, &str),
    ) -> Result<(usize, usize), WorklogError> {
        let corrections = corrections(parsed);
        let patterns: Vec<String> = parsed.mutations.iter().filter_map(|found| self.pattern(found, copy)).collect();
        let heading = format!("\n## {date} — {task} ({copy})\n");
        let added = add(&root.join(CORRECTIONS), &heading, &corrections)?;
        let learned = add(&root.join(PATTERNS), "", &patterns)?;
        if added + learned > 0 {
            add(&root.join(ATTRIBUTES), "", &UNION)?;
        }
        Ok((added, learned))
    }

    /// The record of a mutation that worked.
    fn pattern(&self, found: &ParsedMutation, copy: &str) -> Option<String> {
        let worked = found.worked.as_deref()?;
        let mutation = &found.mutation;
        let pattern = format!(
            "If {} keeps failing: {} worked ({} {}: {}). Checked by: {worked}",
            mutation.failed_on,
            mutation.switching_to,
            mutation.kind,
            mutation.kind.words(),
            mutation.rationale
        );
        let body = Body::Pattern(kinds::Pattern {
            pattern: redact(&pattern).into_owned(),
            entities: Vec::new(),
            confidence: serde_json::Number::from_f64(CONFIDENCE),
            author: Some(FILE.to_owned()),
        });
        let ts = Moment::at(self.clock().now());
        let record = Record::derived(body, &[copy, &pattern], &ts);
        serde_json::to_string(&record).ok()
    }
}

/// Adds lines that a file lacks below a heading. Returns their number.
fn add<L: AsRef<str>>(path: &Path, heading: &str, lines: &[L]) -> Result<usize, WorklogError> {
    add_missing_lines(path, heading, lines).map_err(|source| WorklogError::Io { path: path.to_owned(), source })
}

/// The lines of corrections: mutations, and failures that were met several times.
fn corrections(parsed: &ParsedWorklog) -> Vec<String> {
    let of_mutations = parsed.mutations.iter().map(|found| {
        let mutation = &found.mutation;
        let worked = match &found.worked {
            Some(what) => format!(" It worked: {what}"),
            None => " Whether it worked was not noted.".to_owned(),
        };
        format!(
            "- {} ({}): failed on {}; switched to {}, because {}.{worked}",
            mutation.kind,
            mutation.kind.words(),
            mutation.failed_on,
            mutation.switching_to,
            mutation.rationale
        )
    });
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for failure in &parsed.failures {
        *counts.entry(failure).or_default() += 1;
    }
    let repeated = counts.into_iter().filter(|(_, count)| *count >= REPEATED);
    let of_failures = repeated.map(|(failure, count)| format!("- Failed {count} times: {failure}"));
    of_mutations.chain(of_failures).map(|line| redact(&line).into_owned()).collect()
}

/// A worklog without secrets, which people may have written into it.
fn redacted(content: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(content) {
        Ok(text) => redact(&text).into_owned().into_bytes(),
        Err(error) => redact(&String::from_utf8_lossy(error.as_bytes())).into_owned().into_bytes(),
    }
}

/// A task as a part of a file's name.
fn file_name(task: &str) -> String {
    let mut name = String::new();
    for c in task.chars() {
        match c {
            c if c.is_alphanumeric() => name.extend(c.to_lowercase()),
            _ if !name.ends_with('-') && !name.is_empty() => name.push('-'),
            _ => {}
        }
    }
    let name = name[..name.floor_char_boundary(MOST_NAME)].trim_end_matches('-');
    if name.is_empty() { "task".to_owned() } else { name.to_owned() }
}
