//! One agent's request, written in each format.

use serde_json::{Map, Value, json};

use super::{MARK, prose};
use crate::format::Format;

/// Name, description and parameters of the tools that agents bring.
pub(super) const TOOLS: [(&str, &str, &[&str]); 12] = [
    ("read", "Reads a file.", &["path", "offset", "limit"]),
    ("bash", "Runs a command.", &["command", "timeout"]),
    ("edit", "Replaces text.", &["path", "old", "new"]),
    ("write", "Writes a file.", &["path", "content"]),
    ("glob", "Finds files by pattern.", &["pattern", "path"]),
    ("grep", "Searches contents.", &["pattern", "path", "include"]),
    ("list", "Lists a directory.", &["path", "ignore"]),
    ("webfetch", "Fetches a page.", &["url", "format"]),
    ("todowrite", "Updates the plan.", &["todos"]),
    ("todoread", "Reads the plan.", &[]),
    ("task", "Starts an agent.", &["description", "prompt"]),
    ("patch", "Applies a patch.", &["patch"]),
];

/// The request, with [`MARK`] where the question goes and `padding` at the end of the system text.
pub(super) fn request(format: Format, directory: &str, tools: usize, turns: usize, padding: &str) -> Value {
    let mut history = vec![user(format, "Say hello when you are ready."), assistant(format, "Hello, I am ready.")];
    for turn in 0..turns {
        history.extend(tool_turn(format, turn));
    }
    history.push(user(format, MARK));
    envelope(format, directory, tools, history, padding)
}

/// A request with this conversation, from an agent that works in `directory` and brings so many tools.
pub(crate) fn envelope(format: Format, directory: &str, tools: usize, mut history: Vec<Value>, padding: &str) -> Value {
    let system = format!(
        "You are a coding agent. Use the tools, keep answers short.\n<env>\n  \
         Working directory: {directory}\n  Platform: linux\n</env>\n{padding}"
    );
    let verbose = tools > 2;
    let tools: Vec<Value> = TOOLS[..tools].iter().map(|one| tool(format, one, verbose)).collect();
    match format {
        Format::Chat => {
            history.insert(0, json!({"role": "system", "content": system}));
            json!({
                "model": "mock",
                "stream": true,
                "stream_options": {"include_usage": true},
                "messages": history,
                "tools": tools,
                "tool_choice": "auto",
            })
        }
        Format::Messages => json!({
            "model": "mock",
            "stream": true,
            "max_tokens": 4096,
            "system": [{"type": "text", "text": system}],
            "messages": history,
            "tools": tools,
            "tool_choice": {"type": "auto"},
        }),
        Format::Responses => {
            let content = json!([{"type": "input_text", "text": system}]);
            history.insert(0, json!({"type": "message", "role": "developer", "content": content}));
            json!({
                "model": "mock",
                "stream": true,
                "store": false,
                "input": history,
                "tools": tools,
                "tool_choice": "auto",
            })
        }
    }
}

fn tool(format: Format, (name, description, parameters): &(&str, &str, &[&str]), verbose: bool) -> Value {
    let properties: Map<String, Value> =
        parameters.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
    // Agents with many tools explain each at length.
    let manual = if verbose { prose(1_200) } else { String::new() };
    let description = format!("{description}{manual}");
    let schema = json!({"type": "object", "properties": properties, "required": parameters});
    match format {
        Format::Chat => json!({"type": "function", "function": {
            "name": name, "description": description, "parameters": schema}}),
        Format::Messages => json!({"name": name, "description": description, "input_schema": schema}),
        Format::Responses => json!({"type": "function", "strict": false,
            "name": name, "description": description, "parameters": schema}),
    }
}

pub(crate) fn user(format: Format, text: &str) -> Value {
    match format {
        Format::Chat | Format::Messages => json!({"role": "user", "content": text}),
        Format::Responses => json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": text}]}),
    }
}

pub(crate) fn assistant(format: Format, text: &str) -> Value {
    match format {
        Format::Chat => json!({"role": "assistant", "content": text}),
        Format::Messages => json!({"role": "assistant", "content": [{"type": "text", "text": text}]}),
        Format::Responses => json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": text}]}),
    }
}

/// One finished turn: the human asks, the agent reads a file and answers.
fn tool_turn(format: Format, turn: usize) -> [Value; 4] {
    let [call, result] = call_and_result(format, turn);
    let answer = format!("Part {turn} parses one line of the table and returns its sum.");
    [user(format, &format!("What does part {turn} do?")), call, result, assistant(format, &answer)]
}

/// A call of a tool that reads a file, and what came of it.
pub(crate) fn call_and_result(format: Format, turn: usize) -> [Value; 2] {
    let id = format!("call_{turn:04}");
    let input = json!({"path": format!("src/part_{turn}.rs"), "limit": 60});
    match format {
        Format::Chat => [
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
                "function": {"name": "read", "arguments": input.to_string()}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": code(turn)}),
        ],
        Format::Messages => [
            json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": id, "name": "read", "input": input}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": code(turn)}]}),
        ],
        Format::Responses => [
            json!({"type": "function_call", "call_id": id, "name": "read", "arguments": input.to_string()}),
            json!({"type": "function_call_output", "call_id": id, "output": code(turn)}),
        ],
    }
}

/// A file's worth of code, with the quotes, tabs and line ends that JSON escapes.
fn code(turn: usize) -> String {
    (0..12)
        .map(|line| {
            format!(
                "{}\tfn row_{turn}_{line}(text: &str) -> Option<u64> {{\n\
                 {}\t\ttext.split(\"\\t\").map(|cell| cell.parse::<u64>().ok()).sum()\n",
                line * 3 + 1,
                line * 3 + 2,
            )
        })
        .collect()
}
