//! Reader of requests.

use std::borrow::Cow;

use super::super::request::{Dropped, Message, OutputShape, Part, Request, Speaker};
use super::super::{AnswerContext, ConvertError, effort};
use super::incoming::held_elsewhere;
use super::read_items::Items;
use crate::scan::Body;
use crate::{Members, ParseError};

/// Reads a request. Fields without a neutral form are counted in `dropped`.
///
/// # Errors
/// [`ConvertError`] if the body is not a request, or needs state that only a backend of this format keeps.
pub(in super::super) fn read_request<'a>(
    body: Body<'a>,
    dropped: &mut Dropped,
    context: &mut AnswerContext,
) -> Result<Request<'a>, ConvertError> {
    let members = &body.members;
    refuse_held_state(members)?;
    let mut request =
        Request { model: members.string("model").ok_or(ParseError::Missing("model"))?, ..Request::default() };
    if let Some(instructions) = members.string("instructions").filter(|text| !text.is_empty()) {
        request.messages.push(Message { speaker: Speaker::System, parts: vec![Part::text(instructions)] });
    }
    for (key, value) in members.iter() {
        if value.get() != "null" {
            member(&mut request, members, key, dropped);
        }
    }
    let mut items = Items::new(std::mem::take(&mut request.messages));
    items.tools.extend(members.elements("tools"), dropped);
    items.input(body.conversation, dropped)?;
    request.messages = items.messages;
    request.tool_choice = items.tools.choice(members, dropped);
    request.tools = items.tools.list;
    context.special = items.tools.special;
    // The last `configuration_update` applies to the next answer.
    if items.effort.is_some() {
        request.reasoning.effort = items.effort;
    }
    Ok(request)
}

fn refuse_held_state(members: &Members<'_>) -> Result<(), ConvertError> {
    for field in ["previous_response_id", "conversation", "prompt"] {
        if members.present(field).is_some() {
            return Err(held_elsewhere(field));
        }
    }
    if members.get("background") == Some("true") {
        return Err(held_elsewhere("background"));
    }
    Ok(())
}

fn member<'a>(request: &mut Request<'a>, members: &Members<'a>, key: &str, dropped: &mut Dropped) {
    let raw = || members.raw(key);
    let sampling = &mut request.sampling;
    match key {
        // Read by other functions, or meaningless for a backend that stores nothing.
        "model" | "instructions" | "input" | "tools" | "tool_choice" | "background" | "store" | "stream_options"
        | "client_metadata" => {}
        "stream" => request.stream = members.get(key) == Some("true"),
        "parallel_tool_calls" => request.parallel_tool_calls = members.parse(key),
        "max_output_tokens" => sampling.max_tokens = raw(),
        "temperature" => sampling.temperature = raw(),
        "top_p" => sampling.top_p = raw(),
        // Extensions of local servers.
        "top_k" => sampling.top_k = raw(),
        "seed" => sampling.seed = raw(),
        "presence_penalty" => sampling.presence_penalty = raw(),
        "frequency_penalty" => sampling.frequency_penalty = raw(),
        "reasoning" => reasoning(request, &members.object(key), dropped),
        "text" => text(request, &members.object(key), dropped),
        "prompt_cache_key" => request.cache_key = members.string(key),
        "safety_identifier" => request.user = members.string(key),
        "user" => request.user = request.user.take().or_else(|| members.string(key)),
        "metadata" => request.metadata = raw().filter(|value| value.get() != "{}"),
        "truncation" if members.string(key).as_deref() == Some("disabled") => {}
        "service_tier" if matches!(members.string(key).as_deref(), Some("auto" | "default")) => {}
        "include" => include(&members.parse::<Vec<Cow<'_, str>>>(key).unwrap_or_default(), dropped),
        other => dropped.add(other),
    }
}

fn reasoning<'a>(request: &mut Request<'a>, members: &Members<'a>, dropped: &mut Dropped) {
    for (key, value) in members.iter() {
        match key {
            "effort" => request.reasoning.effort = effort::read(members, key, effort::DROPPED, dropped),
            // The detail of the summary. All thinking of the backend is passed on.
            "summary" | "generate_summary" => {}
            _ if value.get() == "null" => {}
            other => dropped.add(format!("reasoning.{other}")),
        }
    }
}

fn text<'a>(request: &mut Request<'a>, members: &Members<'a>, dropped: &mut Dropped) {
    for (key, value) in members.iter() {
        match key {
            "verbosity" => request.verbosity = members.string(key),
            "format" => {
                request.output = shape(&members.object(key), dropped);
            }
            _ if value.get() == "null" => {}
            other => dropped.add(format!("text.{other}")),
        }
    }
}

fn shape<'a>(format: &Members<'a>, dropped: &mut Dropped) -> Option<OutputShape<'a>> {
    match format.string("type").as_deref() {
        Some("text") | None => None,
        Some("json_object") => Some(OutputShape::Json),
        Some("json_schema") => Some(OutputShape::Schema {
            name: format.string("name"),
            schema: format.present("schema")?,
            strict: format.parse("strict"),
        }),
        Some(_) => {
            dropped.add("text.format");
            None
        }
    }
}

fn include(wanted: &[Cow<'_, str>], dropped: &mut Dropped) {
    for name in wanted {
        // Sealed thinking is always included.
        if name != "reasoning.encrypted_content" {
            dropped.add(format!("include.{}", super::incoming::kind_name(name)));
        }
    }
}
