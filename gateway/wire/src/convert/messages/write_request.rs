//! Writer of requests.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, Message, OutputShape, Part, Request};
use super::super::{ToolNames, effort};
use super::blocks::{Block, Turn, text_block};
use super::capabilities::{Capabilities, MAX_TOKENS, Thinking, ThinkingPlan};
use super::markers;
use super::sampling::{Number, sampling, token_count};
use super::turns::{conversation_end, turns, without_prefill};
use super::write_tools::{Choice, Function, tools};

#[derive(Serialize)]
struct Body<'r> {
    model: &'r str,
    max_tokens: Number<'r>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'r>>,
    messages: Vec<Turn<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Function<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'r [Cow<'r, str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'r>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct OutputConfig<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'r>>,
}

#[derive(Serialize)]
struct Format<'r> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: &'r RawValue,
}

#[derive(Serialize)]
struct Metadata<'r> {
    user_id: &'r str,
}

/// Writes a request. Fields that the format cannot express are counted in `dropped`.
pub(in super::super) fn write_request(request: &Request<'_>, dropped: &mut Dropped, names: &mut ToolNames) -> String {
    let capabilities = Capabilities::of(&request.model);
    let (system, conversation) = request.split_system();
    let mut system = self::system(system, dropped);
    let mut messages = turns(conversation, dropped, names);
    if !capabilities.prefill && without_prefill(&mut messages) {
        dropped.add("prefill");
    }
    let plan = ThinkingPlan::new(
        capabilities,
        &request.reasoning,
        request.tool_choice.as_ref(),
        request.sampling.max_tokens.and_then(token_count),
        conversation_end(&messages),
    );
    if request.reasoning.effort.as_deref().is_some_and(|effort| !plan.has_effort(effort)) {
        dropped.add(effort::DROPPED);
    }
    let (mut tools, tool_choice) = tools(request, &messages, capabilities, dropped, names);
    markers::adjust(&mut tools, &mut system, &mut messages, request.cache_key.is_some());
    let sampling = sampling(&request.sampling, capabilities, &plan, dropped);
    let body = Body {
        model: &request.model,
        max_tokens: match (plan.max_tokens, request.sampling.max_tokens) {
            (None, Some(tokens)) => Number::Client(tokens),
            (tokens, _) => Number::Own(tokens.unwrap_or(MAX_TOKENS)),
        },
        system,
        messages,
        tools,
        tool_choice,
        output_config: output_config(request.output.as_ref(), plan.effort, dropped),
        thinking: plan.thinking,
        temperature: sampling.0,
        top_p: sampling.1,
        top_k: sampling.2,
        stop_sequences: &request.sampling.stop,
        metadata: metadata(request, dropped),
        stream: request.stream,
    };
    super::super::to_json(&body, request.bytes)
}

fn system<'r>(messages: &'r [Message<'r>], dropped: &mut Dropped) -> Vec<Block<'r>> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let blocks = parts.filter_map(|part| match part {
        Part::Text { text, cache_control } => text_block(text.borrowed(), *cache_control),
        _ => {
            dropped.add("system");
            None
        }
    });
    blocks.collect()
}

fn output_config<'r>(
    shape: Option<&OutputShape<'r>>,
    effort: Option<&'static str>,
    dropped: &mut Dropped,
) -> Option<OutputConfig<'r>> {
    let format = match shape {
        Some(OutputShape::Schema { schema, .. }) => Some(Format { kind: "json_schema", schema }),
        // The format requires a schema. Clients that want JSON without one must also ask for it in the prompt.
        Some(OutputShape::Json) => {
            dropped.add("response_format");
            None
        }
        None => None,
    };
    (format.is_some() || effort.is_some()).then_some(OutputConfig { effort, format })
}

fn metadata<'r>(request: &'r Request<'_>, dropped: &mut Dropped) -> Option<Metadata<'r>> {
    if request.metadata.is_some() {
        dropped.add("metadata");
    }
    if request.verbosity.is_some() {
        dropped.add("verbosity");
    }
    let user_id = request.user.as_deref().filter(|user| !user.is_empty())?;
    Some(Metadata { user_id })
}

#[cfg(test)]
mod tests {
    use super::super::super::limits;
    use super::super::super::request::{Reasoning, Sampling, Speaker, ToolCall};
    use super::*;
    use crate::WireFormat;

