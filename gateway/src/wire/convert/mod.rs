//! Conversion between the three wire formats, for backends that do not speak the client's.
//!
//! Each format knows how to read and write itself against one neutral form ([`mod@request`], [`answer`]), so three formats
//! are six readers and writers and not six pairs of each. Everything is a pure function of its input: the same
//! conversation is written the same way each time, and one that was appended to keeps its beginning, so that the
//! backend's prompt cache keeps hitting.
//!
//! On the way there a body is read once and written once. On the way back an [`AnswerConverter`] takes the backend's bytes
//! as they come, cuts them into events, reads these into neutral ones and writes those for the client.

pub mod answer;
mod chat;
mod converter;
#[cfg(test)]
mod cut_pairs;
mod estimate;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
pub(crate) mod golden;
mod ids;
mod json_str;
mod messages;
mod order;
pub mod request;
mod responses;
#[cfg(test)]
mod shapes;
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

/// Why a request cannot be converted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConvertError {
    /// It is not a request of its format.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// It refers to something that only a backend of its own format holds.
    #[error("`{field}` refers to what only a {format} backend can hold; send the conversation itself")]
    HeldElsewhere {
        /// The field.
        field: &'static str,
        /// The format's name.
        format: &'static str,
    },
}

/// A request in the backend's format, and what is needed to bring the answer back.
#[derive(Debug)]
pub struct Converted {
    /// The body to send.
    pub body: String,
    /// What had to be left out.
    pub dropped: Dropped,
    /// What the answer's way back needs to know.
    pub context: AnswerContext,
}

/// What the answer's way back needs to know of its request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerContext {
    /// A ULID; each format puts its own prefix before it.
    pub id: String,
    /// Seconds since the epoch.
    pub created: i64,
    /// The model's name as the client asked for it, which is what the answer names.
    pub model: String,
    /// Whether a chat client asked for usage at the end of its stream.
    pub stream_usage: bool,
    /// Tools that the backend knows under another name.
    pub names: ToolNames,
    /// Tools that the client knows as something else than a plain function, by their name in the neutral form.
    pub special: BTreeMap<String, SpecialTool>,
}

/// A tool of the responses format that is no plain function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialTool {
    /// What the client takes its calls for.
    pub kind: SpecialKind,
    /// The namespace that it is in, if any.
    pub namespace: Option<String>,
    /// Its name, in its namespace.
    pub name: String,
}

/// What a client takes the calls of a special tool for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialKind {
    /// A function like any other, in a namespace.
    Function,
    /// A tool of type `custom`: its calls carry free text, which the function carries in `input`.
    Custom,
    /// A search for more tools, which the client makes itself.
    Search,
}

/// What a format takes as the name of a tool.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// The longest name, in bytes.
    pub longest: usize,
    /// Whether it must consist of ASCII letters, digits, `-` and `_`.
    pub plain: bool,
}

/// Names of tools that the backend's format does not take, by the names that stand for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames(BTreeMap<String, String>);

impl ToolNames {
    /// The name to send: the name itself where it keeps to the rule, else one that ends in a hash of it. It depends on the
    /// name alone, so a conversation keeps it, and two tools that differ in what the rule forbids stay two.
    pub fn sent<'n>(&mut self, name: &'n str, rule: NameRule) -> Cow<'n, str> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        let fits = name.len() <= rule.longest && (!rule.plain || !name.is_empty() && name.chars().all(plain));
        if fits {
            return name.into();
        }
        let kept: String = match name {
            "" => "unknown".to_owned(),
            name if rule.plain => name
                .chars()
                .map(|letter| if plain(letter) { letter } else { '_' })
                .collect(),
            name => name.to_owned(),
        };
        let mark = &blake3::hash(name.as_bytes()).to_hex()[..MARK];
        let end = kept.floor_char_boundary(rule.longest - MARK - 1);
        let made = format!("{}_{mark}", &kept[..end]);
        self.0.insert(made.clone(), name.to_owned());
        made.into()
    }

    /// The name that the client knows.
    #[must_use]
    pub fn of_client<'n>(&'n self, sent: &'n str) -> &'n str {
        self.0.get(sent).map_or(sent, String::as_str)
    }
}

/// How many digits of a hash are in a name that we made.
const MARK: usize = 12;

/// Converts a request's body, which may hold what was injected already.
///
/// # Errors
/// [`ConvertError`] where the body is no request, or says less than what the model is to see.
pub fn request(from: WireFormat, to: WireFormat, body: &str) -> Result<Converted, ConvertError> {
    let (bytes, body) = (body.len(), read_body(from, body)?);
    let mut dropped = Dropped::default();
    let mut context = AnswerContext::default();
    let mut request = read_request(from, body, &mut dropped, &mut context)?;
    request.bytes = bytes;
    request.mend_arguments();
    context.model = request.model.clone().into_owned();
    context.stream_usage = request.stream_usage;
    let body = write_request(to, &request, &mut dropped, &mut context);
    Ok(Converted { body, dropped, context })
}

