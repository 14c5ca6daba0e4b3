//! Chat completion bodies shaped like a coding agent's, and the questions in them.
//!
//! A body is built once and kept as the bytes before and after the newest human message, so that
//! each request can ask something new without the client building JSON while it measures.

use serde_json::{Value, json};

/// Stands for the question while a body is built.
const MARK: &str = "@@QUESTION@@";

/// Room that is kept for a question when a body is built to a size, in bytes.
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

/// The question of this number: one of the questions in turn, made unique by a ticket number.
/// Needs no escaping in JSON.
pub fn question(number: u64) -> String {
    let index = (number % QUESTIONS.len() as u64) as usize;
    format!("{} (ticket {number:07})", QUESTIONS[index])
}

/// A request body with a gap for the question.
#[derive(Debug, Clone)]
pub struct Body {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Body {
    /// A streaming chat completion of about `size` bytes (at least 1,500) from an agent that works
    /// in `directory`: system text, tools, a history of tool turns as long as the size asks for,
    /// and the question.
    pub fn of_agent(size: usize, directory: &str) -> Self {
        let tools = if size < 20_000 { 2 } else { TOOLS.len() };
        let mut turns = 0;
        let mut text = agent_json(directory, tools, turns, "");
        loop {
            let longer = agent_json(directory, tools, turns + 1, "");
            if longer.len() + QUESTION_ROOM > size {
                break;
            }
            turns += 1;
            text = longer;
        }
        let missing = size.saturating_sub(text.len() + QUESTION_ROOM - MARK.len());
        let text = agent_json(directory, tools, turns, &prose(missing));
        let (before, after) = text.split_once(MARK).unwrap_or((&text, ""));
        Self {
            before: before.as_bytes().to_vec(),
            after: after.as_bytes().to_vec(),
        }
    }

    /// Length in bytes with this question in it.
    pub fn len_with(&self, question: &str) -> usize {
        self.before.len() + question.len() + self.after.len()
    }

    /// The body with this question in it, in three pieces. All clients of a run share the long
    /// ones: copies would cost the load client more than sending them does.
    pub fn pieces<'a>(&'a self, question: &'a str) -> [&'a [u8]; 3] {
        [&self.before, question.as_bytes(), &self.after]
    }
}

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

fn tool((name, description, parameters): &(&str, &str, &[&str]), verbose: bool) -> Value {
    let properties: serde_json::Map<String, Value> = parameters
        .iter()
        .map(|key| ((*key).to_owned(), json!({"type": "string"})))
        .collect();
    // Agents with many tools explain each at length.
    let manual = if verbose { prose(1_200) } else { String::new() };
    json!({"type": "function", "function": {
        "name": name,
        "description": format!("{description}{manual}"),
        "parameters": {"type": "object", "properties": properties, "required": parameters},
    }})
}

/// The body's text, with [`MARK`] where the question goes and `padding` at the end of the system
/// text.
fn agent_json(directory: &str, tools: usize, turns: usize, padding: &str) -> String {
    let system = format!(
        "You are a coding agent. Use the tools, keep answers short.\n<env>\n  \
         Working directory: {directory}\n  Platform: linux\n</env>\n{padding}"
    );
    let mut messages = vec![
        json!({"role": "system", "content": system}),
        json!({"role": "user", "content": "Say hello when you are ready."}),
        json!({"role": "assistant", "content": "Hello, I am ready."}),
    ];
    for turn in 0..turns {
        messages.extend(tool_turn(turn));
    }
    messages.push(json!({"role": "user", "content": MARK}));
    let verbose = tools > 2;
    let tools: Vec<Value> = TOOLS[..tools].iter().map(|one| tool(one, verbose)).collect();
    json!({
        "model": "mock",
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": messages,
        "tools": tools,
        "tool_choice": "auto",
    })
    .to_string()
}

/// One finished turn: the human asks, the agent reads a file and answers.
fn tool_turn(turn: usize) -> [Value; 4] {
    let id = format!("call_{turn:04}");
    let arguments = json!({"path": format!("src/part_{turn}.rs"), "limit": 60}).to_string();
    let call = json!({"id": id, "type": "function",
        "function": {"name": "read", "arguments": arguments}});
    [
        json!({"role": "user", "content": format!("What does part {turn} do?")}),
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": code(turn)}),
        json!({"role": "assistant", "content": format!(
            "Part {turn} parses one line of the table and returns its sum.")}),
    ]
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

/// So many bytes of plain words.
fn prose(length: usize) -> String {
    " Read the code before you change it and say which lines you mean."
        .chars()
        .cycle()
        .take(length)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn rendered(size: usize, number: u64) -> (Body, Value, usize) {
        let body = Body::of_agent(size, "/srv/project");
        let question = question(number);
        let out = body.pieces(&question).concat();
        assert_eq!(out.len(), body.len_with(&question));
        let value = serde_json::from_slice(&out).unwrap();
        (body, value, out.len())
    }

    #[test]
    fn bodies_have_their_size_and_the_question_last() {
        for size in [2_000, 100_000] {
            let (_, value, length) = rendered(size, 31);
            assert!(length.abs_diff(size) < 60, "{length} for {size}");
            let messages = value["messages"].as_array().unwrap();
            let last = messages.last().unwrap();
            assert_eq!(last["role"], "user");
            assert_eq!(last["content"], question(31));
            assert!(!value["tools"].as_array().unwrap().is_empty());
        }
    }

    #[test]
    fn the_long_body_has_a_long_history() {
        let (_, value, _) = rendered(100_000, 0);
        assert!(value["messages"].as_array().unwrap().len() > 100);
        assert_eq!(value["tools"].as_array().unwrap().len(), TOOLS.len());
    }

    #[test]
    fn questions_are_distinct_and_need_no_escaping() {
        let many: BTreeSet<String> = (0..100).map(question).collect();
        assert_eq!(many.len(), 100);
        for one in &many {
            assert_eq!(json!(one).to_string(), format!("\"{one}\""));
        }
        assert_eq!(QUESTIONS.iter().collect::<BTreeSet<_>>().len(), 30);
    }
}
