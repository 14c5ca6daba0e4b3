use std::borrow::Cow;

use super::super::scan::Body;
use super::super::{ParseError, WireFormat};
use super::answer_io::{ReadAnswer, WriteAnswer};
use super::context::AnswerContext;
use super::error::ConvertError;
use super::request::{Dropped, Request};
use super::request_tokens::rough_estimate;
use super::responses::ResponseSettings;
use super::{chat, limits, messages, responses};

/// A request in the backend's format, with the context that converts its answer.
#[derive(Debug)]
pub struct Converted {
    /// The body to send.
    pub body: String,
    /// The fields that the backend's format cannot express.
    pub dropped: Dropped,
    /// The context for `AnswerConverter`.
    pub context: AnswerContext,
}

/// Converts a request's body, with or without injected blocks.
///
/// # Errors
/// [`ConvertError`] if the body is not a request of its format, or needs state that only a backend of that format
/// keeps.
pub fn request(from: WireFormat, to: WireFormat, body: &str) -> Result<Converted, ConvertError> {
    let (bytes, body) = (body.len(), read_body(from, body)?);
    let mut dropped = Dropped::default();
    let mut context = AnswerContext { settings: settings(from, &body), ..AnswerContext::default() };
    let mut request = read_request(from, body, &mut dropped, &mut context)?;
    request.bytes = bytes;
    limits::fit(to, &mut request, &mut dropped);
    context.model = request.model.clone().into_owned();
    context.stream_usage = request.stream_usage;
    context.stops = request.sampling.cut.drain(..).map(Cow::into_owned).collect();
    context.input_tokens = (from == WireFormat::Messages && request.stream).then(|| rough_estimate(&request));
    let body = write_request(to, &request, &mut dropped, &mut context);
    Ok(Converted { body, dropped, context })
}

/// Returns the settings that an answer in this format repeats.
pub(crate) fn settings(format: WireFormat, body: &Body<'_>) -> ResponseSettings {
    match format {
        WireFormat::Responses => ResponseSettings::of(&body.members),
        WireFormat::Chat | WireFormat::Messages => ResponseSettings::default(),
    }
}

pub(crate) fn read_body(format: WireFormat, body: &str) -> Result<Body<'_>, ParseError> {
    Body::of(body.trim_ascii(), format.conversation())
}

pub(crate) fn read_request<'a>(
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

pub(crate) fn write_request(
    to: WireFormat,
    request: &Request<'_>,
    dropped: &mut Dropped,
    context: &mut AnswerContext,
) -> String {
    match to {
        WireFormat::Chat => chat::write_request(request, dropped, &mut context.names),
        WireFormat::Messages => messages::write_request(request, dropped, &mut context.names),
        WireFormat::Responses => responses::write_request(request, dropped, &mut context.names),
    }
}

pub(crate) fn reader(format: WireFormat) -> Box<dyn ReadAnswer> {
    match format {
        WireFormat::Chat => Box::new(chat::Reader::default()),
        WireFormat::Messages => Box::new(messages::Reader::default()),
        WireFormat::Responses => Box::new(responses::Reader::default()),
    }
}

pub(crate) fn writer(format: WireFormat, context: AnswerContext) -> Box<dyn WriteAnswer> {
    match format {
        WireFormat::Chat => Box::new(chat::Writer::new(context)),
        WireFormat::Messages => Box::new(messages::Writer::new(context)),
        WireFormat::Responses => Box::new(responses::Writer::new(context)),
    }
}