    fn write(request: &Request<'_>) -> (serde_json::Value, Vec<String>) {
        let mut dropped = Dropped::default();
        let body = write_request(request, &mut dropped, &mut ToolNames::default());
        let dropped = dropped.iter().map(|(name, _)| name.to_owned()).collect();
        (serde_json::from_str(&body).unwrap(), dropped)
    }

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    fn message<'a>(speaker: Speaker, parts: Vec<Part<'a>>) -> Message<'a> {
        Message { speaker, parts }
    }

    use Speaker::{System, User};

    #[test]
    fn sampling_keeps_only_what_the_model_accepts() {
        for (model, effort, sent, expected) in [
            ("m", None, r#"{"temperature":1,"top_p":0.9,"top_k":5}"#, "seed"),
            ("claude-sonnet-4-5", None, r#"{"temperature":1,"top_k":5}"#, "seed,top_p"),
            ("claude-sonnet-4-5", Some("low"), "{}", "seed,top_k,top_p"),
            ("claude-opus-5", None, "{}", "seed,top_k,top_p"),
        ] {
            let request = Request {
                model: model.into(),
                reasoning: Reasoning { effort: effort.map(Cow::Borrowed), ..Reasoning::default() },
                sampling: Sampling {
                    temperature: Some(raw("1")),
                    top_p: Some(raw("0.9")),
                    top_k: Some(raw("5")),
                    seed: Some(raw("1")),
                    presence_penalty: Some(raw("0.0")),
                    stop: vec!["END".into()],
                    ..Sampling::default()
                },
                ..Request::default()
            };
            let (body, dropped) = write(&request);
            let sent: serde_json::Value = serde_json::from_str(sent).unwrap();
            for key in ["temperature", "top_p", "top_k"] {
                assert_eq!(body.get(key), sent.get(key), "{model} {effort:?} {key}");
            }
            assert_eq!(dropped.join(","), expected, "{model} {effort:?}");
        }
        let mut request = Request {
            sampling: Sampling {
                temperature: Some(raw("0.20")),
                max_tokens: Some(raw("77")),
                stop: vec!["\n".into(), "END".into()],
                ..Sampling::default()
            },
            ..Request::default()
        };
        let mut dropped = Dropped::default();
        limits::fit(WireFormat::Messages, &mut request, &mut dropped);
        let body = write_request(&request, &mut dropped, &mut ToolNames::default());
        assert!(body.contains(r#""temperature":0.20,"stop_sequences":["END"]"#), "{body}");
        assert!(body.contains(r#""max_tokens":77,"#), "{body}");
    }

    #[test]
    fn conversation_ends_with_the_user_if_the_model_refuses_prefill() {
        let ends_with_the_model = || {
            let parts = |text: &'static str| vec![Part::text(text)];
            vec![message(User, parts("a")), message(Speaker::Assistant, parts("{"))]
        };
        for (model, roles, expected) in [
            ("claude-opus-4-5", "user assistant", ""),
            ("claude-opus-4-6", "user", "prefill"),
            ("anthropic/claude-sonnet-4.6", "user", "prefill"),
            ("claude-mythos-preview", "user", "prefill"),
            ("qwen3-coder", "user assistant", ""),
        ] {
            let request = Request { model: model.into(), messages: ends_with_the_model(), ..Request::default() };
            let (body, dropped) = write(&request);
            let turns = body["messages"].as_array().unwrap();
            let seen: Vec<_> = turns.iter().map(|turn| turn["role"].as_str().unwrap()).collect();
            assert_eq!((seen.join(" "), dropped.join(" ")), (roles.to_owned(), expected.to_owned()), "{model}");
        }
        // Nothing is left out if the user's turn is the last one, or a result that is added.
        let call = ToolCall { id: "c".into(), name: "T".into(), arguments: "{}".into() };
        for last in [message(User, vec![Part::text("b")]), message(Speaker::Assistant, vec![Part::ToolCall(call)])] {
            let messages = ends_with_the_model().into_iter().chain([last]).collect();
            let (body, dropped) = write(&Request { model: "claude-opus-5".into(), messages, ..Request::default() });
            assert_eq!((body["messages"].as_array().unwrap().len(), dropped.len()), (3, 0), "{body}");
        }
        // A conversation of the model alone still has a turn.
        let messages = vec![message(Speaker::Assistant, vec![Part::text("b")])];
        let (body, dropped) = write(&Request { model: "claude-opus-5".into(), messages, ..Request::default() });
        assert_eq!((body["messages"].as_array().unwrap().len(), dropped.join(" ")), (1, "prefill".to_owned()));
    }

    #[test]
    fn last_four_markers_are_kept_and_a_cache_key_adds_markers() {
        let marker = raw(r#"{"type":"ephemeral","ttl":"1h"}"#);
        let marked = |marker| Part::Text { text: "t".into(), cache_control: marker };
        let count = |request: &Request<'_>| {
            write_request(request, &mut Dropped::default(), &mut ToolNames::default()).matches("cache_control").count()
        };
        let request = |system, user: Vec<Part<'static>>, key: Option<&'static str>| Request {
            messages: vec![message(System, vec![system]), message(User, user)],
            cache_key: key.map(Cow::Borrowed),
            ..Request::default()
        };
        assert_eq!(count(&request(marked(None), vec![marked(None)], None)), 0);
        assert_eq!(count(&request(marked(None), vec![marked(None), marked(None)], Some("k"))), 2);
        assert_eq!(count(&request(marked(None), vec![marked(Some(raw("{}")))], Some("k"))), 1);
        let many = Request {
            messages: vec![
                message(System, vec![marked(Some(marker))]),
                message(User, (0..5).map(|_| marked(Some(marker))).collect()),
            ],
            ..Request::default()
        };
        let (body, _) = write(&many);
        assert_eq!(count(&many), 4);
        assert_eq!(body["messages"][0]["content"][4]["cache_control"]["ttl"], "1h");
    }
}
