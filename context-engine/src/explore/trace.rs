//! The trace of an exploration, stored with the receipt: the tree of calls with their costs and results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The trace of one exploration. A call that opened a child exploration contains the child's trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The backend and the model.
    pub model: String,
    /// The question, redacted.
    pub question: String,
    /// The directory that was explored; empty for the whole worktree.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Why the exploration ended.
    pub ended: Ended,
    /// The error of the model, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The turns of the model.
    pub turns: Vec<TurnTrace>,
    /// The valid citations as `path:first-last`, the most important first.
    pub citations: Vec<String>,
    /// The number of citations that do not exist on disk.
    pub invented: u32,
    /// The answer in words, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The duration in milliseconds.
    pub ms: f64,
}

/// Why an exploration ended. An exploration always ends with the best answer so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The model called `final`.
    #[default]
    Final,
    /// The model answered in text without a tool call.
    Words,
    /// The maximum number of turns was reached.
    Turns,
    /// The token budget was spent.
    Tokens,
    /// The call budget was spent.
    Calls,
    /// The model only repeated calls, or made no call that could be parsed.
    Repeats,
    /// The deadline passed.
    Deadline,
    /// The exploration was cancelled.
    Abandoned,
    /// The model failed.
    Model,
}

impl Ended {
    /// Returns a short description for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Final => "final answer",
            Self::Words => "answer in words",
            Self::Turns => "no turn left",
            Self::Tokens => "tokens spent",
            Self::Calls => "calls spent",
            Self::Repeats => "nothing new",
            Self::Deadline => "deadline passed",
            Self::Abandoned => "cancelled",
            Self::Model => "model failed",
        }
    }
}

/// One turn: the model's answer and its calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnTrace {
    /// The tokens of the prompt, from the backend or estimated.
    pub input: u64,
    /// The prompt tokens that the backend read from its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// The tokens of the answer.
    pub output: u64,
    /// The duration of the model's answer in milliseconds.
    pub model_ms: f64,
    /// The duration of all calls in milliseconds.
    pub tools_ms: f64,
    /// The dialect of the calls, such as `native` or `json`; empty without calls.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dialect: String,
    pub calls: Vec<CallTrace>,
    /// Whether the answer was truncated at its maximum length.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// The number of calls beyond the maximum of one turn, which were not made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// One call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallTrace {
    pub tool: String,
    /// The abbreviated arguments, redacted.
    pub arguments: String,
    /// A summary of the result: `12 lines in 4 files`.
    pub returned: String,
    /// The size of the result in bytes.
    pub bytes: usize,
    /// The duration in milliseconds.
    pub ms: f64,
    /// Whether the call was a repetition, answered from the cache.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repeated: bool,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed: bool,
    /// The child exploration that the call opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<Trace>>,
}

/// The totals of a trace and its children.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// The number of explorations, including the root.
    pub explorations: u32,
    /// The number of turns.
    pub turns: u32,
    /// The number of tool calls.
    pub calls: u32,
    /// The number of repeated calls, answered from the cache.
    pub repeated: u32,
    /// The number of failed calls.
    pub failed: u32,
    /// The tokens of all prompts.
    pub input: u64,
    /// The tokens of all answers.
    pub output: u64,
    /// The number of citations that do not exist on disk.
    pub invented: u32,
    /// The number of levels, including the root.
    pub depth: u32,
}

impl Trace {
    /// Computes the totals.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { explorations: 1, invented: self.invented, depth: 1, ..Totals::default() };
        for turn in &self.turns {
            totals.turns += 1;
            totals.input += turn.input;
            totals.output += turn.output;
            for call in &turn.calls {
                totals.calls += 1;
                totals.repeated += u32::from(call.repeated);
                totals.failed += u32::from(call.failed);
                if let Some(child) = &call.child {
                    totals.add(child.totals());
                }
            }
        }
        totals
    }

    /// Formats the trace as a tree for people. Each level is indented by two more spaces.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text
    }

    fn write(&self, level: usize, text: &mut String) {
        let indent = "  ".repeat(level);
        let scope = if self.scope.is_empty() { String::new() } else { format!(" in {}", self.scope) };
        let totals = self.totals();
        text.push_str(&format!(
            "{indent}explored by {}{scope}: {}; {}, {} ({} repeated), {} + {} tokens, {:.0} ms\n",
            self.model,
            self.ended.label(),
            counted(totals.turns, "turn"),
            counted(totals.calls, "call"),
            totals.repeated,
            totals.input,
            totals.output,
            self.ms,
        ));
        if let Some(problem) = &self.problem {
            text.push_str(&format!("{indent}  because: {problem}\n"));
        }
        for (number, turn) in self.turns.iter().enumerate() {
            let cached = match turn.cached {
                0 => String::new(),
                cached => format!(" ({cached} cached)"),
            };
            let dialect = if turn.dialect.is_empty() || turn.dialect == "native" {
                String::new()
            } else {
                format!(", calls as {}", turn.dialect)
            };
            let cut = if turn.truncated { " (cut)" } else { "" };
            text.push_str(&format!(
                "{indent}  turn {}: {}{cached} + {} tokens{cut}, model {:.0} ms, tools {:.1} ms{dialect}\n",
                number + 1,
                turn.input,
                turn.output,
                turn.model_ms,
                turn.tools_ms,
            ));
            for call in &turn.calls {
                let mark = match (call.failed, call.repeated) {
                    (true, _) => " FAILED",
                    (_, true) => " (repeated)",
                    _ => "",
                };
                text.push_str(&format!(
                    "{indent}    {} {} -> {}{mark}, {:.1} ms\n",
                    call.tool, call.arguments, call.returned, call.ms
                ));
                if let Some(child) = &call.child {
                    child.write(level + 3, text);
                }
            }
            if turn.left_out > 0 {
                text.push_str(&format!("{indent}    {} more calls were left out\n", turn.left_out));
            }
        }
        for citation in &self.citations {
            text.push_str(&format!("{indent}  cites {citation}\n"));
        }
        if self.invented > 0 {
            text.push_str(&format!("{indent}  {} citations do not exist on disk\n", self.invented));
        }
        if let Some(answer) = &self.answer {
            let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
            let end = words.floor_char_boundary(SHOWN_ANSWER);
            let more = if end < words.len() { " ..." } else { "" };
            text.push_str(&format!("{indent}  says: {}{more}\n", &words[..end]));
        }
    }
}

/// Maximum length of an answer in the tree, in bytes.
const SHOWN_ANSWER: usize = 300;
/// Maximum length of a call's arguments in a trace, in bytes.
const SHOWN_ARGUMENTS: usize = 160;

/// Formats a call's arguments on one line, without redaction.
pub(super) fn short(call: &Map<String, Value>) -> String {
    let shown = call.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text:?}"),
        other => format!("{name}={other}"),
    });
    let mut text = shown.collect::<Vec<_>>().join(" ");
    let end = text.floor_char_boundary(SHOWN_ARGUMENTS);
    if end < text.len() {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

fn counted(number: u32, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

impl Totals {
    fn add(&mut self, child: Totals) {
        self.explorations += child.explorations;
        self.turns += child.turns;
        self.calls += child.calls;
        self.repeated += child.repeated;
        self.failed += child.failed;
        self.input += child.input;
        self.output += child.output;
        self.invented += child.invented;
        self.depth = self.depth.max(child.depth + 1);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(flag: &bool) -> bool {
    !flag
}
