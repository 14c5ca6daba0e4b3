//! A model's input: the request of a chat completion, and the places that its tool results name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// A conversation as it came in a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Heard {
    /// The first message: question, candidates, tree.
    pub(crate) opening: String,
    /// Answers that the model has given so far.
    pub(crate) turns: usize,
    /// The results of its calls, oldest first.
    pub(crate) results: Vec<Heeded>,
    /// Whether it must answer now.
    pub(crate) is_last: bool,
    /// Bytes of the request.
    pub(crate) bytes: usize,
}

/// A call that was made, with its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heeded {
    pub(crate) tool: String,
    pub(crate) text: String,
}

/// A place that a text names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) path: String,
    /// The first line and the last, from 1.
    pub(crate) lines: Option<(u32, u32)>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lines {
            Some((first, last)) => write!(f, "{}:{first}-{last}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

impl Heard {
    /// Reads the body of a request; `None` where it is none.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let request: Value = serde_json::from_slice(body).ok()?;
        let mut heard = Self {
            is_last: request["tool_choice"]["function"]["name"] == "final",
            bytes: body.len(),
            ..Self::default()
        };
        let mut calls: Vec<(String, String)> = Vec::new();
        for message in request["messages"].as_array()? {
            let text = text_of(&message["content"]);
            match message["role"].as_str()? {
                "user" if heard.opening.is_empty() => heard.opening = text,
                "assistant" => {
                    heard.turns += 1;
                    let made = message["tool_calls"].as_array().into_iter().flatten();
                    calls = made.filter_map(call).collect();
                }
                "tool" => {
                    let called = calls.iter().find(|(id, _)| message["tool_call_id"] == **id);
                    let Some((_, tool)) = called else { continue };
                    heard.results.push(Heeded { tool: tool.clone(), text });
                }
                _ => {}
            }
        }
        Some(heard)
    }

    /// The question alone.
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

    /// All places that it was told of: candidates, and what results name.
    pub(crate) fn seen(&self) -> Vec<Place> {
        let results = self.results.iter().flat_map(|result| places(&result.tool, &result.text));
        self.candidates().into_iter().chain(results).collect()
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The id of a call, and its tool.
fn call(call: &Value) -> Option<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some((text(&call["id"])?, text(&call["function"]["name"])?))
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
    let forms = forms.into_iter();
    forms.filter_map(|(tool, form)| Some((tool, Regex::new(form).ok()?))).collect()
});

/// The places that a tool's result names, in its order.
pub(crate) fn places(tool: &str, text: &str) -> Vec<Place> {
    let lines = text.lines().filter(|line| !line.starts_with('['));
    match tool {
        "find" => lines.filter_map(alone).collect(),
        "list" => lines.filter_map(sized).collect(),
        "read" => lines.take(1).filter_map(|line| numbered(tool, line)).collect(),
        _ => lines.filter_map(|line| numbered(tool, line)).collect(),
    }
}

/// `src/a.rs (120 bytes)`.
fn sized(line: &str) -> Option<Place> {
    let (path, size) = line.strip_suffix(" bytes)")?.rsplit_once(" (")?;
    size.parse::<u64>().ok()?;
    alone(path)
}

/// A path and nothing else: words have spaces.
fn alone(line: &str) -> Option<Place> {
    let is_path = !line.is_empty() && !line.contains(": ") && line != "no file has such a name";
    is_path.then(|| Place { path: line.to_owned(), lines: None })
}

fn numbered(tool: &str, line: &str) -> Option<Place> {
    let found = FORMS.get(tool)?.captures(line)?;
    let first = found.get(2)?.as_str().parse().ok()?;
    let last = found.get(3).map_or(Some(first), |last| last.as_str().parse().ok())?;
    Some(Place { path: found.get(1)?.as_str().to_owned(), lines: Some((first, last)) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(tool: &str, text: &str) -> Vec<String> {
        places(tool, text).iter().map(Place::to_string).collect()
    }

    #[test]
    fn places_are_read_from_each_tools_result() {
        let grep = "src/a.rs:12:let a: usize = 1;\nsrc/a.rs-13-\nmy docs/b.md:3:x [cut]\n[page 1 of 2; more]";
        assert_eq!(told("grep", grep), ["src/a.rs:12-12", "my docs/b.md:3-3"]);
        assert!(told("grep", "no line matches in 12 files").is_empty());
        let read = "src/a.rs, lines 1-2 of 40\n    1  fn main() {\n    2  src/b.rs, lines 1-2 of 40";
        assert_eq!(told("read", read), ["src/a.rs:1-2"]);
        assert!(told("read", "src/a.rs has 3 lines, none of them from 9 on").is_empty());
        assert_eq!(told("find", "src/a.rs\nsrc/b c.rs\n[cut by: files]"), ["src/a.rs", "src/b c.rs"]);
        assert!(told("find", "no file has such a name").is_empty());
        assert_eq!(told("list", "src/x/\nsrc/a.rs (120 bytes)\nsrc/l (a symlink)"), ["src/a.rs"]);
        let definition = "src/a.rs:3-9 fn refill(&self)  [90% sure]\nnothing here defines x";
        assert_eq!(told("definition", definition), ["src/a.rs:3-9"]);
        assert_eq!(told("callers", "src/a.rs:3,8 in Bucket.refill  [80% sure]"), ["src/a.rs:3-3"]);
        assert!(told("recall", "src/a.rs:3-9 x").is_empty());
    }

    #[test]
    fn a_conversation_is_read_with_calls_and_their_results() {
        let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        let opening =
            "Question:\nWhere?\n\nHow?\n\nCandidates, best first:\n- src/a.rs:1-9  a: b\n\nThe repository:\nsrc/";
        let request = json!({
            "messages": [
                {"role": "system", "content": "Explore."},
                {"role": "user", "content": opening},
                {"role": "assistant", "content": null, "tool_calls": [call("1", "grep", "{\"pattern\":\"x\"}"), call("2", "find", "{}")]},
                {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "src/b.rs:2:x"}]},
                {"role": "tool", "tool_call_id": "2", "content": "src/c.rs"},
                {"role": "user", "content": "This is your last turn."},
            ],
            "tool_choice": {"type": "function", "function": {"name": "final"}},
        });
        let heard = Heard::read(request.to_string().as_bytes()).unwrap();
        assert_eq!((heard.question(), heard.turns, heard.is_last), ("Where?\n\nHow?", 1, true));
        let tools: Vec<_> = heard.results.iter().map(|result| result.tool.as_str()).collect();
        assert_eq!(tools, ["grep", "find"]);
        let seen: Vec<_> = heard.seen().iter().map(Place::to_string).collect();
        assert_eq!(seen, ["src/a.rs:1-9", "src/b.rs:2-2", "src/c.rs"]);
        assert!(Heard::read(b"{").is_none());
    }
}
