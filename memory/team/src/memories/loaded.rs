//! Loads the files that recall searches.
//!
//! Records of an unknown type, written by a later version, are loaded by their text members. An invalid line is skipped
//! and reported, so that a line damaged by a merge does not affect the others.

use std::io::BufReader;

use muninn_base::RelPath;
use muninn_base::stamp::Stamp;
use muninn_text::hits::Hit;
use serde_json::Number;

use super::contested::ConflictPairs;
use super::memory::Memory;
use super::newest::{self, Bounds};
use super::record::memory_of;
use super::skipped::SkippedLines;
use crate::records::{
    Body, Home, MAIN, Record, RecordFile, RecordReferences, WithdrawnRecords, is_pruned, kinds, lines,
};

/// The part of a file that is loaded. Indexing it takes up to 4 GB of memory if all records are of the type
/// `context_hit`, and 2.5 GB if none is.
const MOST: Bounds = Bounds { bytes: 512 << 20, lines: 1_500_000 };

/// A larger file is not read at all: counting its lines takes seconds. A clone can bring one that is mostly zeros.
const MOST_FILE: u64 = 1280 << 20;

/// The content of one source: knowledge, or a file of records.
#[derive(Default)]
pub struct LoadedMemories {
    pub items: Vec<Memory>,
    pub stamps: Vec<Stamp>,
    pub notes: Vec<String>,
    pub hits: Vec<Hit>,
    /// Ids of pruned records: files after this one must not add them again.
    pub pruned: Vec<String>,
    /// References to records of any file.
    pub references: RecordReferences,
    pub conflict_pairs: ConflictPairs,
}

impl LoadedMemories {
    /// Loads records that are in no file, as if they were in main.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut loaded = Self::default();
        if let Ok(main) = RelPath::new(MAIN).map(RecordFile::Home) {
            records.into_iter().zip(1..).for_each(|(record, line)| loaded.take(&main, line, record));
        }
        loaded
    }

    /// Loads files one after the other, each or the end of a very large one. Withdrawn records are left out.
    pub fn of_files<'f>(files: &'f [RecordFile], home: &'f Home) -> impl Iterator<Item = Self> + 'f {
        let withdrawn = RecordFile::withdrawn(files);
        files.iter().map(move |file| Self::of_file_within(file, home, &withdrawn, MOST))
    }

    fn of_file_within(file: &RecordFile, home: &Home, withdrawn: &WithdrawnRecords, most: Bounds) -> Self {
        let mut loaded = Self::default();
        let Some(stamp) = file.stamp(home) else {
            return loaded;
        };
        let mut skipped = SkippedLines::default();
        let read = file.open_within(home, MOST_FILE).and_then(|opened| {
            let mut opened = BufReader::new(opened);
            let before = newest::skip_lines(&mut opened, most)?;
            if before > 0 {
                let note = format!("{file}: too large, the first {before} lines are not recalled");
                loaded.notes.push(note);
            }
            let take = |line, record: Record| match file {
                RecordFile::Stated(_) if !record.origin.stated => {}
                _ if withdrawn.hides(&record) => {}
                _ if is_pruned(file, home) => loaded.pruned.push(record.id),
                _ => loaded.take(file, before + line, &record),
            };
            lines::read(opened, take, |aside| skipped.add(file, before, &aside))
        });
        if let Err(error) = read {
            loaded.notes.push(format!("{file}: read in part: {error}"));
        }
        loaded.notes.extend(skipped.notes(file));
        loaded.stamps.push(stamp);
        loaded
    }

    fn take(&mut self, file: &RecordFile, line: usize, record: &Record) {
        self.references.take(record);
        self.conflict_pairs.take(record);
        self.hits.extend(hit(record));
        // A later version can delete records with types of its own.
        let lost = ["forget", "supersedes", "older"].iter();
        self.references.forget(lost.flat_map(|name| record.unknown_texts(name)));
        self.items.extend(memory_of(file, line, record));
    }
}

/// The hit of a `context_hit` record.
#[expect(clippy::cast_possible_truncation, reason = "a relevance has two digits")]
fn hit(record: &Record) -> Option<Hit> {
    let Body::ContextHit(kinds::ContextHit { terms, files, relevance, .. }) = &record.body else {
        return None;
    };
    Some(Hit {
        id: record.id.clone(),
        terms: terms.clone(),
        files: files.iter().filter_map(|path| RelPath::new(path).ok()).collect(),
        relevance: relevance.as_ref().and_then(Number::as_f64).unwrap_or(0.5).clamp(0.0, 1.0) as f32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, main_alone};

    fn loaded(lines: &[&str]) -> LoadedMemories {
        let repo = Fixture::with(&[(MAIN, &lines.join("\n"))]);
        LoadedMemories::of_files(&main_alone(), &repo.home()).next().unwrap()
    }

    #[test]
    fn every_record_type_is_loaded_by_its_text() {
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
    fn invalid_lines_are_reported_and_others_loaded() {
        let deep = format!(r#"{{"text":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        let records =
            loaded(&["{\"id\":\"1\",\"te", "[1,2]", "{}", "<<<<<<< HEAD", &deep, "", r#"{"id":"2","text":"ok"}"#]);
        assert_eq!((records.items.len(), records.notes.len()), (1, 4), "{:?}", records.notes);
        assert!(records.notes[0].starts_with(".muninn/memory/main.jsonl:1: no record"), "{:?}", records.notes);
        assert!(records.notes[3].ends_with(": 4 lines are ignored in total"), "{:?}", records.notes);
    }

    #[test]
    fn newest_lines_of_a_large_file_are_loaded() {
        let lines =
            [r#"{"id":"1","text":"one"}"#, "torn", r#"{"text":"two"}"#, "<<<<<<< HEAD", r#"{"id":"3","text":"three"}"#];
        let repo = Fixture::with(&[(MAIN, &lines.map(|line| format!("{line}\n")).concat())]);
        let most = Bounds { bytes: 1000, lines: 3 };
        let none = WithdrawnRecords::default();
        let loaded = LoadedMemories::of_file_within(&main_alone()[0], &repo.home(), &none, most);
        let sources: Vec<&str> = loaded.items.iter().map(|item| item.source.as_str()).collect();
        assert_eq!(sources, [".muninn/memory/main.jsonl:3-3", "3"]);
        let expected = [
            ".muninn/memory/main.jsonl: too large, the first 2 lines are not recalled",
            ".muninn/memory/main.jsonl:4: a conflict marker of git; the line is ignored",
        ];
        assert_eq!(loaded.notes, expected);
    }

    #[test]
    fn secrets_in_records_are_redacted() {
        let records = loaded(&[r#"{"id":"1","text":"key is ghp_0123456789abcdefghijABCDEFGHIJ012345"}"#]);
        assert_eq!(records.items[0].text, "key is [redacted:github-token]");
    }
}