/// Writes a request that no client sent: a question of our own. Names that a conversation keeps are in the context, for
/// [`answered`].
///
/// What the format cannot say is left out, and not counted: who makes a request in no format knows what all of them have.
#[must_use]
pub fn ask(format: WireFormat, request: &Request<'_>) -> (String, AnswerContext) {
    let mut context = AnswerContext {
        model: request.model.clone().into_owned(),
        ..AnswerContext::default()
    };
    let body = write_request(format, request, &mut Dropped::default(), &mut context);
    (body, context)
}

/// Reads the whole answer to such a question, a status of success and no stream. Calls have the names that the request
/// gave the tools, whatever the format made of these.
///
/// # Errors
/// [`Failure`] where the body tells of one, or is no answer of its format.
pub fn answered(format: WireFormat, context: &AnswerContext, body: &str) -> Result<Answer, Failure> {
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

/// Checks that a message's content can be read: a string, an array, or a lone part. Only the model's messages and results
/// of tools may go without.
fn check_content(members: &Members<'_>, optional: bool, list: &'static str, index: usize) -> Result<(), ParseError> {
    let fits = match members.get("content") {
        None | Some("null") => optional,
        Some(content) => content.starts_with(['"', '[', '{']),
    };
    if fits {
        Ok(())
    } else {
        Err(ParseError::Content { list, index })
    }
}

/// Content as a list: a lone part is a list of one.
fn parts(raw: &RawValue) -> Vec<Element<'_>> {
    elements(raw.get()).unwrap_or_else(|| vec![Element::of(raw)])
}

/// Returns the JSON text of a tool result that is neither a string nor a list of parts; the model gets it unchanged.
fn as_written(content: Option<&RawValue>) -> Option<&str> {
    let content = content?.get();
    let is_part = || Members::of(content).is_some_and(|members| members.text("type").is_some());
    let is_read = content == "null" || content.starts_with(['"', '[']) || is_part();
    (!is_read).then_some(content)
}

/// Writes a body in a buffer that need not grow: a body that does is copied again and again.
fn written(body: &impl Serialize, bytes: usize) -> String {
    let mut out = Vec::with_capacity(bytes + bytes / 8 + 1024);
    // Neither can fail: a body holds nothing that cannot be written, and JSON is UTF-8.
    let _ = serde_json::to_writer(&mut out, body);
    let body = String::from_utf8(out).unwrap_or_default();
    // What is written as the client wrote it (schemas, arguments) may hold half a surrogate pair.
    match well_formed(&body) {
        Cow::Owned(mended) => mended,
        Cow::Borrowed(_) => body,
    }
}

/// Writes an answer that is told as events, as a whole.
#[must_use]
pub fn write_whole(format: WireFormat, context: AnswerContext, events: Vec<Event>) -> String {
    // Only a failure makes an answer of nothing, and there is none among the events of our own answers.
    let answer = Answer::collect(events).unwrap_or_default();
    writer(format, context).whole(&answer)
}

/// Writes an answer that is told as events, as a stream: what each of them makes necessary, ready to be sent.
#[must_use]
pub fn write_stream(format: WireFormat, context: AnswerContext, events: Vec<Event>) -> Vec<String> {
    let mut writer = writer(format, context);
    let write = |event: Event| {
        let mut written = String::new();
        writer.event(&event, &mut written);
        written
    };
    events
        .into_iter()
        .map(write)
        .filter(|written| !written.is_empty())
        .collect()
}

/// Reads a backend's answer into events.
trait ReadAnswer: Send {
    /// Takes one server-sent event: its `event:` name (`message` where it has none) and its data.
    fn event(&mut self, name: &str, data: &str, events: &mut Vec<Event>);

    /// Takes the end of the stream. A reader that has seen all that matters may close what is open and say
    /// [`Event::End`], for backends that leave out the last event; otherwise it says nothing.
    fn end(&mut self, events: &mut Vec<Event>);

    /// Takes a whole answer.
    fn whole(&mut self, body: &str, events: &mut Vec<Event>);
}

/// Writes events as the client's format has them.
trait WriteAnswer: Send {
    /// Writes what an event makes necessary: nothing, or one or more complete server-sent events.
    fn event(&mut self, event: &Event, out: &mut String);

    /// The body of a whole answer.
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
