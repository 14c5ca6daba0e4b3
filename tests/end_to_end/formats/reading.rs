//! Readers of answers that accept only what a strict client would.

use serde_json::{Value, json};

use super::Format;

/// An answer as a client reads it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) model: String,
    pub(crate) text: String,
    /// Id, name and arguments.
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) stop: Value,
    /// The error that ended the stream.
    pub(crate) failed: Option<Value>,
}

impl Answer {
    fn called(&mut self, id: &Value, name: &Value, arguments: &str) {
        self.calls.push((id.as_str().unwrap().to_owned(), name.as_str().unwrap().to_owned(), arguments.to_owned()));
    }

    fn chat_choice(&mut self, message: &Value) {
        self.text.push_str(message["content"].as_str().unwrap_or_default());
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let arguments = function["arguments"].as_str().unwrap_or_default();
            if call["id"].is_string() {
                self.called(&call["id"], &function["name"], arguments);
            } else {
                let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
                self.calls[index].2.push_str(arguments);
            }
        }
    }

    fn content(&mut self, content: &Value) {
        for part in content.as_array().unwrap() {
            match part["type"].as_str() {
                Some("text") => self.text.push_str(part["text"].as_str().unwrap()),
                Some("tool_use") => self.called(&part["id"], &part["name"], &part["input"].to_string()),
                _ => panic!("{part}"),
            }
        }
    }

    fn output(&mut self, output: &Value) {
        for item in output.as_array().unwrap() {
            match item["type"].as_str() {
                Some("message") => self.text.push_str(item["content"][0]["text"].as_str().unwrap()),
                Some("function_call") => {
                    self.called(&item["call_id"], &item["name"], item["arguments"].as_str().unwrap());
                }
                _ => panic!("{item}"),
            }
        }
    }
}

impl Format {
    /// Reads a stream. Panics unless it is well-formed up to its end, where the end may be an error of the format.
    pub(crate) fn read_stream(self, text: &str) -> Answer {
        let events = events(text);
        match self {
            Format::Chat => read_chat_stream(&events),
            Format::Messages => read_messages_stream(&events),
            Format::Responses => read_responses_stream(&events),
        }
    }

    /// Reads a whole answer.
    pub(crate) fn read_whole(self, body: &Value) -> Answer {
        let mut answer = Answer { model: body["model"].as_str().expect("a model").to_owned(), ..Answer::default() };
        match self {
            Format::Chat => answer.chat_choice(&body["choices"][0]["message"]),
            Format::Messages => answer.content(&body["content"]),
            Format::Responses => answer.output(&body["output"]),
        }
        answer.stop = match self {
            Format::Chat => body["choices"][0]["finish_reason"].clone(),
            Format::Messages => body["stop_reason"].clone(),
            Format::Responses => body["status"].clone(),
        };
        answer
    }
}

/// The events of a stream by name and data, without comments. Panics at anything that is none, and at a cut-off one.
fn events(text: &str) -> Vec<(String, String)> {
    assert!(text.is_empty() || text.ends_with("\n\n"), "a stream ends with a whole event: {text}");
    let mut events = Vec::new();
    for event in text.split("\n\n").filter(|event| !event.is_empty()) {
        let (mut name, mut data) = ("message", None);
        for line in event.lines() {
            if let Some(value) = line.strip_prefix("event: ") {
                name = value;
            } else if let Some(value) = line.strip_prefix("data: ") {
                assert!(data.replace(value).is_none(), "one line of data: {event}");
            } else {
                assert!(line.starts_with(':'), "not a line of an event: {line:?} in {text}");
            }
        }
        events.extend(data.map(|data| (name.to_owned(), data.to_owned())));
    }
    events
}

fn parsed(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))
}

