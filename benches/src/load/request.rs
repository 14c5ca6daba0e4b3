//! Requests shaped like a coding agent's, in each format.
//!
//! A body is built once and kept as the bytes before and after the newest human message, so that each request can ask a new
//! question without building JSON during a measurement.

use serde_json::{Map, Value, json};

use super::format::Format;

/// Stands for the question while a body is built.
const MARK: &str = "@@QUESTION@@";

/// The bytes that are kept for a question when a body is built to a size.
const QUESTION_ROOM: usize = 80;

/// Distinct questions about this repository, asked in turn.
const QUESTIONS: [&str; 30] = [
    "How are injected blocks replayed on later turns?",
    "Where is the listen address bound and announced?",
    "Which files are never packed, and where is that decided?",
    "How does the ledger compute its key over text blocks?",
    "What happens when the ledger database is locked?",
    "Where are hop-by-hop headers dropped?",
    "How is the token budget of a pack counted?",
    "How does BM25 tokenize identifiers into parts?",
    "Why are tests demoted in the ranking?",
    "Where is a foreign Origin header refused?",
    "How does the walker apply ignore rules?",
    "What makes a request a side request?",
    "How is the newest human turn found in a messages body?",
    "Where is the state directory chosen?",
    "How are unknown configuration keys reported?",
    "Which backend gets the client's own credential?",
    "How does discovery find a local model server?",
    "What does the receipt of a request hold?",
    "How is a symlink out of the worktree refused?",
    "Where are secrets redacted before a pack is written?",
    "How are fence marks inside packed text escaped?",
    "What does the gateway answer when no backend is connected?",
    "How is the upstream request cancelled when the client leaves?",
    "Where is the body limit enforced, and with which status?",
    "How does the index notice that a file has changed?",
    "How are knowledge files under .muninn searched?",
    "What does muninn why print for the latest request?",
    "How does muninn run set the environment of its child?",
    "Where does the benchmark read the memory of the gateway?",
    "How are definition chunks cut out of a Rust file?",
];

/// Name, description and parameters of the tools that agents bring.
const TOOLS: [(&str, &str, &[&str]); 12] = [
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

/// The question of this number, made unique by a ticket number. It needs no escaping in JSON.
pub(crate) fn question(number: u64) -> String {
    let index = (number % QUESTIONS.len() as u64) as usize;
    format!("{} (ticket {number:07})", QUESTIONS[index])
}

/// A request body with a gap for the question.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Body {
    /// A request for a stream of about `size` bytes (at least 1,500) from an agent that works in `directory`: system text,
    /// tools, a history of tool turns as long as the size asks for, and the question.
    pub(crate) fn of_agent(format: Format, size: usize, directory: &str) -> Self {
        let tools = if size < 20_000 { 2 } else { TOOLS.len() };
        let text_of = |turns, padding: &str| request(format, directory, tools, turns, padding).to_string();
        let mut turns = 0;
        let mut text = text_of(turns, "");
        loop {
            let longer = text_of(turns + 1, "");
            if longer.len() + QUESTION_ROOM > size {
                break;
            }
            turns += 1;
            text = longer;
        }
        let missing = size.saturating_sub(text.len() + QUESTION_ROOM - MARK.len());
        let text = text_of(turns, &prose(missing));
        let (before, after) = text.split_once(MARK).unwrap_or((&text, ""));
        Self { before: before.as_bytes().to_vec(), after: after.as_bytes().to_vec() }
    }

    pub(crate) fn len_with(&self, question: &str) -> usize {
        self.before.len() + question.len() + self.after.len()
    }

    /// The body with this question, in three pieces. All clients of a run share the long ones: copies would cost the load
    /// client more than sending them does.
    pub(crate) fn pieces<'a>(&'a self, question: &'a str) -> [&'a [u8]; 3] {
        [&self.before, question.as_bytes(), &self.after]
    }
}

/// Plain words of this many bytes.
fn prose(length: usize) -> String {
    " Read the code before you change it and say which lines you mean.".chars().cycle().take(length).collect()
}

/// The request, with [`MARK`] in place of the question and `padding` at the end of the system text.
fn request(format: Format, directory: &str, tools: usize, turns: usize, padding: &str) -> Value {
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

/// A call of a tool that reads a file, and its result.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_their_size_and_the_question_last() {
        for format in Format::ALL {
            for size in [2_000, 100_000] {
                let body = Body::of_agent(format, size, "/srv/project");
                let bytes = body.pieces(&question(31)).concat();
                assert!(bytes.len().abs_diff(size) < 60, "{format}: {} for {size}", bytes.len());
                let body: Value = serde_json::from_slice(&bytes).unwrap();
                let turns = body[if format == Format::Responses { "input" } else { "messages" }].as_array().unwrap();
                let last = turns.last().unwrap();
                assert!(last["role"] == "user" && last["content"].to_string().contains(&question(31)), "{format}");
                assert!(size < 100_000 || turns.len() > 100, "{format}: {} turns", turns.len());
            }
        }
    }
}
