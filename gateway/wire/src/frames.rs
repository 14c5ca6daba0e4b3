//! The responses format over a WebSocket: a client's frame becomes the body of a request, and events become frames.
//!
//! A client sends only the items that are new since its newest response; the connection [keeps](Kept) the others. Sources:
//! OpenAI's guide "WebSocket mode", and what Codex 0.171 sends and reads.

use serde_json::{Value, json};

use super::error::ErrorKind;
use super::scan::Members;

/// The members of a frame that no request over HTTP has, and those that are written anew.
const OF_FRAMES: [&str; 6] = ["type", "previous_response_id", "generate", "stream_id", "stream", "input"];

/// A frame of a client.
#[derive(Debug)]
pub enum ClientFrame<'a> {
    /// Asks for a response.
    Create(Create<'a>),
    /// Ends the response that is being written.
    Interrupt,
}

/// A request for a response.
#[derive(Debug)]
pub struct Create<'a> {
    members: Members<'a>,
    /// The items of `input`, as JSON with commas between them.
    items: String,
}

/// The newest response of a connection, and all items of its conversation.
#[derive(Debug)]
pub struct Kept {
    /// The id of the response.
    pub id: String,
    /// The items, as JSON with commas between them.
    pub items: String,
}

/// Why a frame is refused.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The frame is no JSON object.
    #[error("the frame is no JSON object")]
    NotAnObject,
    /// The type of the frame has no meaning here.
    #[error("frames of the type `{0}` are not supported; there are `response.create` and `response.interrupt`")]
    UnknownType(String),
    /// The frame belongs to a lane of its own.
    #[error("`stream_id` is not supported: a connection has one stream")]
    StreamId,
    /// `input` is missing or has another type.
    #[error("`input` must be a text or a list of items")]
    Input,
    /// The connection does not hold the response that the frame continues.
    #[error("Previous response with id '{0}' not found.")]
    NotKept(String),
}

impl FrameError {
    /// The frame that tells the client.
    pub fn frame(&self) -> String {
        let (code, param) = match self {
            FrameError::NotAnObject | FrameError::UnknownType(_) => ("invalid_request", "type"),
            FrameError::StreamId => ("invalid_stream_id", "stream_id"),
            FrameError::Input => ("invalid_request", "input"),
            FrameError::NotKept(_) => ("previous_response_not_found", "previous_response_id"),
        };
        let error = json!({"type": "invalid_request_error", "code": code, "message": self.to_string(), "param": param});
        error_frame(400, error, json!({}))
    }
}

