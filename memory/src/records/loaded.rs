//! Records as recall goes by them.
//!
//! Types that a later version writes are read for whatever text they hold. A line that is no record is told of and passed
//! over: a merge that tore a line must not cost the others.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufReader};
use std::path::PathBuf;

use muninn_repo_tools::{RelPath, Worktree};
use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::archive::is_pruned;
use super::body::Body;
use super::item::item;
use super::lines;
use super::newest::{self, Bounds};
use super::record::Record;
use super::told::Told;
use crate::hits::Hit;
use crate::recall::{Loaded, Stamp};

/// The file of what the team agreed on.
pub const MAIN: &str = ".muninn/memory/main.jsonl";
/// The file that shows people which conflicts in main are open.
pub const CONFLICTS: &str = ".muninn/memory/conflicts.jsonl";
/// So much of a file is read: to make an index of it takes up to four gigabytes of memory, where all are of the type
/// `context_hit`, and two and a half where none is.
const MOST: Bounds = Bounds {
    bytes: 512 << 20,
    lines: 1_500_000,
};

/// A file of records, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordFile {
    /// Of the worktree, so that nothing outside of it is read by its name.
    Worktree(RelPath),
    /// Of the user's state directory.
    State(PathBuf),
}

impl RecordFile {
    /// What the team agreed on, as a list of files.
    #[must_use]
    pub fn of_team() -> Vec<Self> {
        Self::main().into_iter().collect()
    }

    /// What the team agreed on.
    #[must_use]
    pub fn main() -> Option<Self> {
        RelPath::new(MAIN).ok().map(Self::Worktree)
    }

    pub(crate) fn open(&self, worktree: &Worktree) -> io::Result<File> {
        // To open a pipe is to wait for somebody to write.
        if !self.metadata(worktree)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        match self {
            Self::Worktree(path) => File::open(worktree.resolve(path).map_err(io::Error::other)?),
            Self::State(path) => File::open(path),
        }
    }

    pub(crate) fn metadata(&self, worktree: &Worktree) -> io::Result<Metadata> {
        match self {
            Self::Worktree(path) => worktree.resolve(path).map_err(io::Error::other)?.metadata(),
            Self::State(path) => path.metadata(),
        }
    }

    /// The file's metadata; `None` if there is no such file.
    pub(crate) fn stamp(&self, worktree: &Worktree) -> Option<Stamp> {
        let metadata = self.metadata(worktree).ok()?;
        Some(Stamp {
            path: self.to_string(),
            size: metadata.len(),
            modified: metadata.modified().ok()?,
        })
    }

    /// The first record that it holds; `None` also where it cannot be read.
    pub(crate) fn first(&self, worktree: &Worktree) -> Option<Record> {
        lines::first(BufReader::new(self.open(worktree).ok()?)).ok()?
    }

    /// Reads what it holds, or of a very large file the end.
    pub(crate) fn load(&self, worktree: &Worktree) -> Loaded {
        self.load_within(worktree, MOST)
    }

    fn load_within(&self, worktree: &Worktree, most: Bounds) -> Loaded {
        let mut loaded = Loaded::default();
        let Some(stamp) = self.stamp(worktree) else {
            return loaded;
        };
        let mut told = Told::default();
        let read = self.open(worktree).and_then(|file| {
            let mut file = BufReader::new(file);
            let before = newest::pass_over(&mut file, most)?;
            if before > 0 {
                let note = format!("{self}: too large to be recalled whole, without its first {before} lines");
                loaded.notes.push(note);
            }
            let take = |line, record: Record| match is_pruned(self) {
                true => loaded.pruned.push(record.id),
                false => loaded.take(self, before + line, &record),
            };
            lines::read(file, take, |aside| told.tell(self, before, &aside))
        });
        if let Err(error) = read {
            loaded.notes.push(format!("{self}: not read to its end: {error}"));
        }
        loaded.notes.extend(told.notes(self));
        loaded.stamps.push(stamp);
        loaded
    }
}

impl fmt::Display for RecordFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worktree(path) => path.fmt(formatter),
            Self::State(path) => path.display().fmt(formatter),
        }
    }
}

impl Loaded {
    /// Of records that are in no file, as main would have them.
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut loaded = Self::default();
        if let Some(main) = RecordFile::main() {
            records
                .into_iter()
                .zip(1..)
                .for_each(|(record, line)| loaded.take(&main, line, record));
        }
        loaded
    }

    fn take(&mut self, file: &RecordFile, line: usize, record: &Record) {
        self.statements.take(record);
        self.disputes.take(record);
        self.hits.extend(hit(record));
        // A later version may say the same in types of its own.
        let lost = ["forget", "supersedes", "older"].iter();
        self.statements.forget(lost.flat_map(|name| record.unknown_texts(name)));
        self.items.extend(item(file, line, record));
    }
}

