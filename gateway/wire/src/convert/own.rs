use super::super::WireFormat;
use super::answer::{Answer, Event, Failure};
use super::context::AnswerContext;
use super::request::{Dropped, Request};
use super::switch::{reader, write_request, writer};
use super::{converter, limits};

/// Writes one of Muninn's own requests. The context holds the replacement names of tools, for [`read_own_answer`].
///
/// Fields that the format cannot express are left out without a count, because the caller uses only common ones.
pub fn write_own_request(format: WireFormat, mut request: Request<'_>) -> (String, AnswerContext) {
    limits::fit(format, &mut request, &mut Dropped::default());
    let mut context = AnswerContext { model: request.model.clone().into_owned(), ..AnswerContext::default() };
    let body = write_request(format, &request, &mut Dropped::default(), &mut context);
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
