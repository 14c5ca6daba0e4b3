//! The three wire formats as the tests of conversion speak them: requests with tools, a backend's answers with a call,
//! and readers that accept only what a strict client would.

use muninn_tests::{Recorded, Reply, answers};
use serde_json::{Value, json};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Chat,
    Messages,
    Responses,
}

pub(crate) const ALL: [Format; 3] = [Format::Chat, Format::Messages, Format::Responses];

/// What the backend says before it calls.
pub(crate) const WORDS: &str = "Let me look — für dich.";
/// The tool, and the arguments of the call.
pub(crate) const TOOL: &str = "look";
pub(crate) const ARGUMENTS: &str = r#"{"path":"src/lib.rs"}"#;

/// One turn of a conversation.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// A person's words.
    User(String),
    /// The model's words and its call, by the call's id.
    Called(String),
    /// What came of the call.
    Result(String),
}

/// The six pairs of a client's format and a backend's other one.
pub(crate) fn pairs() -> impl Iterator<Item = (Format, Format)> {
    ALL.into_iter()
        .flat_map(|client| ALL.map(|backend| (client, backend)))
        .filter(|(client, backend)| client != backend)
}

/// All nine.
pub(crate) fn all_pairs() -> impl Iterator<Item = (Format, Format)> {
    ALL.into_iter().flat_map(|client| ALL.map(|backend| (client, backend)))
}

/// A `[[backends]]` entry that speaks only this format.
pub(crate) fn backend(name: &str, url: &str, format: Format) -> String {
    format!(
        "[[backends]]\nname = \"{name}\"\nurl = \"{url}\"\ndialect = \"{}\"\ndefault_model = \"mock-1\"\n",
        format.dialect()
    )
}

