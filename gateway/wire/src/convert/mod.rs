//! Conversion between the three wire formats, for backends that do not accept the client's format.
//!
//! Each format has a reader and a writer for one neutral form ([`mod@request`], [`answer`]). Three formats need three
//! pairs of these, where direct conversions would need six. Every conversion is a pure function of its input. The same
//! conversation is always written the same way, and an appended conversation keeps its beginning, so that the backend's
//! prompt cache keeps hitting.
//!
//! A request body is read once and written once. An [`AnswerConverter`] parses the backend's bytes into server-sent
//! events as they arrive, reads these into neutral events and writes the neutral events in the client's format.

pub mod answer;
mod chat;
mod converter;
mod estimate;
mod final_text;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod golden;
mod ids;
mod json_str;
mod messages;
mod order;
pub mod request;
mod responses;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod split_pairs;
mod sse;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use thiserror::Error;

use self::answer::{Answer, Event, Failure};
use self::request::{Dropped, Request};
use super::scan::{Body, Element, Members, elements};
use super::surrogates::well_formed;
use super::{ParseError, WireFormat};
pub use converter::AnswerConverter;
pub use estimate::estimate;
pub use final_text::{streamed_text, whole_text};

/// An error of the conversion of a request.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConvertError {
    /// The body is not a request of its format.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The request needs state that only a backend of its own format keeps.
    #[error("`{field}` needs state that only a {format} backend keeps; send the whole conversation instead")]
    HeldElsewhere {
        /// The field's path in the body.
        field: &'static str,
        /// The name of the request's format.
        format: &'static str,
    },
}

/// A request in the backend's format, with the context that converts its answer.
#[derive(Debug)]
pub struct Converted {
    /// The body to send.
    pub body: String,
    /// The fields that the backend's format cannot express.
    pub dropped: Dropped,
    /// The context for [`AnswerConverter`].
    pub context: AnswerContext,
}

/// The facts about a request that the conversion of its answer needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerContext {
    /// The answer's ULID. Each format adds its own prefix.
    pub id: String,
    /// The time of the answer, in seconds since the epoch.
    pub created: i64,
    /// The model's name in the client's request. The answer repeats it.
    pub model: String,
    /// Whether a chat client asked for usage at the end of its stream.
    pub stream_usage: bool,
    /// Tools that have another name in the backend's request.
    pub names: ToolNames,
    /// Tools that the client did not declare as plain functions, by their name in the neutral form.
    pub special: BTreeMap<String, SpecialTool>,
}

/// A tool of the responses format that is not a plain function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialTool {
    /// The tool's type for the client.
    pub kind: SpecialKind,
    /// The tool's namespace, if any.
    pub namespace: Option<String>,
    /// The tool's name in its namespace.
    pub name: String,
}

/// The type of a special tool, as the client declared it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialKind {
    /// A function in a namespace.
    Function,
    /// A tool of type `custom`. Its calls carry free text, which the function carries in `input`.
    Custom,
    /// A search for more tools, which the client runs.
    Search,
}

/// The rule of a format for the names of tools.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// The longest name, in bytes.
    pub longest: usize,
    /// Whether only ASCII letters, digits, `-` and `_` are allowed.
    pub plain: bool,
}

/// Replacement names of tools whose own name breaks the [`NameRule`] of the backend's format, mapped to their own
/// names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames(BTreeMap<String, String>);