fn read_chat_stream(events: &[(String, String)]) -> Answer {
    let mut answer = Answer::default();
    let mut done = false;
    for (name, data) in events {
        assert!(name == "message" && !done, "{name} {data}");
        if data == "[DONE]" {
            done = true;
            continue;
        }
        let chunk = parsed(data);
        assert!(answer.failed.is_none(), "nothing but [DONE] follows an error: {data}");
        if chunk["error"].is_object() {
            assert!(chunk["error"]["message"].is_string() && chunk["error"]["type"].is_string(), "{chunk}");
            answer.failed = Some(chunk["error"].clone());
            continue;
        }
        assert_eq!(chunk["object"], "chat.completion.chunk");
        answer.model = chunk["model"].as_str().unwrap().to_owned();
        let choice = &chunk["choices"][0];
        answer.chat_choice(&choice["delta"]);
        if choice["finish_reason"].is_string() {
            answer.stop = choice["finish_reason"].clone();
        }
    }
    assert!(done || answer.failed.is_some(), "no end: {events:?}");
    assert!(answer.failed.is_some() || answer.stop.is_string(), "no reason to stop: {events:?}");
    answer
}

fn read_messages_stream(events: &[(String, String)]) -> Answer {
    let mut answer = Answer::default();
    let (mut ended, mut open, mut blocks) = (false, None, 0);
    for (number, (name, data)) in events.iter().enumerate() {
        let event = parsed(data);
        assert_eq!(event["type"], name.as_str(), "{data}");
        assert!(!ended, "after the end: {data}");
        match name.as_str() {
            "ping" => {}
            "error" => {
                assert!(event["error"]["message"].is_string() && event["error"]["type"].is_string(), "{event}");
                answer.failed = Some(event["error"].clone());
                ended = true;
            }
            "message_start" => {
                assert!(events[..number].iter().all(|(name, _)| name == "ping"), "{events:?}");
                let message = &event["message"];
                assert_eq!(message["content"], json!([]));
                assert!(message["usage"]["input_tokens"].is_u64() && message["id"].is_string(), "{event}");
                answer.model = message["model"].as_str().unwrap().to_owned();
            }
            "content_block_start" => {
                assert!(open.is_none() && event["index"] == blocks && !answer.model.is_empty(), "{events:?}");
                blocks += 1;
                let block = &event["content_block"];
                open = Some(block["type"].clone());
                if block["type"] == "tool_use" {
                    assert_eq!(block["input"], json!({}), "arguments come as deltas only");
                    answer.called(&block["id"], &block["name"], "");
                }
            }
            "content_block_delta" => {
                assert!(open.is_some() && event["index"] == blocks - 1, "{events:?}");
                let delta = &event["delta"];
                match delta["type"].as_str() {
                    Some("text_delta") => answer.text.push_str(delta["text"].as_str().unwrap()),
                    Some("input_json_delta") => {
                        answer.calls.last_mut().unwrap().2 += delta["partial_json"].as_str().unwrap();
                    }
                    _ => panic!("{delta}"),
                }
            }
            "content_block_stop" => assert!(open.take().is_some() && event["index"] == blocks - 1, "{events:?}"),
            "message_delta" => {
                assert!(open.is_none() && event["usage"]["output_tokens"].is_u64(), "{events:?}");
                answer.stop = event["delta"]["stop_reason"].clone();
            }
            "message_stop" => {
                assert!(answer.stop.is_string() && open.is_none(), "{events:?}");
                ended = true;
            }
            _ => panic!("{event}"),
        }
    }
    assert!(ended, "no end: {events:?}");
    answer
}

fn read_responses_stream(events: &[(String, String)]) -> Answer {
    let mut answer = Answer::default();
    let mut ended = false;
    for (number, (name, data)) in events.iter().enumerate() {
        let event = parsed(data);
        assert!(!ended && event["type"] == name.as_str(), "{data}");
        if name == "error" {
            assert!(event["message"].is_string() || event["error"]["message"].is_string(), "{event}");
            answer.failed = Some(event.clone());
            ended = true;
            continue;
        }
        // A gateway that ends another's stream has not counted its events.
        assert!(event["sequence_number"] == number || name == "response.failed", "{events:?}");
        assert!(number > 0 || name == "response.created" || name == "response.failed", "{events:?}");
        let response = &event["response"];
        if let Some(model) = response["model"].as_str() {
            model.clone_into(&mut answer.model);
        }
        match name.as_str() {
            "response.completed" | "response.incomplete" => {
                answer.stop = response["status"].clone();
                answer.output(&response["output"]);
                ended = true;
            }
            "response.failed" => {
                assert!(response["error"]["message"].is_string(), "{event}");
                answer.failed = Some(response["error"].clone());
                ended = true;
            }
            _ => {}
        }
    }
    assert!(ended, "no end: {events:?}");
    answer
}
