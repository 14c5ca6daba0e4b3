//! Whole answers of our own, in each wire format, streamed and not: what the built-in model speaks.
//!
//! The event order follows the strictest clients: `message_start` with usage and empty content, dense block indices,
//! `finish_reason` and `[DONE]`, `response.output_item.done` and `response.completed`.

use serde_json::{Value, json};

use super::WireFormat;

/// A finished answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// A ULID; each format puts its own prefix before it.
    pub id: String,
    /// The model's name.
    pub model: String,
    /// Seconds since the epoch.
    pub created: i64,
    /// The text, in the pieces in which it is streamed.
    pub pieces: Vec<String>,
    /// Tokens of the question.
    pub input_tokens: u32,
    /// Tokens of the answer.
    pub output_tokens: u32,
}

impl Answer {
    fn text(&self) -> String {
        self.pieces.concat()
    }

    /// The body of an answer that is not streamed.
    #[must_use]
    pub fn whole(&self, format: WireFormat) -> String {
        match format {
            WireFormat::Chat => self.chat(),
            WireFormat::Messages => self.message(
                json!([{"type": "text", "text": self.text()}]),
                Some("end_turn"),
                self.output_tokens,
            ),
            WireFormat::Responses => self.response("completed"),
        }
        .to_string()
    }

    /// The events of a streamed answer, each ready to be written.
    #[must_use]
    pub fn events(&self, format: WireFormat) -> Vec<String> {
        match format {
            WireFormat::Chat => self.chat_events(),
            WireFormat::Messages => self.message_events(),
            WireFormat::Responses => self.response_events(),
        }
    }

    fn chat(&self) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.id), "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": self.text()}, "finish_reason": "stop"}],
            "usage": self.chat_usage(),
        })
    }

    fn chat_usage(&self) -> Value {
        json!({
            "prompt_tokens": self.input_tokens, "completion_tokens": self.output_tokens,
            "total_tokens": self.input_tokens + self.output_tokens,
        })
    }

    fn chat_events(&self) -> Vec<String> {
        let chunk = |choices: Value, usage: Value| {
            let chunk = json!({
                "id": format!("chatcmpl-{}", self.id), "object": "chat.completion.chunk", "created": self.created,
                "model": self.model, "choices": choices, "usage": usage,
            });
            format!("data: {chunk}\n\n")
        };
        let delta = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        let mut events = vec![chunk(
            delta(json!({"role": "assistant", "content": ""}), Value::Null),
            Value::Null,
        )];
        for piece in &self.pieces {
            events.push(chunk(delta(json!({"content": piece}), Value::Null), Value::Null));
        }
        events.push(chunk(delta(json!({}), json!("stop")), Value::Null));
        events.push(chunk(json!([]), self.chat_usage()));
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    fn message(&self, content: Value, stop_reason: Option<&str>, output_tokens: u32) -> Value {
        json!({
            "id": format!("msg_{}", self.id), "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": stop_reason, "stop_sequence": null,
            "usage": {
                "input_tokens": self.input_tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": output_tokens,
            },
        })
    }

    fn message_events(&self) -> Vec<String> {
        let mut events = vec![
            named("message_start", &json!({"message": self.message(json!([]), None, 0)})),
            named(
                "content_block_start",
                &json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
            ),
        ];
        for piece in &self.pieces {
            events.push(named(
                "content_block_delta",
                &json!({"index": 0, "delta": {"type": "text_delta", "text": piece}}),
            ));
        }
        events.push(named("content_block_stop", &json!({"index": 0})));
        let usage = json!({"input_tokens": self.input_tokens, "output_tokens": self.output_tokens});
        let delta = json!({"stop_reason": "end_turn", "stop_sequence": null});
        events.push(named("message_delta", &json!({"delta": delta, "usage": usage})));
        events.push(named("message_stop", &json!({})));
        events
    }

    fn item(&self, status: &str) -> Value {
        let content = match status {
            "completed" => json!([{"type": "output_text", "text": self.text(), "annotations": []}]),
            _ => json!([]),
        };
        json!({"id": format!("msg_{}", self.id), "type": "message", "role": "assistant", "status": status, "content": content})
    }

    fn response(&self, status: &str) -> Value {
        let done = status == "completed";
        let usage = json!({
            "input_tokens": self.input_tokens, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": self.output_tokens, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.input_tokens + self.output_tokens,
        });
        json!({
            "id": format!("resp_{}", self.id), "object": "response", "created_at": self.created, "status": status,
            "model": self.model, "output": if done { json!([self.item(status)]) } else { json!([]) },
            "error": null, "incomplete_details": null, "instructions": null, "metadata": {}, "parallel_tool_calls": true,
            "tool_choice": "auto", "tools": [], "usage": if done { usage } else { Value::Null },
        })
    }

    fn response_events(&self) -> Vec<String> {
        let item_id = format!("msg_{}", self.id);
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        let within = |mut event: Value| {
            event["item_id"] = json!(item_id);
            event["output_index"] = json!(0);
            event["content_index"] = json!(0);
            event
        };
        let mut events = vec![
            ("response.created", json!({"response": self.response("in_progress")})),
            (
                "response.in_progress",
                json!({"response": self.response("in_progress")}),
            ),
            (
                "response.output_item.added",
                json!({"output_index": 0, "item": self.item("in_progress")}),
            ),
            ("response.content_part.added", within(json!({"part": part("")}))),
        ];
        for piece in &self.pieces {
            events.push(("response.output_text.delta", within(json!({"delta": piece}))));
        }
        let text = self.text();
        events.push(("response.output_text.done", within(json!({"text": text}))));
        events.push(("response.content_part.done", within(json!({"part": part(&text)}))));
        events.push((
            "response.output_item.done",
            json!({"output_index": 0, "item": self.item("completed")}),
        ));
        events.push(("response.completed", json!({"response": self.response("completed")})));
        let numbered = |(number, (name, mut event)): (usize, (&str, Value))| {
            event["sequence_number"] = json!(number);
            named(name, &event)
        };
        events.into_iter().enumerate().map(numbered).collect()
    }
}