impl ToolNames {
    /// Returns the name for the backend: the tool's own name if it follows the rule, else a replacement that ends in a
    /// hash of the own name.
    ///
    /// The replacement depends only on the name. It therefore stays the same through a conversation, and two tools
    /// whose names differ only in forbidden letters get two replacements.
    pub fn backend_name<'n>(&mut self, name: &'n str, rule: NameRule) -> Cow<'n, str> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        let fits = name.len() <= rule.longest && (!rule.plain || !name.is_empty() && name.chars().all(plain));
        if fits {
            return name.into();
        }
        let kept: String = match name {
            "" => "unknown".to_owned(),
            name if rule.plain => name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect(),
            name => name.to_owned(),
        };
        let hash = &blake3::hash(name.as_bytes()).to_hex()[..HASH_DIGITS];
        let end = kept.floor_char_boundary(rule.longest - HASH_DIGITS - 1);
        let replacement = format!("{}_{hash}", &kept[..end]);
        self.0.insert(replacement.clone(), name.to_owned());
        replacement.into()
    }

    /// Returns the client's name of a tool that the backend calls `backend_name`.
    pub fn client_name<'n>(&'n self, backend_name: &'n str) -> &'n str {
        self.0.get(backend_name).map_or(backend_name, String::as_str)
    }
}

/// The number of hash digits in a replacement name.
const HASH_DIGITS: usize = 12;

/// Converts a request's body, with or without injected blocks.
///
/// # Errors
/// [`ConvertError`] if the body is not a request of its format, or needs state that only a backend of that format
/// keeps.
pub fn request(from: WireFormat, to: WireFormat, body: &str) -> Result<Converted, ConvertError> {
    let (bytes, body) = (body.len(), read_body(from, body)?);
    let mut dropped = Dropped::default();
    let mut context = AnswerContext::default();
    let mut request = read_request(from, body, &mut dropped, &mut context)?;
    request.bytes = bytes;
    request.repair_arguments();
    context.model = request.model.clone().into_owned();
    context.stream_usage = request.stream_usage;
    let body = write_request(to, &request, &mut dropped, &mut context);
    Ok(Converted { body, dropped, context })
}

/// Writes one of Muninn's own requests. The context holds the replacement names of tools, for [`read_own_answer`].
///
/// Fields that the format cannot express are left out without a count, because the caller uses only common ones.
pub fn write_own_request(format: WireFormat, request: &Request<'_>) -> (String, AnswerContext) {
    let mut context = AnswerContext { model: request.model.clone().into_owned(), ..AnswerContext::default() };
    let body = write_request(format, request, &mut Dropped::default(), &mut context);
    (body, context)
}

/// Reads the whole answer to a request of [`write_own_request`]: the body of a successful response without a stream.
/// Calls have the names of the tools in the request.
///
/// # Errors
/// [`Failure`] if the body reports one or is not an answer of its format.
pub fn read_own_answer(format: WireFormat, context: &AnswerContext, body: &str) -> Result<Answer, Failure> {
    Answer::collect(converter::read_whole(&mut *reader(format), &context.names, body))
}

fn read_body(format: WireFormat, body: &str) -> Result<Body<'_>, ParseError> {
    Body::of(body.trim_ascii(), format.conversation()).map_err(|error| ParseError::Json(error.to_string()))
}

fn read_request<'a>(
    from: WireFormat,
    body: Body<'a>,
    dropped: &mut Dropped,
    context: &mut AnswerContext,
) -> Result<Request<'a>, ConvertError> {
    match from {
        WireFormat::Chat => chat::read_request(body, dropped),
        WireFormat::Messages => messages::read_request(body, dropped),
        WireFormat::Responses => responses::read_request(body, dropped, context),
    }
}

fn write_request(to: WireFormat, request: &Request<'_>, dropped: &mut Dropped, context: &mut AnswerContext) -> String {
    match to {
        WireFormat::Chat => chat::write_request(request, dropped, &mut context.names),
        WireFormat::Messages => messages::write_request(request, dropped, &mut context.names),
        WireFormat::Responses => responses::write_request(request, dropped, &mut context.names),
    }
}

/// The result of a call that the client sends no result for. Backends require one for every call.
const NO_RESULT: &str = "[no result: the call was interrupted]";

