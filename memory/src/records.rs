//! Records: `.muninn/memory/main.jsonl`, one JSON object a line, learned from sessions and agreed on by the team.
//!
//! Types that a later version writes are read for whatever text they hold. A line that is no record is counted and
//! passed over: a merge that tore a line must not cost the others.

use std::collections::HashSet;

use muninn_repo_tools::{RelPath, Worktree, read_text, stat};
use serde_json::{Map, Value};

use crate::recall::{CitedFile, Loaded, Memory, MemoryKind, Stamp};
use crate::redact::redact;

const MAIN: &str = ".muninn/memory/main.jsonl";
const MAX_FILE_BYTES: u64 = 16 << 20;
const MAX_LINE_BYTES: usize = 64 << 10;
const MAX_ITEMS: usize = 50_000;

/// Where a record's words are, in the order in which they are shown.
const TEXT_FIELDS: &[&str] = &["text", "pattern", "learnings", "attempt", "outcome", "task"];
/// What a record is about; shown under its name.
const LIST_FIELDS: &[&str] = &["terms", "entities", "files", "files_touched"];

/// What a file of records holds.
#[derive(Debug, Default)]
pub struct Records {
    /// Those that are in force: neither superseded nor forgotten.
    pub items: Vec<Memory>,
    /// Lines that are no JSON object, are too long, or say nothing.
    pub invalid: usize,
}

/// Reads a file as it is.
pub(crate) fn load(worktree: &Worktree, file: &RelPath) -> Loaded {
    let mut loaded = Loaded::default();
    let Some(stamp) = stamp(worktree, file) else {
        return loaded;
    };
    match read_text(worktree, &stamp.path, MAX_FILE_BYTES) {
        Ok(file) => {
            let records = parse(&stamp.path, &file.text);
            if records.invalid > 0 {
                loaded.notes.push(format!(
                    "{}: {} lines are not records, passed over",
                    stamp.path, records.invalid
                ));
            }
            loaded.items = records.items;
        }
        Err(error) => loaded.notes.push(format!("memory left out: {error}")),
    }
    loaded.stamps.push(stamp);
    loaded
}

/// What the team agreed on.
pub(crate) fn main() -> Option<RelPath> {
    RelPath::new(MAIN).ok()
}

/// A file's metadata; `None` if there is no such file.
pub(crate) fn stamp(worktree: &Worktree, file: &RelPath) -> Option<Stamp> {
    let (size, modified) = stat(worktree, file).ok()?;
    let path = file.clone();
    Some(Stamp { path, size, modified })
}

/// Reads records out of lines, leaving out those that a later line supersedes or forgets.
pub fn parse(path: &RelPath, text: &str) -> Records {
    let mut records = Records::default();
    let mut gone: HashSet<String> = HashSet::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let object = match serde_json::from_str::<Map<String, Value>>(line) {
            Ok(object) if line.len() <= MAX_LINE_BYTES && records.items.len() < MAX_ITEMS => object,
            _ => {
                records.invalid += 1;
                continue;
            }
        };
        gone.extend(
            ["forget", "supersedes", "older"]
                .iter()
                .filter_map(|key| string(&object, key)),
        );
        match item(path, number + 1, &object) {
            Some(item) => records.items.push(item),
            None if matches!(
                object.get("type").and_then(Value::as_str),
                Some("tombstone" | "supersedes")
            ) => {}
            None => records.invalid += 1,
        }
    }
    records.items.retain(|item| !gone.contains(&item.source));
    records
}

#[expect(clippy::cast_possible_truncation, reason = "a confidence has two digits")]
fn item(path: &RelPath, line: usize, object: &Map<String, Value>) -> Option<Memory> {
    let kind = string(object, "type").unwrap_or_else(|| "record".to_owned());
    if kind == "tombstone" {
        return None;
    }
    let mut text: Vec<String> = TEXT_FIELDS.iter().flat_map(|key| strings(object.get(*key))).collect();
    for key in LIST_FIELDS {
        let values = strings(object.get(*key));
        if !values.is_empty() {
            text.push(format!("{}: {}", key.replace('_', " "), values.join(", ")));
        }
    }
    if text.is_empty() {
        return None;
    }
    let subject = ["subject", "pattern", "task"]
        .iter()
        .find_map(|key| string(object, key));
    let title = match subject {
        Some(subject) => format!("{}: {subject}", kind.replace('_', " ")),
        None => kind.replace('_', " "),
    };
    Some(Memory {
        kind: MemoryKind::Record,
        source: redact(&string(object, "id").unwrap_or_else(|| format!("{path}:{line}-{line}"))).into_owned(),
        path: path.clone(),
        title: redact(&title).into_owned(),
        text: redact(&text.join("\n")).into_owned(),
        first_line: 0,
        date: string(object, "ts").map(|ts| redact(&ts).into_owned()),
        confidence: object
            .get("confidence")
            .or_else(|| object.get("relevance"))
            .and_then(Value::as_f64)
            .filter(|value| (0.0..=1.0).contains(value))
            .map(|value| value as f32),
        applies_to: Vec::new(),
        record_type: Some(redact(&kind).into_owned()),
        session: string(object, "session").map(|session| redact(&session).into_owned()),
        branch: string(object, "branch").map(|branch| redact(&branch).into_owned()),
        task: string(object, "task").map(|task| redact(&task).into_owned()),
        cites: cites(object),
    })
}

