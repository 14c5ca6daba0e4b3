//! A model's input: the request of a chat completion, and the places that its tool results name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::graded::place::Place;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Conversation {
    /// The first message: question, candidates, tree.
    pub(crate) opening: String,
    /// Answers that the model has given so far.
    pub(crate) turns: usize,
    /// The results of its calls, oldest first.
    pub(crate) results: Vec<ToolResult>,
    /// Whether the request demands the final answer.
    pub(crate) is_last: bool,
    pub(crate) bytes: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolResult {
    pub(crate) tool: String,
    pub(crate) text: String,
}

impl Conversation {
    /// Reads the body of a request; `None` if it is no chat completion.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let request: Value = serde_json::from_slice(body).ok()?;
        let is_last = request["tool_choice"]["function"]["name"] == "final";
        let mut conversation = Self { is_last, bytes: body.len(), ..Self::default() };
        let mut calls: Vec<&Value> = Vec::new();
        for message in request["messages"].as_array()? {
            let text = text_of(&message["content"]);
            match message["role"].as_str()? {
                "user" if conversation.opening.is_empty() => conversation.opening = text,
                "assistant" => {
                    conversation.turns += 1;
                    calls = message["tool_calls"].as_array().into_iter().flatten().collect();
                }
                "tool" => {
                    let called = calls.iter().find(|call| call["id"] == message["tool_call_id"]);
                    let tool = called.and_then(|call| call["function"]["name"].as_str());
                    conversation.results.extend(tool.map(|tool| ToolResult { tool: tool.to_owned(), text }));
                }
                _ => {}
            }
        }
        Some(conversation)
    }

    pub(crate) fn question(&self) -> &str {
        let question = self.opening.strip_prefix("Question:\n").unwrap_or(&self.opening);
        let ends = ["\nCandidates, best first:\n", "\nThe repository:\n", "\nLook in "];
        let end = ends.iter().filter_map(|end| question.find(end)).min();
        question[..end.unwrap_or(question.len())].trim()
    }

    /// The candidates of the lexical lane, best first.
    pub(crate) fn candidates(&self) -> Vec<Place> {
        let Some((_, list)) = self.opening.split_once("\nCandidates, best first:\n") else {
            return Vec::new();
        };
        let lines = list.lines().map_while(|line| line.strip_prefix("- "));
        lines.filter_map(|line| numbered("symbols", line)).collect()
    }

    /// The places that results name.
    pub(crate) fn read_places(&self) -> Vec<Place> {
        self.results.iter().flat_map(|result| places(&result.tool, &result.text)).collect()
    }

    /// The candidates, and the places that results name.
    pub(crate) fn seen(&self) -> Vec<Place> {
        self.candidates().into_iter().chain(self.read_places()).collect()
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The lines that name numbered places, by tool. Lines around a match of `grep` have dashes and do not count.
static FORMS: LazyLock<BTreeMap<&str, Regex>> = LazyLock::new(|| {
    let forms = [
        // `src/a.rs:12:text`
        ("grep", r"^([^:]+):(\d+):"),
        // `src/a.rs, lines 1-40 of 200`
        ("read", r"^(.+), lines (\d+)-(\d+) of \d+$"),
        // `src/a.rs:1-40 signature`
        ("symbols", r"^([^:]+):(\d+)-(\d+)(?: |$)"),
        ("definition", r"^([^:]+):(\d+)-(\d+)(?: |$)"),
        // `src/a.rs:3,8 in Bucket.refill`
        ("callers", r"^([^:]+):(\d+)(?:,\d+)* in "),
    ];
    forms.into_iter().filter_map(|(tool, form)| Some((tool, Regex::new(form).ok()?))).collect()
});

/// The places that a tool's result names, in its order.
fn places(tool: &str, text: &str) -> Vec<Place> {
    let lines = text.lines().filter(|line| !line.starts_with('['));
    match tool {
        "find" => lines.filter_map(path).collect(),
        // `src/a.rs (120 bytes)`
        "list" => lines.filter_map(|line| path(line.strip_suffix(" bytes)")?.rsplit_once(" (")?.0)).collect(),
        "read" => lines.take(1).filter_map(|line| numbered(tool, line)).collect(),
        _ => lines.filter_map(|line| numbered(tool, line)).collect(),
    }
}

fn path(line: &str) -> Option<Place> {
    let is_path = !line.is_empty() && !line.contains(": ") && line != "no file has such a name";
    is_path.then(|| Place { path: line.to_owned(), lines: None })
}

fn numbered(tool: &str, line: &str) -> Option<Place> {
    let found = FORMS.get(tool)?.captures(line)?;
    let first = found.get(2)?.as_str().parse().ok()?;
    let last = found.get(3).map_or(Some(first), |last| last.as_str().parse().ok())?;
    Some(Place { path: found.get(1)?.as_str().to_owned(), lines: Some(first..=last) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_each_tools_result() {
        for (tool, text, expected) in [
            (
                "grep",
                "src/a.rs:12:let a: usize = 1;\nsrc/a.rs-13-\nmy docs/b.md:3:x [cut]\n[more]",
                "src/a.rs:12-12 my docs/b.md:3-3",
            ),
            ("grep", "no line matches in 12 files", ""),
            ("read", "src/a.rs, lines 1-2 of 40\n    1  fn main() {\n    2  src/b.rs, lines 1-2 of 40", "src/a.rs:1-2"),
            ("read", "src/a.rs has 3 lines, none of them from 9 on", ""),
            ("find", "src/a.rs\nsrc/b c.rs\n[cut by: files]", "src/a.rs src/b c.rs"),
            ("find", "no file has such a name", ""),
            ("list", "src/x/\nsrc/a.rs (120 bytes)\nsrc/l (a symlink)", "src/a.rs"),
            ("definition", "src/a.rs:3-9 fn refill(&self)  [90% sure]\nnothing here defines x", "src/a.rs:3-9"),
            ("callers", "src/a.rs:3,8 in Bucket.refill  [80% sure]", "src/a.rs:3-3"),
        ] {
            let places: Vec<String> = places(tool, text).iter().map(Place::to_string).collect();
            assert_eq!(places.join(" "), expected, "{tool}");
        }
    }
}
