//! The tokens of a request in the neutral form.
//!
//! The estimate counts everything that the model sees: text, tools and their results. With an estimate that is too low,
//! the client never compacts. With one that is too high, it compacts in the middle of a task.

use super::request::{Part, Request, Source};

/// Tokens of an image: the maximum that Anthropic documents (width x height / 750, after scaling down). The image's
/// size is not read.
const IMAGE: u64 = 1_600;
/// Characters of base64 per token of a document. A PDF page has about 60 kB and 1,500 tokens.
const DOCUMENT_CHARACTERS: u64 = 40;
/// Bytes of text per token: English and code have 3.5 to 4.5, Russian about 4, Chinese about 3.
const BYTES: u64 = 4;
/// Tokens that chat templates add to a message.
const AROUND_MESSAGE: u64 = 4;
/// Tokens that chat templates add to a tool's definition.
const AROUND_TOOL: u64 = 8;

/// Estimates a request's tokens from the lengths of its texts. A tokenizer needs a tenth of a second for a long
/// conversation, too much for a number that the backend's count replaces.
pub(super) fn rough_estimate(request: &Request<'_>) -> u64 {
    request_tokens(request, &|text| (text.len() as u64).div_ceil(BYTES))
}

/// Adds up the tokens of a request. `count` returns the tokens of a text.
pub(super) fn request_tokens(request: &Request<'_>, count: &dyn Fn(&str) -> u64) -> u64 {
    let messages = request.messages.iter().map(|message| AROUND_MESSAGE + parts_tokens(&message.parts, count));
    let tools = request.tools.iter().map(|tool| {
        let description = tool.description.as_deref().map_or(0, count);
        let schema = tool.schema.as_deref().map_or(0, |schema| count(schema.get()));
        AROUND_TOOL + count(&tool.name) + description + schema
    });
    messages.chain(tools).sum()
}

fn parts_tokens(parts: &[Part<'_>], count: &dyn Fn(&str) -> u64) -> u64 {
    parts.iter().map(|part| part_tokens(part, count)).sum()
}

fn part_tokens(part: &Part<'_>, count: &dyn Fn(&str) -> u64) -> u64 {
    match part {
        Part::Text { text, .. } => count(&text.decode()),
        Part::Image { .. } => IMAGE,
        Part::Document { source, .. } => match source {
            Source::Text(text) => count(text),
            Source::Base64 { data, .. } => data.len() as u64 / DOCUMENT_CHARACTERS,
            Source::Url(_) | Source::File(_) => IMAGE,
        },
        Part::Thinking(thinking) => count(&thinking.text),
        Part::ToolCall(call) => count(&call.name) + count(&call.arguments),
        Part::ToolResult(result) => AROUND_MESSAGE + parts_tokens(&result.parts, count),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::WireFormat::{self, Chat, Messages, Responses};
    use crate::convert::golden::parsed;
    use crate::convert::{AnswerConverter, request};

    /// The usage in `message_start` and in the last `message_delta` of a converted stream.
    fn usage(spoken: WireFormat, body: &Value, answer: &str) -> [Value; 2] {
        let converted = request(Messages, spoken, &body.to_string()).unwrap();
        let stream = AnswerConverter::new(spoken, Messages, converted.context).whole_as_stream(answer);
        let events: Vec<Value> =
            parsed(&stream).into_iter().map(|(_, data)| serde_json::from_str(&data).unwrap()).collect();
        let find = |kind: &str| events.iter().rfind(|event| event["type"] == kind).unwrap();
        [find("message_start")["message"]["usage"].clone(), find("message_delta")["usage"].clone()]
    }

    #[test]
    fn converted_stream_begins_with_an_estimate_and_ends_with_the_backends_count() {
        let chat = r#"{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":77,"completion_tokens":2}}"#;
        let responses = r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}],"usage":{"input_tokens":77,"output_tokens":2}}"#;
        let text = "x".repeat(400);
        let message = |content: Value| json!({"role": "user", "content": content});
        let tool = json!({"name": "look", "description": &text, "input_schema": {"type": "object", "properties": {}}});
        let image = json!({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}});
        for (more, tokens) in [
            (json!({"messages": [message(json!(&text))]}), 104),
            (json!({"messages": [message(json!(&text))], "system": &text}), 208),
            (json!({"messages": [message(json!(&text))], "tools": [tool]}), 222),
            (json!({"messages": [message(json!([image]))]}), 1604),
        ] {
            for (spoken, answer) in [(Chat, chat), (Responses, responses)] {
                let mut body = json!({"model": "m", "max_tokens": 99, "stream": true});
                body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let [start, end] = usage(spoken, &body, answer);
                assert_eq!(
                    (&start["input_tokens"], &start["output_tokens"]),
                    (&json!(tokens), &json!(0)),
                    "{spoken:?} {more:.90}"
                );
                assert_eq!((&end["input_tokens"], &end["output_tokens"]), (&json!(77), &json!(2)), "{spoken:?}");
            }
        }
    }

    #[test]
    fn only_streams_of_messages_need_an_estimate() {
        for (from, stream, is_estimated) in
            [(Messages, true, true), (Messages, false, false), (Chat, true, false), (Responses, true, false)]
        {
            let turns = json!([{"role": "user", "content": "a"}]);
            let body = json!({"model": "m", "max_tokens": 9, "stream": stream, from.conversation(): turns});
            for to in [Chat, Messages, Responses].into_iter().filter(|to| *to != from) {
                let context = request(from, to, &body.to_string()).unwrap().context;
                assert_eq!(context.input_tokens.is_some(), is_estimated, "{from:?} to {to:?}, {stream}");
            }
        }
    }
}
