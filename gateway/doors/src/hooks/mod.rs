//! The hooks of coding agents: the input of an event becomes a call of the application, and the reply the client's JSON.
//!
//! A hook must never stop the user's work. Whatever is wrong with the input, there is no output, and the caller exits with
//! code 0: Claude Code blocks the prompt if a hook exits with 2.

mod addresses;
mod payload;
#[cfg(test)]
mod tests;

use std::io::{self, Read};

use serde_json::{Value, json};
use thiserror::Error;

use muninn_core::LocalReply;
use muninn_session::transcript::Client;

pub use payload::request;

/// The largest input in bytes. opencode's plugin passes a whole conversation.
const MOST_BYTES: u64 = 16 << 20;

/// An event that does something. All others are accepted and ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A session starts, or continues.
    SessionStart,
    UserPromptSubmit,
    /// A tool is about to be called.
    PreToolUse,
    /// A tool was called.
    PostToolUse,
    /// A tool was called, and failed.
    PostToolUseFailure,
    /// The client is about to replace the conversation by a summary.
    PreCompact,
    SessionEnd,
}

impl Event {
    /// The event of a name; `None` for one that is ignored.
    pub fn of(name: &str) -> Option<Event> {
        match name {
            "SessionStart" => Some(Event::SessionStart),
            "UserPromptSubmit" => Some(Event::UserPromptSubmit),
            "PreToolUse" => Some(Event::PreToolUse),
            "PostToolUse" => Some(Event::PostToolUse),
            "PostToolUseFailure" => Some(Event::PostToolUseFailure),
            "PreCompact" => Some(Event::PreCompact),
            "SessionEnd" => Some(Event::SessionEnd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "SessionStart",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::PostToolUseFailure => "PostToolUseFailure",
            Event::PreCompact => "PreCompact",
            Event::SessionEnd => "SessionEnd",
        }
    }
}

/// Why an input is ignored.
#[derive(Debug, Error)]
pub enum InputError {
    /// It cannot be read.
    #[error("cannot read the input of a hook")]
    Read(#[from] io::Error),
    /// It is larger than [`MOST_BYTES`].
    #[error("the input of a hook has more than {MOST_BYTES} bytes")]
    TooLarge,
    /// It is no JSON.
    #[error("the input of a hook is no JSON")]
    Json(#[from] serde_json::Error),
}

/// Reads the input of an event.
pub fn read(input: impl Read) -> Result<Value, InputError> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(InputError::TooLarge);
    }
    Ok(serde_json::from_slice(&bytes)?)
}

/// The client's JSON for a reply; `None` if there is nothing to say.
pub fn answer(event: Event, client: Client, reply: LocalReply) -> Option<Value> {
    let text = match reply {
        LocalReply::Context(text) => text,
        LocalReply::Hold(reason) => {
            return Some(json!({"hookSpecificOutput": {
                "hookEventName": event.name(), "permissionDecision": "deny", "permissionDecisionReason": reason
            }}));
        }
        LocalReply::Nothing | LocalReply::Tools(_) => return None,
    };
    match (event, client) {
        // Claude Code takes no context for the other events; text would be shown to the user.
        (Event::PreCompact | Event::SessionEnd, _) => None,
        (_, Client::ClaudeCode | Client::Codex) => Some(json!({
            "hookSpecificOutput": {"hookEventName": event.name(), "additionalContext": text}
        })),
        (_, Client::Opencode) => Some(json!({"context": text})),
    }
}
