//! Graded prompts: what a developer asks, and the lines that a competent developer must read or change for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::graded::place::{Place, overlap_by_half};
use crate::graded::turns::{Message, Role};
use crate::harness::json_lines;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    pub(super) id: String,
    pub(super) repo: String,
    pub(super) commit: String,
    pub(super) kind: Kind,
    pub(super) prompt: String,
    /// The earlier messages of a follow-up.
    #[serde(default)]
    previous: Vec<Message>,
    pub(super) useful: Useful,
    #[serde(skip)]
    pub(super) file: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Bug,
    How,
    Where,
    Refactor,
    Feature,
    /// A stack trace or an error message.
    Trace,
    FollowUp,
    German,
    Chinese,
    OffTopic,
}

/// The useful ranges of lines, by file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Vec<UsefulFile>")]
pub(super) struct Useful(pub(super) BTreeMap<String, Vec<RangeInclusive<usize>>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsefulFile {
    path: String,
    ranges: Vec<(usize, usize)>,
}

impl From<Vec<UsefulFile>> for Useful {
    fn from(files: Vec<UsefulFile>) -> Self {
        let mut useful = Self::default();
        for file in files {
            let ranges = file.ranges.into_iter().map(|(first, last)| first..=last);
            useful.0.entry(file.path).or_default().extend(ranges);
        }
        useful
    }
}

impl Useful {
    pub(super) fn has_line(&self, path: &str, line: usize) -> bool {
        let ranges = self.0.get(path);
        ranges.is_some_and(|ranges| ranges.iter().any(|range| range.contains(&line)))
    }

    /// Whether a useful range overlaps a place's range by at least half of the shorter one; `None` for a file alone.
    pub(super) fn has_range(&self, place: &Place) -> Option<bool> {
        let lines = place.lines.as_ref()?;
        let ranges = self.0.get(&place.path);
        Some(ranges.is_some_and(|ranges| ranges.iter().any(|range| overlap_by_half(range, lines))))
    }

    /// The number of useful lines.
    pub(super) fn lines(&self) -> usize {
        let distinct = |ranges: &Vec<RangeInclusive<usize>>| ranges.iter().cloned().flatten().collect::<BTreeSet<_>>();
        self.0.values().map(|ranges| distinct(ranges).len()).sum()
    }
}

impl Prompt {
    /// All its messages, the newest last.
    pub(super) fn messages(&self) -> Vec<Message> {
        let newest = Message::user(&self.prompt);
        self.previous.iter().cloned().chain([newest]).collect()
    }

    fn check(&self) -> Result<()> {
        let (named, on_topic) = (!self.useful.0.is_empty(), self.kind != Kind::OffTopic);
        ensure!(named || !on_topic, "it names no useful file");
        ensure!(!named || on_topic, "it is off topic and names useful files");
        let last = self.previous.last().map(|message| message.role);
        ensure!(last != Some(Role::User), "`previous` ends with a message of the user");
        Ok(())
    }

    /// Checks that the useful places exist in a tree.
    pub(super) fn check_places(&self, root: &Path) -> Result<()> {
        for (path, ranges) in &self.useful.0 {
            let text = fs::read(root.join(path)).with_context(|| format!("{}: no file {path}", self.id))?;
            let count = String::from_utf8_lossy(&text).lines().count();
            for range in ranges {
                let (first, last) = (*range.start(), *range.end());
                let is_within = (1..=last).contains(&first) && last <= count;
                ensure!(is_within, "{}: {path} has {count} lines, not {first} to {last}", self.id);
            }
        }
        Ok(())
    }
}

/// Reads the prompts in files whose ids contain `only`.
pub(super) fn read(files: &[PathBuf], only: Option<&str>) -> Result<Vec<Prompt>> {
    let mut prompts: Vec<Prompt> = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        for mut prompt in json_lines::read::<Prompt>(path)? {
            prompt.check().with_context(|| format!("{path:?}, {}", prompt.id))?;
            prompt.file = name.clone().into_owned();
            prompts.push(prompt);
        }
    }
    prompts.retain(|prompt| only.is_none_or(|only| prompt.id.contains(only)));
    ensure!(!prompts.is_empty(), "no prompt is called like {only:?}");
    Ok(prompts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_with_places_outside_of_the_tree_is_an_error() {
        let line = r#"{"id":"a-1","repo":"o/a","commit":"0","kind":"bug","prompt":"p",
            "useful":[{"path":"a.rs","ranges":[[2,3],[3,5]]},{"path":"b.rs","ranges":[]}]}"#;
        let prompt: Prompt = serde_json::from_str(line).unwrap();
        assert_eq!((prompt.useful.lines(), prompt.useful.has_line("a.rs", 5)), (4, true));
        let range = |source: &str| prompt.useful.has_range(&Place::parse(source));
        assert_eq!([range("a.rs:5-6"), range("a.rs:6-9"), range("a.rs")], [Some(true), Some(false), None]);
        let dir = tempfile::tempdir().unwrap();
        let error = || prompt.check_places(dir.path()).unwrap_err().to_string();
        assert_eq!(error(), "a-1: no file a.rs");
        fs::write(dir.path().join("a.rs"), "1\n2\n3\n4\n").unwrap();
        assert_eq!(error(), "a-1: a.rs has 4 lines, not 3 to 5");
    }
}