impl<'a> ClientFrame<'a> {
    /// Reads a frame.
    ///
    /// # Errors
    /// [`FrameError`], except [`FrameError::NotKept`].
    pub fn read(frame: &'a str) -> Result<ClientFrame<'a>, FrameError> {
        let members = Members::of(frame.trim()).ok_or(FrameError::NotAnObject)?;
        match &*members.string("type").unwrap_or_default() {
            "response.create" => {}
            "response.interrupt" => return Ok(ClientFrame::Interrupt),
            other => return Err(FrameError::UnknownType(other.to_owned())),
        }
        if members.present("stream_id").is_some() {
            return Err(FrameError::StreamId);
        }
        let items = items(members.get("input").unwrap_or("[]")).ok_or(FrameError::Input)?;
        Ok(ClientFrame::Create(Create { members, items }))
    }
}

/// The items of an `input`, with commas between them.
fn items(input: &str) -> Option<String> {
    let input = input.trim();
    if input.starts_with('"') {
        return Some(format!(r#"{{"type":"message","role":"user","content":{input}}}"#));
    }
    let list = input.strip_prefix('[')?.strip_suffix(']')?;
    Some(list.trim().to_owned())
}

/// Two lists of items as one.
fn joined(first: &str, second: &str) -> String {
    let comma = if first.is_empty() || second.is_empty() { "" } else { "," };
    [first, comma, second].concat()
}

impl Create<'_> {
    /// Whether an answer is wanted. Without it, the items are only kept.
    pub fn generates(&self) -> bool {
        self.members.parse("generate").unwrap_or(true)
    }

    /// The requested model, empty if there is none.
    pub fn model(&self) -> String {
        self.members.string("model").unwrap_or_default().into_owned()
    }

    /// The headers of the same request over HTTP, with which a client tells what its vendor reads: those of Codex's turn,
    /// and those of a trace.
    pub fn headers(&self) -> Vec<(String, String)> {
        let metadata = self.members.object("client_metadata");
        let header = |name: &str| {
            let of_turn = name.starts_with("x-codex-") || name.starts_with("x-openai-");
            if of_turn && !name.starts_with("x-codex-ws-") {
                return Some(name.to_owned());
            }
            let name = name.strip_prefix("ws_request_header_")?.replace('_', "-");
            (matches!(&*name, "traceparent" | "tracestate") || name.starts_with("x-openai-")).then_some(name)
        };
        let values = metadata.iter().filter_map(|(name, _)| Some((header(name)?, metadata.string(name)?.into_owned())));
        values.collect()
    }

    /// The items of the whole conversation.
    ///
    /// # Errors
    /// [`FrameError::NotKept`] if the frame continues another response than the one that is kept.
    pub fn conversation(&self, kept: Option<&Kept>) -> Result<String, FrameError> {
        let Some(id) = self.members.present("previous_response_id") else {
            return Ok(self.items.clone());
        };
        let id: String = serde_json::from_str(id.get()).unwrap_or_default();
        match kept.filter(|kept| kept.id == id) {
            Some(kept) => Ok(joined(&kept.items, &self.items)),
            None => Err(FrameError::NotKept(id)),
        }
    }

    /// The body of the request over HTTP, for a streamed answer. `conversation` has all its items.
    pub fn body(&self, conversation: &str) -> String {
        let mut body = String::with_capacity(conversation.len() + 1024);
        body.push('{');
        for (name, value) in self.members.iter().filter(|(name, _)| !OF_FRAMES.contains(name)) {
            body.extend([&*Value::from(name).to_string(), ":", value.get(), ","]);
        }
        body.extend([r#""stream":true,"input":["#, conversation, "]}"]);
        body
    }
}

/// The items of an answer, collected from its events.
#[derive(Debug, Default)]
pub struct AnswerItems {
    id: String,
    items: String,
    is_over: bool,
}

impl AnswerItems {
    /// Notes an event, and returns its frame; `None` for what is no event of the format.
    pub fn frame(&mut self, data: &str) -> Option<String> {
        let members = Members::of(data.trim())?;
        let kind = members.string("type")?;
        let response = members.object("response");
        self.id = response.non_empty("id").map_or_else(|| std::mem::take(&mut self.id), |id| id.into_owned());
        match &*kind {
            "response.output_item.done" => {
                self.items = joined(&self.items, members.get("item").unwrap_or_default());
            }
            "response.completed" | "response.incomplete" => {
                self.is_over = true;
                // Some servers repeat nothing item by item.
                if self.items.is_empty() {
                    self.items = response.get("output").and_then(items).unwrap_or_default();
                }
            }
            "response.failed" => self.fail(),
            "error" => {
                self.fail();
                // A client does not look at an error without a status.
                if members.present("error").is_none() || members.present("status").is_none() {
                    return Some(event_error(&members));
                }
            }
            _ => {}
        }
        // A line break inside of JSON is white space.
        Some(data.trim().to_owned())
    }

    fn fail(&mut self) {
        self.is_over = true;
        self.id.clear();
    }

    /// Whether the last event has arrived.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The id of the response, empty before it is known.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The conversation with this answer, for the connection to keep; `None` if the answer failed or has no id.
    pub fn kept(self, conversation: &str) -> Option<Kept> {
        (!self.id.is_empty()).then(|| Kept { items: joined(conversation, &self.items), id: self.id })
    }
}

/// An error event of a stream as a frame.
fn event_error(members: &Members<'_>) -> String {
    let error = match members.present("error") {
        Some(error) => serde_json::from_str(error.get()).unwrap_or_default(),
        None => {
            let text = |name| members.string(name);
            json!({"type": "server_error", "code": text("code"), "message": text("message"), "param": text("param")})
        }
    };
    error_frame(ErrorKind::Server.status().as_u16(), error, json!({}))
}

/// The frame of an answer with an error status: `body` is the answer's body, `headers` those that a client reads.
pub fn answer_error(status: u16, body: &[u8], headers: Value) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = match body.get("error") {
        Some(Value::Object(error)) => Value::Object(error.clone()),
        _ => {
            json!({"type": "server_error", "code": null, "message": format!("the backend answered with status {status}")})
        }
    };
    error_frame(status, error, headers)
}

fn error_frame(status: u16, error: Value, headers: Value) -> String {
    let mut frame = json!({"type": "error", "status": status, "error": error});
    if headers.as_object().is_some_and(|headers| !headers.is_empty()) {
        frame["headers"] = headers;
    }
    frame.to_string()
}

/// The frame with the headers of an answer that a client reads.
pub fn metadata(headers: Value) -> String {
    json!({"type": "response.metadata", "headers": headers}).to_string()
}

/// The frames of a response without output: to a request that only wants its items to be kept.
pub fn without_output(id: &str, model: &str, created: i64) -> [String; 2] {
    let response = |status: &str| json!({"id": id, "object": "response", "created_at": created, "status": status, "model": model, "output": []});
    let mut completed = response("completed");
    completed["usage"] = json!({
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 0,
    });
    [
        json!({"type": "response.created", "sequence_number": 0, "response": response("in_progress")}).to_string(),
        json!({"type": "response.completed", "sequence_number": 1, "response": completed}).to_string(),
    ]
}

/// The last frame of a response that the client interrupted.
pub fn interrupted(id: &str) -> String {
    let response = json!({
        "id": id, "object": "response", "status": "incomplete", "output": [],
        "incomplete_details": {"reason": "interrupted"},
    });
    json!({"type": "response.incomplete", "response": response}).to_string()
}