/// What a record of the type `context_hit` leads to.
#[expect(clippy::cast_possible_truncation, reason = "a relevance has two digits")]
fn hit(record: &Record) -> Option<Hit> {
    let Body::ContextHit {
        terms,
        files,
        relevance,
        ..
    } = &record.body
    else {
        return None;
    };
    Some(Hit {
        id: record.id.clone(),
        terms: terms.clone(),
        files: files.iter().filter_map(|path| RelPath::new(path).ok()).collect(),
        relevance: relevance
            .as_ref()
            .and_then(Number::as_f64)
            .unwrap_or(0.5)
            .clamp(0.0, 1.0) as f32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn loaded(lines: &[&str]) -> Loaded {
        let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
        RecordFile::main().unwrap().load(&repo.worktree())
    }

    #[test]
    fn reads_every_type_for_what_it_says() {
        let records = loaded(&[
            r#"{"id":"1","ts":"2026-01-07T10:00:00Z","type":"context_hit","query_hash":"abc","files":["src/auth.py"],"relevance":0.95}"#,
            r#"{"id":"2","type":"pattern","pattern":"auth_flow","entities":["src/auth.py","src/m.py"],"confidence":0.8}"#,
            r#"{"id":"3","type":"session_summary","task":"T-42","learnings":["API uses injection","and more"]}"#,
            r#"{"id":"4","type":"of_the_future","text":"hello","unknown":{"x":[1]}}"#,
            r#"{"type":"learning","text":"no id"}"#,
            r#"{"id":"6","text":"no type"}"#,
        ]);
        assert_eq!(records.notes, Vec::<String>::new());
        let texts: Vec<_> = records.items.iter().map(|item| item.text.as_str()).collect();
        let expected = [
            "files: src/auth.py",
            "auth_flow\nentities: src/auth.py, src/m.py",
            "API uses injection\nand more",
            "hello",
            "no id",
            "no type",
        ];
        assert_eq!(texts, expected);
        assert_eq!(records.items[1].title, "pattern: auth_flow");
        assert_eq!(records.items[1].confidence, Some(0.8));
        assert_eq!(records.items[0].date.as_deref(), Some("2026-01-07T10:00:00Z"));
        assert_eq!(records.items[2].title, "session summary (T-42)");
        assert_eq!(records.items[4].source, ".muninn/memory/main.jsonl:5-5");
        assert_eq!(records.hits.len(), 1);
    }

    #[test]
    fn lines_that_are_no_records_are_told_of_and_cost_no_other() {
        let deep = format!(r#"{{"text":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        let records = loaded(&[
            "{\"id\":\"1\",\"te",
            "[1,2]",
            "{}",
            "<<<<<<< HEAD",
            &deep,
            "",
            r#"{"id":"2","text":"ok"}"#,
        ]);
        assert_eq!(
            (records.items.len(), records.notes.len()),
            (1, 4),
            "{:?}",
            records.notes
        );
        assert!(
            records.notes[0].starts_with(".muninn/memory/main.jsonl:1: no record"),
            "{:?}",
            records.notes
        );
        assert!(
            records.notes[3].ends_with(": 4 in all are set aside"),
            "{:?}",
            records.notes
        );
    }

    #[test]
    fn of_too_large_a_file_the_newest_are_read() {
        let lines = [
            r#"{"id":"1","text":"one"}"#,
            "torn",
            r#"{"text":"two"}"#,
            "<<<<<<< HEAD",
            r#"{"id":"3","text":"three"}"#,
        ];
        let repo = Fixture::with(&[(MAIN, &lines.map(|line| format!("{line}\n")).concat())]);
        let most = Bounds { bytes: 1000, lines: 3 };
        let loaded = RecordFile::main().unwrap().load_within(&repo.worktree(), most);
        let sources: Vec<&str> = loaded.items.iter().map(|item| item.source.as_str()).collect();
        assert_eq!(sources, [".muninn/memory/main.jsonl:3-3", "3"]);
        let expected = [
            ".muninn/memory/main.jsonl: too large to be recalled whole, without its first 2 lines",
            ".muninn/memory/main.jsonl:4: a conflict marker of git, set aside",
        ];
        assert_eq!(loaded.notes, expected);
    }

    #[test]
    fn secrets_in_records_are_redacted() {
        let records = loaded(&[r#"{"id":"1","text":"key is ghp_0123456789abcdefghijABCDEFGHIJ012345"}"#]);
        assert_eq!(records.items[0].text, "key is [redacted:github-token]");
    }
}