/// The files that a record rests on, with their blobs.
fn cites(object: &Map<String, Value>) -> Vec<CitedFile> {
    let sources = object.get("sources").and_then(Value::as_array);
    let cited = |source: &Value| {
        let source = source.as_object()?;
        Some(CitedFile {
            path: RelPath::new(source.get("path")?.as_str()?).ok()?,
            blob: string(source, "blob")?,
        })
    };
    sources.into_iter().flatten().filter_map(cited).collect()
}

/// A field that holds a short, single-line text.
fn string(object: &Map<String, Value>, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?.trim();
    let line = text.lines().next()?;
    Some(line[..line.floor_char_boundary(200)].to_owned())
}

/// The texts of a field that holds one or a list of them.
fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) if !text.trim().is_empty() => vec![text.trim().to_owned()],
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(lines: &[&str]) -> Records {
        parse(&RelPath::new(MAIN).unwrap(), &lines.join("\n"))
    }

    #[test]
    fn reads_every_type_for_what_it_says() {
        let records = records(&[
            r#"{"id":"1","ts":"2026-01-07T10:00:00Z","type":"context_hit","query_hash":"abc","files":["src/auth.py"],"relevance":0.95}"#,
            r#"{"id":"2","type":"pattern","pattern":"auth_flow","entities":["src/auth.py","src/m.py"],"confidence":0.8}"#,
            r#"{"id":"3","type":"session_summary","task":"T-42","learnings":["API uses injection","and more"]}"#,
            r#"{"id":"4","type":"of_the_future","text":"hello","unknown":{"x":[1]}}"#,
            r#"{"type":"learning","text":"no id"}"#,
        ]);
        assert_eq!(records.invalid, 0);
        let texts: Vec<_> = records.items.iter().map(|item| item.text.as_str()).collect();
        let expected = [
            "files: src/auth.py",
            "auth_flow\nentities: src/auth.py, src/m.py",
            "API uses injection\nand more\nT-42",
            "hello",
            "no id",
        ];
        assert_eq!(texts, expected);
        assert_eq!(records.items[1].title, "pattern: auth_flow");
        assert_eq!(records.items[1].confidence, Some(0.8));
        assert_eq!(records.items[0].date.as_deref(), Some("2026-01-07T10:00:00Z"));
        assert_eq!(records.items[4].source, ".muninn/memory/main.jsonl:5-5");
    }

    #[test]
    fn torn_lines_are_counted_and_cost_no_other() {
        let long = format!(r#"{{"id":"9","text":"{}"}}"#, "x".repeat(MAX_LINE_BYTES));
        let deep = format!(r#"{{"text":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        let records = records(&[
            "{\"id\":\"1\",\"te",
            "[1,2]",
            "null",
            "{}",
            &long,
            &deep,
            "",
            r#"{"id":"2","text":"ok"}"#,
        ]);
        assert_eq!((records.items.len(), records.invalid), (1, 6));
    }

    #[test]
    fn what_was_forgotten_or_superseded_is_not_recalled() {
        let records = records(&[
            r#"{"id":"1","type":"learning","text":"old"}"#,
            r#"{"id":"2","type":"learning","text":"wrong"}"#,
            r#"{"id":"3","type":"supersedes","supersedes":"1","text":"new"}"#,
            r#"{"id":"4","type":"tombstone","forget":"2"}"#,
        ]);
        let ids: Vec<_> = records.items.iter().map(|item| item.source.as_str()).collect();
        assert_eq!((ids, records.invalid), (vec!["3"], 0));
    }

    #[test]
    fn secrets_in_records_are_redacted() {
        let records = records(&[r#"{"id":"1","text":"key is ghp_0123456789abcdefghijABCDEFGHIJ012345"}"#]);
        assert_eq!(records.items[0].text, "key is [redacted:github-token]");
    }
}
