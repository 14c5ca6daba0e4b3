//! The input of an event as a call of the application.
//!
//! Every field may be missing or of another type; then it counts as absent. Unknown fields are ignored, because clients
//! add some with each version.

use std::path::PathBuf;

use muninn_core::{HookSession, HookTool, HookTurn, LocalRequest, ToolCall, ToolOutcome};
use muninn_session::transcript::Client;
use serde_json::Value;

use super::{Event, addresses};

/// The sources of a `SessionStart` whose conversation already holds a preamble.
const CONTINUED: [&str; 2] = ["resume", "fork"];

/// The call for an event; `None` if there is nothing to do. `directory` stands for an absent one.
pub fn request(
    event: Event,
    client: Client,
    input: &Value,
    directory: impl FnOnce() -> Option<PathBuf>,
) -> Option<LocalRequest> {
    // The work of a subagent is not the user's conversation.
    if text(input, "agent_id").is_some() {
        return None;
    }
    match event {
        Event::SessionStart => {
            let is_continued = text(input, "source").is_some_and(|source| CONTINUED.contains(&source));
            let session = session(client, input, directory).filter(|_| !is_continued)?;
            Some(LocalRequest::HookSessionStart(session))
        }
        Event::UserPromptSubmit => {
            let prompt = words(&input["prompt"]);
            if prompt.trim().is_empty() {
                return None;
            }
            let session = session(client, input, directory)?;
            Some(LocalRequest::HookTurn(HookTurn { session, prompt }))
        }
        Event::PreToolUse => Some(LocalRequest::HookBeforeTool(tool(client, input, directory)?)),
        Event::PostToolUse | Event::PostToolUseFailure => {
            let outcome = outcome(event, input);
            Some(LocalRequest::HookAfterTool(tool(client, input, directory)?, outcome))
        }
        Event::PreCompact | Event::SessionEnd => Some(LocalRequest::HookEnd(session(client, input, directory)?)),
    }
}

/// The call of a tool; `None` for one that nothing depends on.
fn tool(client: Client, input: &Value, directory: impl FnOnce() -> Option<PathBuf>) -> Option<HookTool> {
    let call = ToolCall::of(text(input, "tool_name")?, &input["tool_input"])?;
    Some(HookTool {
        session: session(client, input, directory)?,
        id: text(input, "tool_use_id").map(str::to_owned),
        call,
    })
}

/// The outcome of a call. A client without an event for failures tells the exit code in the response.
fn outcome(event: Event, input: &Value) -> ToolOutcome {
    let response = &input["tool_response"];
    let message = || {
        let texts = [&input["error"], &response["stderr"], &response["stdout"], &response["output"], response];
        texts.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
    };
    let code = ["exit_code", "exitCode"].into_iter().find_map(|key| response[key].as_i64());
    let is_failure = event == Event::PostToolUseFailure || code.is_some_and(|code| code != 0);
    let is_interrupt = input["is_interrupt"] == true || response["interrupted"] == true;
    if is_failure && !is_interrupt { ToolOutcome::Failed(message()) } else { ToolOutcome::Worked }
}

fn session(client: Client, input: &Value, directory: impl FnOnce() -> Option<PathBuf>) -> Option<HookSession> {
    let named = text(input, "cwd").map(PathBuf::from);
    Some(HookSession {
        client,
        session: text(input, "session_id").map(str::to_owned),
        directory: named.filter(|path| path.is_absolute()).or_else(directory)?,
        transcript: text(input, "transcript_path").map(PathBuf::from),
        messages: input["messages"].as_array().cloned().unwrap_or_default(),
        model: text(input, "model").map(str::to_owned),
        addresses: addresses::of(client, text(input, "base_url")),
    })
}

/// The words of a prompt: a text, a message, a block, or a list of them. Blocks without a text are left out.
fn words(prompt: &Value) -> String {
    match prompt {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().map(words).filter(|words| !words.trim().is_empty());
            parts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(members) => {
            ["text", "content"].into_iter().find_map(|key| members.get(key)).map(words).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn text<'a>(input: &'a Value, key: &str) -> Option<&'a str> {
    input[key].as_str().filter(|text| !text.trim().is_empty())
}
