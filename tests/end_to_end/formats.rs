//! The three wire formats as the tests of conversion speak them: requests with tools, a backend's answers with a call,
//! and [readers](reading).

mod reading;

use muninn_tests::{Gateway, Recorded, Reply, TestEnv, Upstream, answers};
use serde_json::{Value, json};

pub(crate) use reading::Answer;

use crate::MUNINN;

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
    /// The result of the call.
    Result(String),
}

/// The six pairs of different formats: the client's and the backend's.
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

/// A [`backend`] of each format at one address, named after its format, with further lines for each. It gets the models whose names
/// begin with its own.
pub(crate) fn backends(url: &str, more: &str) -> String {
    let entry = |format: Format| {
        let name = format.dialect();
        format!("{}{more}[[routes]]\nmodel = \"{name}*\"\nbackend = \"{name}\"\n", backend(name, url, format))
    };
    ALL.map(entry).concat()
}

/// A gateway before three [`backends`] that answer so.
pub(crate) fn serve(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> (Upstream, TestEnv, Gateway) {
    let upstream = Upstream::start_with(answer);
    let env = TestEnv::new(MUNINN);
    env.write_config(&backends(&upstream.url(), ""));
    let root = env.repository("demo", &[]);
    let gateway = env.serve(&root, &[]);
    (upstream, env, gateway)
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
