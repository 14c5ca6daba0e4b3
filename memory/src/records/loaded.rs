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

use super::body::Body;
use super::lines;
use super::newest::{self, Bounds};
use super::record::Record;
use super::told::Told;
use crate::hits::Hit;
use crate::recall::{CitedFile, Loaded, Memory, MemoryKind, Stamp};
use crate::redact::redact;

/// The file of what the team agreed on.
pub const MAIN: &str = ".muninn/memory/main.jsonl";
/// The file of open conflicts.
pub const CONFLICTS: &str = ".muninn/memory/conflicts.jsonl";
/// So much of a file is read: to make an index of it takes up to four gigabytes of memory, where all are of the type
/// `context_hit`, and two and a half where none is.
const MOST: Bounds = Bounds {
    bytes: 512 << 20,
    lines: 1_500_000,
};
/// Where else the words of a record may be, in the order in which they are shown.
const TEXTS: [&str; 6] = ["text", "pattern", "learnings", "attempt", "outcome", "note"];
/// A longer name of a subject is cut, in bytes.
const LONGEST_NAME: usize = 200;

/// A file of records, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordFile {
    /// Of the worktree, so that nothing outside of it is read by its name.
    Worktree(RelPath),
    /// Of the user's state directory.
    State(PathBuf),
}

impl RecordFile {
    /// What the team agreed on, and what it has not settled yet.
    #[must_use]
    pub fn of_team() -> Vec<Self> {
        let paths = [MAIN, CONFLICTS].into_iter().filter_map(|path| RelPath::new(path).ok());
        paths.map(Self::Worktree).collect()
    }

    /// What the team agreed on.
    #[must_use]
    pub fn main() -> Option<Self> {
        RelPath::new(MAIN).ok().map(Self::Worktree)
    }

    pub(crate) fn open(&self, worktree: &Worktree) -> io::Result<File> {
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
            let take = |line, record| loaded.take(self, before + line, &record);
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
        match &record.body {
            Body::Tombstone { forget } => self.gone.push(forget.clone()),
            Body::Supersedes { older, .. } => self.superseded.push(older.clone()),
            Body::Same { kept, folded, .. } => self.disputes.same.join(kept, folded),
            Body::Apart { one, other, .. } => self.disputes.same.part(one, other),
            Body::Conflict { left, right, .. } => {
                let conflict = (record.id.clone(), left.clone(), right.clone());
                self.disputes.conflicts.push(conflict);
            }
            Body::Decision { .. } => self.decisions.take(record),
            Body::ContextHit { .. } => self.hits.extend(hit(record)),
            _ => {}
        }
        // A later version may say the same in types of its own.
        self.gone.extend(record.unknown_texts("forget"));
        let older = ["supersedes", "older"].iter();
        self.superseded
            .extend(older.flat_map(|name| record.unknown_texts(name)));
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

/// A record as it is recalled; `None` where it says nothing by itself.
#[expect(clippy::cast_possible_truncation, reason = "a confidence has two digits")]
fn item(file: &RecordFile, line: usize, record: &Record) -> Option<Memory> {
    let Said {
        subject,
        texts,
        about,
        confidence,
    } = said(record);
    let mut text: Vec<String> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
    let listed = about.into_iter().filter(|(_, names)| !names.is_empty());
    text.extend(listed.map(|(name, names)| format!("{name}: {}", names.join(", "))));
    let origin = &record.origin;
    if text.is_empty() {
        return None;
    }
    let kind = match record.body.kind() {
        "" => "record",
        kind => kind,
    };
    let shown = kind.replace('_', " ");
    let mut title = match subject {
        Some(subject) => format!("{shown}: {}", name(&subject)),
        None => shown,
    };
    if let Some(task) = &origin.task {
        title.push_str(&format!(" ({})", name(task)));
    }
    let source = match record.id.as_str() {
        "" => format!("{file}:{line}-{line}"),
        id => id.to_owned(),
    };
    let kept = |text: &Option<String>| text.as_ref().map(|text| redact(name(text)).into_owned());
    let cites = origin.sources.iter().filter_map(|source| {
        Some(CitedFile {
            path: RelPath::new(&source.path).ok()?,
            blob: source.blob.clone()?,
        })
    });
    Some(Memory {
        kind: MemoryKind::Record,
        source: redact(&source).into_owned(),
        path: file.to_string(),
        title: redact(&title).into_owned(),
        text: redact(&text.join("\n")).into_owned(),
        first_line: 0,
        date: Some(record.ts.clone())
            .filter(|ts| !ts.is_empty())
            .map(|ts| redact(&ts).into_owned()),
        confidence: confidence
            .and_then(|value| value.as_f64())
            .filter(|value| (0.0..=1.0).contains(value))
            .map(|value| value as f32),
        applies_to: Vec::new(),
        contested: None,
        record_type: Some(redact(kind).into_owned()),
        session: kept(&origin.session),
        branch: kept(&origin.branch),
        task: kept(&origin.task),
        cites: cites.collect(),
    })
}

/// The words of a record.
#[derive(Default)]
struct Said {
    subject: Option<String>,
    texts: Vec<String>,
    about: Vec<(&'static str, Vec<String>)>,
    confidence: Option<Number>,
}

fn said(record: &Record) -> Said {
    let one = |text: &String| vec![text.clone()];
    let mut said = match record.body.clone() {
        Body::ContextHit {
            terms,
            files,
            relevance,
            ..
        } => Said {
            about: vec![("terms", terms), ("files", files)],
            confidence: relevance,
            ..Said::default()
        },
        Body::Pattern {
            pattern,
            entities,
            confidence,
        } => Said {
            texts: one(&pattern),
            subject: Some(pattern),
            about: vec![("entities", entities)],
            confidence,
        },
        Body::SessionSummary {
            files_touched,
            learnings,
            ..
        } => Said {
            texts: learnings,
            about: vec![("files touched", files_touched)],
            ..Said::default()
        },
        Body::Learning {
            text,
            subject,
            confidence,
            ..
        } => Said {
            subject,
            texts: vec![text],
            confidence,
            ..Said::default()
        },
        Body::Failure { attempt, outcome, .. } => Said {
            texts: vec![attempt, outcome],
            ..Said::default()
        },
        Body::Decision { note, .. } => Said {
            texts: note.into_iter().collect(),
            ..Said::default()
        },
        Body::Supersedes { .. } | Body::Other { .. } => Said {
            subject: record.unknown_texts("subject").into_iter().next(),
            ..Said::default()
        },
        Body::Tombstone { .. }
        | Body::Same { .. }
        | Body::Apart { .. }
        | Body::Conflict { .. }
        | Body::Reconciled { .. }
        | Body::Run { .. } => return Said::default(),
    };
    said.texts
        .extend(TEXTS.iter().flat_map(|name| record.unknown_texts(name)));
    said
}

/// The first line of a text, and not too much of it.
fn name(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(LONGEST_NAME)]
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
