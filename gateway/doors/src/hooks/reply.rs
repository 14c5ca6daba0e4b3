use std::io::{self, Read};

use muninn_core::LocalReply;
use muninn_session::transcript::Client;
use muninn_wire::{NotJson, lenient};
use serde_json::{Value, json};
use thiserror::Error;

use super::event::Event;

/// The largest input in bytes. opencode's plugin passes a whole conversation.
const MOST_BYTES: u64 = 16 << 20;

/// Why an input is ignored.
#[derive(Debug, Error)]
pub enum InputError {
    /// It cannot be read.
    #[error("cannot read the input of a hook")]
    Read(#[from] io::Error),
    /// It is larger than `MOST_BYTES`.
    #[error("the input of a hook has more than {MOST_BYTES} bytes")]
    TooLarge,
    /// It is no JSON.
    #[error("the input of a hook is no JSON")]
    Json(#[from] NotJson),
}

/// Reads the input of an event.
pub fn read(input: impl Read) -> Result<Value, InputError> {
    let mut bytes = Vec::new();
    input.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(InputError::TooLarge);
    }
    let text = lenient(&bytes)?;
    Ok(serde_json::from_str(&text).map_err(NotJson::from)?)
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

#[cfg(test)]
mod tests;