/// An event with its name on the `event:` line and in `type`, as both formats want it.
fn named(name: &str, event: &Value) -> String {
    let mut event = event.clone();
    event["type"] = json!(name);
    format!("event: {name}\ndata: {event}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        Answer {
            id: "01J".into(),
            model: "muninn/context".into(),
            created: 1,
            pieces: vec!["one\n".into(), "two".into()],
            input_tokens: 3,
            output_tokens: 2,
        }
    }

    fn data(event: &str) -> Option<Value> {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "))?;
        serde_json::from_str(data).ok()
    }

    #[test]
    fn streams_say_the_same_as_whole_answers() {
        let pointers = [
            (
                WireFormat::Chat,
                "/choices/0/delta/content",
                "/choices/0/message/content",
            ),
            (WireFormat::Messages, "/delta/text", "/content/0/text"),
            (WireFormat::Responses, "/delta", "/output/0/content/0/text"),
        ];
        for (format, piece, whole) in pointers {
            let streamed: String = answer()
                .events(format)
                .iter()
                .filter_map(|event| data(event)?.pointer(piece)?.as_str().map(str::to_owned))
                .collect();
            let body: Value = serde_json::from_str(&answer().whole(format)).unwrap();
            assert_eq!(streamed, "one\ntwo", "{format:?}");
            assert_eq!(
                body.pointer(whole).and_then(Value::as_str),
                Some("one\ntwo"),
                "{format:?}"
            );
        }
    }

    #[test]
    fn every_stream_has_its_closing_event() {
        let last = |format| answer().events(format).last().unwrap().clone();
        assert_eq!(last(WireFormat::Chat), "data: [DONE]\n\n");
        assert!(last(WireFormat::Messages).starts_with("event: message_stop\n"));
        assert!(last(WireFormat::Responses).starts_with("event: response.completed\n"));
    }
}