impl Format {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Format::Chat => "/v1/chat/completions",
            Format::Messages => "/v1/messages",
            Format::Responses => "/v1/responses",
        }
    }

    pub(crate) fn dialect(self) -> &'static str {
        match self {
            Format::Chat => "chat",
            Format::Messages => "messages",
            Format::Responses => "responses",
        }
    }

    /// Where a body of this format keeps the conversation.
    pub(crate) fn conversation(self) -> &'static str {
        match self {
            Format::Responses => "input",
            Format::Chat | Format::Messages => "messages",
        }
    }

    /// A request with a system prompt, a tool, and one member that no format knows.
    pub(crate) fn request(self, model: &str, streamed: bool, turns: &[Turn]) -> String {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let mut said: Vec<Value> = turns.iter().flat_map(|turn| self.turn(turn)).collect();
        let mut body = match self {
            Format::Chat => {
                said.insert(0, json!({"role": "system", "content": "Be brief."}));
                json!({"tools": [{"type": "function", "function": {"name": TOOL, "description": "Looks.", "parameters": schema}}]})
            }
            Format::Messages => json!({
                "system": "Be brief.",
                "max_tokens": 1000,
                "tools": [{"name": TOOL, "description": "Looks.", "input_schema": schema}],
            }),
            Format::Responses => json!({
                "instructions": "Be brief.",
                "tools": [{"type": "function", "name": TOOL, "description": "Looks.", "parameters": schema, "strict": false}],
            }),
        };
        body["model"] = model.into();
        body["stream"] = streamed.into();
        body["frobnication"] = 7.into();
        body[self.conversation()] = said.into();
        body.to_string()
    }

    fn turn(self, turn: &Turn) -> Vec<Value> {
        let arguments: Value = serde_json::from_str(ARGUMENTS).unwrap();
        match (self, turn) {
            (Format::Responses, Turn::User(words)) => {
                vec![json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]})]
            }
            (_, Turn::User(words)) => vec![json!({"role": "user", "content": words})],
            (Format::Chat, Turn::Called(id)) => vec![json!({"role": "assistant", "content": WORDS,
                "tool_calls": [{"id": id, "type": "function", "function": {"name": TOOL, "arguments": ARGUMENTS}}]})],
            (Format::Messages, Turn::Called(id)) => vec![json!({"role": "assistant", "content": [
                {"type": "text", "text": WORDS}, {"type": "tool_use", "id": id, "name": TOOL, "input": arguments}]})],
            (Format::Responses, Turn::Called(id)) => vec![
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": WORDS}]}),
                json!({"type": "function_call", "call_id": id, "name": TOOL, "arguments": ARGUMENTS}),
            ],
            (Format::Chat, Turn::Result(id)) => {
                vec![json!({"role": "tool", "tool_call_id": id, "content": "pub mod parser;"})]
            }
            (Format::Messages, Turn::Result(id)) => vec![json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": "pub mod parser;"}]})],
            (Format::Responses, Turn::Result(id)) => {
                vec![json!({"type": "function_call_output", "call_id": id, "output": "pub mod parser;"})]
            }
        }
    }

    /// The answer with a call, as a backend of this format streams it.
    pub(crate) fn streamed_call(self) -> String {
        let (words, arguments) = (Value::from(WORDS), Value::from(ARGUMENTS));
        let events: Vec<String> = match self {
            Format::Chat => [
                r#"{"role":"assistant","content":""}"#.to_owned(),
                format!(r#"{{"content":{words}}}"#),
                format!(r#"{{"tool_calls":[{{"index":0,"id":"call_1","type":"function","function":{{"name":"{TOOL}","arguments":""}}}}]}}"#),
                format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{arguments}}}}}]}}"#),
            ]
            .into_iter()
            .map(|delta| (delta, "null"))
            .chain([("{}".to_owned(), "\"tool_calls\"")])
            .map(|(delta, why)| {
                format!(r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"mock-1","choices":[{{"index":0,"delta":{delta},"finish_reason":{why}}}]}}"#)
            })
            .chain([r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"mock-1","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":5,"total_tokens":16}}"#.to_owned(), "[DONE]".to_owned()])
            .collect(),
            Format::Messages => vec![
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"mock-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":1}}}"#.to_owned(),
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
                r#"{"type":"ping"}"#.to_owned(),
                format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{words}}}}}"#),
                r#"{"type":"content_block_stop","index":0}"#.to_owned(),
                format!(r#"{{"type":"content_block_start","index":1,"content_block":{{"type":"tool_use","id":"toolu_1","name":"{TOOL}","input":{{}}}}}}"#),
                format!(r#"{{"type":"content_block_delta","index":1,"delta":{{"type":"input_json_delta","partial_json":{arguments}}}}}"#),
                r#"{"type":"content_block_stop","index":1}"#.to_owned(),
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}"#.to_owned(),
                r#"{"type":"message_stop"}"#.to_owned(),
            ],
            Format::Responses => {
                let message = format!(r#"{{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{{"type":"output_text","text":{words},"annotations":[]}}]}}"#);
                let call = format!(r#"{{"id":"fc_1","type":"function_call","call_id":"call_1","name":"{TOOL}","arguments":{arguments},"status":"completed"}}"#);
                let response = |status: &str, output: &str, more: &str| {
                    format!(r#"{{"id":"resp_1","object":"response","created_at":1,"status":"{status}","model":"mock-1","output":[{output}]{more}}}"#)
                };
                let usage = r#","usage":{"input_tokens":11,"output_tokens":5,"total_tokens":16}"#;
                [
                    format!(r#""response.created","response":{}"#, response("in_progress", "", "")),
                    r#""response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","status":"in_progress","content":[]}"#.to_owned(),
                    r#""response.content_part.added","output_index":0,"content_index":0,"item_id":"msg_1","part":{"type":"output_text","text":"","annotations":[]}"#.to_owned(),
                    format!(r#""response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_1","delta":{words}"#),
                    format!(r#""response.output_text.done","output_index":0,"content_index":0,"item_id":"msg_1","text":{words}"#),
                    format!(r#""response.output_item.done","output_index":0,"item":{message}"#),
                    format!(r#""response.output_item.added","output_index":1,"item":{{"id":"fc_1","type":"function_call","call_id":"call_1","name":"{TOOL}","arguments":"","status":"in_progress"}}"#),
                    format!(r#""response.function_call_arguments.delta","output_index":1,"item_id":"fc_1","delta":{arguments}"#),
                    format!(r#""response.function_call_arguments.done","output_index":1,"item_id":"fc_1","arguments":{arguments}"#),
                    format!(r#""response.output_item.done","output_index":1,"item":{call}"#),
                    format!(r#""response.completed","response":{}"#, response("completed", &format!("{message},{call}"), usage)),
                ]
                .into_iter()
                .enumerate()
                .map(|(number, rest)| format!(r#"{{"sequence_number":{number},"type":{rest}}}"#))
                .collect()
            }
        };
        events.iter().map(|data| self.event(data)).collect()
    }

    /// One event of a stream, named where the format names them.
    pub(crate) fn event(self, data: &str) -> String {
        match (self, serde_json::from_str::<Value>(data)) {
            (Format::Messages | Format::Responses, Ok(value)) if value["type"].is_string() => {
                format!("event: {}\ndata: {data}\n\n", value["type"].as_str().unwrap())
            }
            _ => format!("data: {data}\n\n"),
        }
    }

    /// The answer with a call, whole.
    pub(crate) fn whole_call(self) -> String {
        let arguments: Value = serde_json::from_str(ARGUMENTS).unwrap();
        match self {
            Format::Chat => json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "mock-1",
                "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": WORDS,
                    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": TOOL, "arguments": ARGUMENTS}}]}}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}}),
            Format::Messages => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-1",
                "content": [{"type": "text", "text": WORDS}, {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": arguments}],
                "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 11, "output_tokens": 5}}),
            Format::Responses => json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "mock-1",
                "output": [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": WORDS, "annotations": []}]},
                    {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": TOOL, "arguments": ARGUMENTS, "status": "completed"}],
                "usage": {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16}}),
        }
        .to_string()
    }

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
        let mut answer = Answer {
            model: body["model"].as_str().expect("a model").to_owned(),
            ..Answer::default()
        };
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

    /// What this format calls a stop for a call.
    pub(crate) fn stopped_for_a_call(self) -> &'static str {
        match self {
            Format::Chat => "tool_calls",
            Format::Messages => "tool_use",
            Format::Responses => "completed",
        }
    }
}

/// Answers every conversation request with [`WORDS`] and a call, in the format of its path.
pub(crate) fn call(request: &Recorded) -> Reply {
    let Some(format) = ALL.into_iter().find(|format| request.target == format.path()) else {
        return answers::ok(request);
    };
    if answers::wants_stream(&request.body) {
        Reply::new(200, "text/event-stream", format.streamed_call())
    } else {
        Reply::json(200, format.whole_call())
    }
}

/// What a client has read.
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
        self.calls.push((
            id.as_str().unwrap().to_owned(),
            name.as_str().unwrap().to_owned(),
            arguments.to_owned(),
        ));
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

/// The events of a stream by name and data, without comments. Panics at anything that is none, and at a cut-off one.
pub(crate) fn events(text: &str) -> Vec<(String, String)> {
    assert!(
        text.is_empty() || text.ends_with("\n\n"),
        "a stream ends with a whole event: {text}"
    );
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
            assert!(
                chunk["error"]["message"].is_string() && chunk["error"]["type"].is_string(),
                "{chunk}"
            );
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
    assert!(
        answer.failed.is_some() || answer.stop.is_string(),
        "no reason to stop: {events:?}"
    );
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
                assert!(
                    event["error"]["message"].is_string() && event["error"]["type"].is_string(),
                    "{event}"
                );
                answer.failed = Some(event["error"].clone());
                ended = true;
            }
            "message_start" => {
                assert!(events[..number].iter().all(|(name, _)| name == "ping"), "{events:?}");
                let message = &event["message"];
                assert_eq!(message["content"], json!([]));
                assert!(
                    message["usage"]["input_tokens"].is_u64() && message["id"].is_string(),
                    "{event}"
                );
                answer.model = message["model"].as_str().unwrap().to_owned();
            }
            "content_block_start" => {
                assert!(
                    open.is_none() && event["index"] == blocks && !answer.model.is_empty(),
                    "{events:?}"
                );
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
            assert!(
                event["message"].is_string() || event["error"]["message"].is_string(),
                "{event}"
            );
            answer.failed = Some(event.clone());
            ended = true;
            continue;
        }
        // A gateway that ends another's stream has not counted its events.
        assert!(
            event["sequence_number"] == number || name == "response.failed",
            "{events:?}"
        );
        assert!(
            number > 0 || name == "response.created" || name == "response.failed",
            "{events:?}"
        );
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
