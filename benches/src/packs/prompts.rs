//! Graded prompts: what a developer asks, and the lines that a competent developer must read or change for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::json_lines;
use crate::place::{Place, overlap_by_half};
use crate::turns::{Message, Role};

/// One graded prompt.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Its name.
    pub id: String,
    /// `owner/name`.
    pub repo: String,
    /// The commit that the prompt is about.
    pub commit: String,
    /// The kind of task, such as `bug` or `how`.
    pub kind: Kind,
    /// The newest message of the user.
    pub prompt: String,
    /// The earlier messages of a follow-up.
    #[serde(default)]
    pub previous: Vec<Message>,
    /// The useful places; none for an off-topic prompt.
    pub useful: Useful,
    /// The name of its file, without the extension.
    #[serde(skip)]
    pub file: String,
}

/// The kinds of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A wrong behaviour.
    Bug,
    /// A question how something works.
    How,
    /// A question where something is decided.
    Where,
    /// A change that keeps the behaviour.
    Refactor,
    /// A new behaviour.
    Feature,
    /// A stack trace or an error message.
    Trace,
    /// A turn that is only understood with the turns before it.
    FollowUp,
    /// A prompt in German.
    German,
    /// A prompt in Chinese.
    Chinese,
    /// A prompt that no code of the repository helps with.
    OffTopic,
}

/// The useful ranges of lines, by file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Vec<UsefulFile>")]
pub struct Useful(pub BTreeMap<String, Vec<RangeInclusive<usize>>>);

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
    /// Whether a line of a file is useful.
    pub fn has_line(&self, path: &str, line: usize) -> bool {
        let ranges = self.0.get(path);
        ranges.is_some_and(|ranges| ranges.iter().any(|range| range.contains(&line)))
    }

    /// Whether a useful range overlaps a place's range by at least half of the shorter one; `None` for a file alone.
    pub fn has_range(&self, place: &Place) -> Option<bool> {
        let lines = place.lines.as_ref()?;
        let ranges = self.0.get(&place.path);
        Some(ranges.is_some_and(|ranges| ranges.iter().any(|range| overlap_by_half(range, lines))))
    }

    /// The number of useful lines.
    pub fn lines(&self) -> usize {
        let distinct = |ranges: &Vec<RangeInclusive<usize>>| {
            let lines: BTreeSet<usize> = ranges.iter().cloned().flatten().collect();
            lines.len()
        };
        self.0.values().map(distinct).sum()
    }
}

impl Prompt {
    /// Whether code of the repository helps with it.
    pub fn is_on_topic(&self) -> bool {
        self.kind != Kind::OffTopic
    }

    /// All its messages, the newest last.
    pub fn messages(&self) -> Vec<Message> {
        let newest = Message::user(&self.prompt);
        self.previous.iter().cloned().chain([newest]).collect()
    }

    /// Checks what can be checked without the repository.
    fn check(&self) -> Result<()> {
        let named = !self.useful.0.is_empty();
        ensure!(named || !self.is_on_topic(), "it names no useful file");
        ensure!(!named || self.is_on_topic(), "it is off topic and names useful files");
        let last = self.previous.last().map(|message| message.role);
        ensure!(last != Some(Role::User), "`previous` ends with a message of the user");
        Ok(())
    }

    /// Checks that the useful places exist in a tree.
    ///
    /// # Errors
    /// When a file cannot be read, or has fewer lines.
    pub fn check_places(&self, root: &Path) -> Result<()> {
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
///
/// # Errors
/// When a file cannot be read, a line is no prompt, or there is none.
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

    fn line(kind: &str, rest: &str) -> String {
        format!(r#"{{"id":"a-1","repo":"o/a","commit":"0","kind":"{kind}","prompt":"p"{rest}}}"#)
    }

    fn read_line(line: &str) -> Result<Prompt> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("a.tune.jsonl");
        fs::write(&path, line)?;
        Ok(read(&[path], None)?.remove(0))
    }

    const USEFUL: &str = r#","useful":[{"path":"a.rs","ranges":[[2,3],[3,5]]},{"path":"b.rs","ranges":[]}]"#;

    #[test]
    fn prompt_is_read_with_its_ranges() {
        let previous = r#","previous":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]"#;
        let prompt = read_line(&line("follow_up", &format!("{USEFUL}{previous}"))).unwrap();
        assert_eq!((prompt.file.as_str(), prompt.messages().len()), ("a.tune", 3));
        assert_eq!(prompt.useful.lines(), 4);
        assert!(prompt.useful.has_line("a.rs", 5) && !prompt.useful.has_line("b.rs", 5));
        let range = |source: &str| prompt.useful.has_range(&Place::parse(source));
        assert_eq!([range("a.rs:5-6"), range("a.rs:6-9"), range("c.rs:2-3")], [true, false, false].map(Some));
        assert_eq!(range("a.rs"), None);
    }

    #[test]
    fn faults_of_a_prompt_are_named() {
        let error = |line: &str| format!("{:#}", read_line(line).unwrap_err());
        assert!(error(&line("bug", "")).contains("missing field `useful`"));
        assert!(error(&line("bug", r#","useful":[]"#)).contains("a-1: it names no useful file"));
        assert!(error(&line("off_topic", USEFUL)).contains("off topic and names useful files"));
        assert!(error(&line("question", USEFUL)).contains("unknown variant `question`"));
        let unanswered = r#","previous":[{"role":"user","content":"q"}]"#;
        assert!(error(&line("bug", &format!("{USEFUL}{unanswered}"))).contains("`previous` ends"));
    }

    #[test]
    fn places_outside_of_the_tree_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let prompt = read_line(&line("bug", USEFUL)).unwrap();
        let error = || prompt.check_places(dir.path()).unwrap_err().to_string();
        assert_eq!(error(), "a-1: no file a.rs");
        fs::write(dir.path().join("a.rs"), "1\n2\n3\n4\n").unwrap();
        assert_eq!(error(), "a-1: a.rs has 4 lines, not 3 to 5");
        fs::write(dir.path().join("a.rs"), "1\n2\n3\n4\n5\n").unwrap();
        fs::write(dir.path().join("b.rs"), "").unwrap();
        prompt.check_places(dir.path()).unwrap();
    }
}
