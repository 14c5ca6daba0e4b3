//! What an exploration did, kept with the receipt: a tree of calls with what each cost and returned.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One exploration, and in its calls those that it opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Who explored: backend and model.
    pub model: String,
    /// What was asked, redacted.
    pub question: String,
    /// The directory that it was about; empty for all of the worktree.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    /// Why it ended.
    pub ended: Ended,
    /// What went wrong, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The turns of the model.
    pub turns: Vec<TurnTrace>,
    /// What it found, as `path:first-last`, the most important first.
    pub citations: Vec<String>,
    /// Citations that are nowhere on disk.
    pub invented: u32,
    /// What it says in words, redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Milliseconds from beginning to end.
    pub ms: f64,
}

/// Why an exploration ended. Each of them ends in the best answer so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The model called `final`.
    #[default]
    Final,
    /// It answered in words.
    Words,
    /// It had no turn left.
    Turns,
    /// The tokens were spent.
    Tokens,
    /// The calls were spent.
    Calls,
    /// It only repeated itself, or made no call that could be read.
    Repeats,
    /// The time was over.
    Deadline,
    /// Nobody waited any more.
    Abandoned,
    /// The model failed.
    Model,
}

impl Ended {
    /// In words, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Final => "final answer",
            Self::Words => "answer in words",
            Self::Turns => "no turn left",
            Self::Tokens => "tokens spent",
            Self::Calls => "calls spent",
            Self::Repeats => "nothing new",
            Self::Deadline => "time over",
            Self::Abandoned => "nobody waits",
            Self::Model => "model failed",
        }
    }
}

/// One answer of the model, and the calls in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnTrace {
    /// Tokens of the prompt, as the backend counts or as estimated.
    pub input: u64,
    /// Of these, read from its cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Milliseconds that the model took.
    pub model_ms: f64,
    /// Milliseconds from its answer to all of its calls' results.
    pub tools_ms: f64,
    /// How the calls were written: `native`, `json`, `xml`, `fenced`; empty where there were none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dialect: String,
    /// The calls.
    pub calls: Vec<CallTrace>,
    /// The answer was cut at its bound.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Calls that were left out, being too many for one turn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// One call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallTrace {
    /// The tool.
    pub tool: String,
    /// What it was called with, in short, redacted.
    pub arguments: String,
    /// What came of it, in short: `12 lines in 4 files`.
    pub returned: String,
    /// Bytes of the result.
    pub bytes: usize,
    /// Milliseconds.
    pub ms: f64,
    /// It was answered from memory: it had been made before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub repeated: bool,
    /// It failed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed: bool,
    /// The exploration that it opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<Trace>>,
}

/// The numbers of a trace and of all below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Explorations, the first included.
    pub explorations: u32,
    /// Turns of the model.
    pub turns: u32,
    /// Calls of tools.
    pub calls: u32,
    /// Of these, answered from memory.
    pub repeated: u32,
    /// Of these, failed.
    pub failed: u32,
    /// Tokens of all prompts.
    pub input: u64,
    /// Tokens of all answers.
    pub output: u64,
    /// Citations that are nowhere on disk.
    pub invented: u32,
    /// Levels, the first included.
    pub depth: u32,
}

impl Trace {
    /// Sums up.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals {
            explorations: 1,
            invented: self.invented,
            depth: 1,
            ..Totals::default()
        };
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

    /// As a tree for people, two spaces for each level.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text
    }

    fn write(&self, level: usize, text: &mut String) {
        let indent = "  ".repeat(level);
        let scope = if self.scope.is_empty() {
            String::new()
        } else {
            format!(" in {}", self.scope)
        };
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
            text.push_str(&format!("{indent}  {} citations are nowhere on disk\n", self.invented));
        }
        if let Some(answer) = &self.answer {
            let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
            let end = words.floor_char_boundary(SHOWN_ANSWER);
            let more = if end < words.len() { " ..." } else { "" };
            text.push_str(&format!("{indent}  says: {}{more}\n", &words[..end]));
        }
    }
}

/// Of an answer in words, the tree shows this much, in bytes.
const SHOWN_ANSWER: usize = 300;
/// Of a call's arguments, a trace keeps this much, in bytes.
const SHOWN_ARGUMENTS: usize = 160;

/// A call's arguments in one line. Not redacted.
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
