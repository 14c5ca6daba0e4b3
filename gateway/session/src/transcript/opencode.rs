//! The messages of an opencode session, as its plugin passes them: `{"info": {"role"}, "parts": [...]}`.
//!
//! opencode keeps one part per tool call, with the call and its result. The Messages API has two: the call in the
//! agent's message, and the result in the next message of the user.

use serde_json::{Value, json};

use super::Transcript;

pub(super) fn take(message: &Value, transcript: &mut Transcript) {
    let Some(parts) = message["parts"].as_array() else {
        return;
    };
    match message["info"]["role"].as_str() {
        Some("user") => {
            let texts: Vec<Value> = parts.iter().filter_map(text).collect();
            if !texts.is_empty() {
                transcript.push(json!({"role": "user", "content": texts}).to_string());
            }
        }
        Some("assistant") => take_answer(parts, transcript),
        _ => {}
    }
}

/// Takes the parts of an agent's message. Results follow the calls before the next text.
fn take_answer(parts: &[Value], transcript: &mut Transcript) {
    let (mut said, mut results) = (Vec::new(), Vec::new());
    for part in parts {
        match part["type"].as_str() {
            Some("text") => {
                flush(&mut said, &mut results, transcript);
                said.extend(text(part));
            }
            Some("tool") => {
                let (id, state) = (&part["callID"], &part["state"]);
                said.push(json!({"type": "tool_use", "id": id, "name": part["tool"], "input": state["input"]}));
                results.push(result(id, state));
            }
            _ => {}
        }
    }
    flush(&mut said, &mut results, transcript);
    if !said.is_empty() {
        transcript.push(json!({"role": "assistant", "content": said}).to_string());
    }
}

/// Pushes the calls so far with their results, if there are any.
fn flush(said: &mut Vec<Value>, results: &mut Vec<Value>, transcript: &mut Transcript) {
    if results.is_empty() {
        return;
    }
    transcript.push(json!({"role": "assistant", "content": std::mem::take(said)}).to_string());
    transcript.push(json!({"role": "user", "content": std::mem::take(results)}).to_string());
}

/// A text part that a person or the agent wrote. Plugins write the others.
fn text(part: &Value) -> Option<Value> {
    let is_synthetic = part["synthetic"] == true || part["ignored"] == true;
    let text = part["text"].as_str().filter(|_| part["type"] == "text" && !is_synthetic)?;
    Some(json!({"type": "text", "text": text}))
}

fn result(id: &Value, state: &Value) -> Value {
    let failed = state["status"] == "error" || state["metadata"]["exit"].as_i64().is_some_and(|code| code != 0);
    let text = state["output"].as_str().or_else(|| state["error"].as_str());
    json!({"type": "tool_result", "tool_use_id": id, "content": text.unwrap_or_default(), "is_error": failed})
}