/// Returns the schema of a tool without arguments. Formats allow a missing schema, but not every server does.
fn empty_schema<'s>() -> &'s RawValue {
    serde_json::from_str(r#"{"type":"object","properties":{}}"#).unwrap_or(RawValue::NULL)
}

/// Checks that a message's content is a string, an array or a single part. If `optional`, the content may be missing or
/// null.
fn check_content(members: &Members<'_>, optional: bool, list: &'static str, index: usize) -> Result<(), ParseError> {
    let fits = match members.get("content") {
        None | Some("null") => optional,
        Some(content) => content.starts_with(['"', '[', '{']),
    };
    if fits { Ok(()) } else { Err(ParseError::Content { list, index }) }
}

/// Returns content as a list of parts. A single part is a list of one.
fn parts(raw: &RawValue) -> Vec<Element<'_>> {
    elements(raw.get()).unwrap_or_else(|| vec![Element::of(raw)])
}

/// Returns the JSON text of a tool result that is not a string, a part or a list. The model gets this text unchanged.
fn raw_result(content: Option<&RawValue>) -> Option<&str> {
    let content = content?.get();
    let is_part = || Members::of(content).is_some_and(|members| members.text("type").is_some());
    let is_read = content == "null" || content.starts_with(['"', '[']) || is_part();
    (!is_read).then_some(content)
}

/// Serializes a request body. `bytes` is the length of the client's body. The buffer is larger, because a buffer that
/// grows copies its content several times.
fn to_json(body: &impl Serialize, bytes: usize) -> String {
    let mut out = Vec::with_capacity(bytes + bytes / 8 + 1024);
    // Neither call can fail: all keys are strings, raw values were parsed as JSON, and JSON is UTF-8.
    serde_json::to_writer(&mut out, body).ok();
    let body = String::from_utf8(out).unwrap_or_default();
    // Raw values of the client (schemas, arguments) may hold half of a surrogate pair.
    match well_formed(&body) {
        Cow::Owned(repaired) => repaired,
        Cow::Borrowed(_) => body,
    }
}

/// Writes the events of an answer as a whole body.
pub fn write_whole(format: WireFormat, context: AnswerContext, events: Vec<Event>) -> String {
    // `collect` fails only on `Event::Failed`, which Muninn's own answers do not have.
    let answer = Answer::collect(events).unwrap_or_default();
    writer(format, context).whole(&answer)
}

/// Writes the events of an answer as a stream. Each string is one or more complete server-sent events.
pub fn write_stream(format: WireFormat, context: AnswerContext, events: Vec<Event>) -> Vec<String> {
    let mut writer = writer(format, context);
    let write = |event: Event| {
        let mut written = String::new();
        writer.event(&event, &mut written);
        written
    };
    events.into_iter().map(write).filter(|written| !written.is_empty()).collect()
}

/// Reads a backend's answer into neutral events.
trait ReadAnswer: Send {
    /// Reads one server-sent event: its `event:` name (`message` if it has none) and its data.
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>);

    /// Handles the end of the stream. Some backends leave out the last event. If the answer is complete without it, the
    /// reader closes the open blocks and adds [`Event::End`]; else it adds nothing.
    fn end(&mut self, events: &mut Vec<Event>);

    fn whole(&mut self, body: &str, events: &mut Vec<Event>);
}

/// Writes neutral events in the client's format.
trait WriteAnswer: Send {
    /// Writes an event as zero or more complete server-sent events.
    fn event(&mut self, event: &Event, out: &mut String);

    /// Returns the body of a whole answer.
    fn whole(&mut self, answer: &Answer) -> String;
}

fn reader(format: WireFormat) -> Box<dyn ReadAnswer> {
    match format {
        WireFormat::Chat => Box::new(chat::Reader::default()),
        WireFormat::Messages => Box::new(messages::Reader::default()),
        WireFormat::Responses => Box::new(responses::Reader::default()),
    }
}

fn writer(format: WireFormat, context: AnswerContext) -> Box<dyn WriteAnswer> {
    match format {
        WireFormat::Chat => Box::new(chat::Writer::new(context)),
        WireFormat::Messages => Box::new(messages::Writer::new(context)),
        WireFormat::Responses => Box::new(responses::Writer::new(context)),
    }
}
