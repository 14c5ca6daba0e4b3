//! Golden tests: recorded requests, answers and streams of real clients and backends, converted to both other formats.
//!
//! `golden/FORMAT/{request,answer,stream}/` hold the sources, `golden/converted/` the results. People reviewed the
//! results; these tests check that they do not change. They also check that each result is well-formed: requests and
//! answers are read by the reader of their format and by async-openai's types if there are any, streams event by event.
//! The other tests take the sources of all formats too: shortened conversations, damaged streams.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use muninn_tests::{assert_golden, pretty};
use serde_json::Value;

use super::*;
use crate::convert::answer::Event;
use crate::convert::request::Dropped;
use crate::convert::switch;
use crate::{Members, WireFormat};

pub(super) const FORMATS: [(WireFormat, &str); 3] =
    [(WireFormat::Chat, "chat"), (WireFormat::Messages, "messages"), (WireFormat::Responses, "responses")];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/convert/golden")
}

/// The sources of one kind as names and texts, ordered by name.
pub(super) fn sources(format: &str, kind: &str) -> Vec<(String, String)> {
    let mut sources: Vec<_> = std::fs::read_dir(folder().join(format).join(kind))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    sources.sort();
    sources
}

/// Converts every source of a kind to both other formats and compares the results with the golden files.
fn run(kind: &str, convert: impl Fn(WireFormat, WireFormat, &str) -> String) {
    let mut table = BTreeMap::new();
    for (from, from_name) in FORMATS {
        for (name, source) in sources(from_name, kind) {
            for (to, to_name) in FORMATS.into_iter().filter(|(to, _)| *to != from) {
                let converted = convert(from, to, &source);
                let golden = folder().join(format!("converted/{from_name}-to-{to_name}/{kind}/{name}.txt"));
                assert_golden(&golden, &converted);
                *table.entry((from_name, to_name)).or_insert(0) += 1;
            }
        }
    }
    for ((from, to), cases) in table {
        println!("{kind:<8} {from:>9} -> {to:<9} {cases:>3} cases");
    }
}

pub(super) fn context() -> AnswerContext {
    AnswerContext {
        id: "01J0000000000000000000TEST".to_owned(),
        created: 1_700_000_000,
        model: "the-clients-model".to_owned(),
        stream_usage: true,
        ..AnswerContext::default()
    }
}

#[test]
fn converted_requests_match_the_golden_files() {
    run("request", |from, to, source| match request(from, to, source) {
        Ok(converted) => {
            check_request(to, &converted.body);
            listed(&converted.dropped) + &pretty(&converted.body)
        }
        Err(error) => format!("refused: {error}"),
    });
}

/// Names and counts as lines.
fn listed(dropped: &Dropped) -> String {
    let mut text = String::new();
    for (name, count) in dropped.iter() {
        writeln!(text, "dropped: {name} x{count}").unwrap();
    }
    text
}

#[test]
fn converted_answers_match_the_golden_files() {
    run("answer", |from, to, source| {
        let mut events = Vec::new();
        reader(from).whole(source, &mut events);
        check_grammar(source, &events);
        let mut converter = AnswerConverter::new(from, to, context());
        match converter.whole(source) {
            Ok(body) => {
                check_answer(to, &body);
                listed(converter.dropped()) + &pretty(&body)
            }
            Err(failure) => format!("{:?}: {}", failure.kind, failure.message),
        }
    });
}

#[test]
fn converted_streams_match_the_golden_files() {
    run("stream", |from, to, source| {
        let whole = stream(from, to, &[source.as_bytes()]);
        let bytes: Vec<&[u8]> = source.as_bytes().chunks(7).collect();
        assert_eq!(stream(from, to, &bytes), whole, "any split of a stream must give the same result");
        check_stream(to, &whole.0);
        listed(&whole.1) + &whole.0
    });
}

/// A converted stream, and what it lost.
fn stream(from: WireFormat, to: WireFormat, pieces: &[&[u8]]) -> (String, Dropped) {
    let mut converter = AnswerConverter::new(from, to, context());
    let mut out: String = pieces.iter().map(|piece| converter.push(piece)).collect();
    out.push_str(&converter.finish(None));
    (out, converter.dropped().clone())
}

/// The backend's prompt cache hits only if a request begins like the earlier ones of its conversation.
#[test]
fn appended_conversation_keeps_its_beginning() {
    let is_answer = |turn: &Value| {
        let kind = turn["type"].as_str().unwrap_or_default();
        turn["role"] == "assistant" || kind == "reasoning" || kind.ends_with("_call")
    };
    for (from, name) in FORMATS {
        for (case, source) in sources(name, "request") {
            // serde_json does not read the half of a surrogate pair that one source has.
            let Ok(whole) = serde_json::from_str::<Value>(&source) else { continue };
            let turns = whole[from.conversation()].as_array().into_iter().flatten().collect::<Vec<_>>();
            // A request ends before an answer of the model.
            let ends = (1..turns.len()).filter(|end| is_answer(turns[*end]) && !is_answer(turns[*end - 1]));
            for (end, (to, _)) in ends.flat_map(|end| FORMATS.map(|to| (end, to))).filter(|(_, (to, _))| *to != from) {
                let mut earlier = whole.clone();
                earlier[from.conversation()].as_array_mut().unwrap().truncate(end);
                let [earlier, later] = [&earlier, &whole].map(|body| conversation(from, to, &body.to_string()));
                let beginning = earlier.trim_end_matches([']', '}', '"']);
                assert!(later.starts_with(beginning), "{case} at {end}, {from:?} to {to:?}:\n{beginning}\n{later}");
            }
        }
    }
}

/// The conversation of a converted request, without cache markers, which models do not see.
fn conversation(from: WireFormat, to: WireFormat, body: &str) -> String {
    let body = request(from, to, body).map_or_else(|_| "{}".to_owned(), |converted| converted.body);
    let conversation = Members::of(&body).unwrap().get(to.conversation()).unwrap_or_default().to_owned();
    conversation.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

#[test]
fn body_that_is_not_an_answer_has_no_end() {
    for (format, _) in FORMATS {
        for body in ["", "null", "[]", "{}", r#"{"choices":[]}"#, "<html>"] {
            let mut events = Vec::new();
            reader(format).whole(body, &mut events);
            assert!(!events.contains(&Event::End), "{format:?}: {body}");
        }
    }
}

#[test]
fn damaged_streams_keep_the_grammar_of_events() {
    for (format, name) in FORMATS {
        for (case, stream) in sources(name, "stream") {
            let events = parsed(&stream);
            check_grammar(&case, &read(format, &events));
            for (at, (name, data)) in events.iter().enumerate() {
                let [mut lost, mut twice, mut swapped, mut exchanged] = [(); 4].map(|()| events.clone());
                lost.remove(at);
                twice.insert(at, events[at].clone());
                swapped.swap(at, (at + 1).min(events.len() - 1));
                exchanged.swap(at, events.len() / 2);
                for changed in [lost, twice, swapped, exchanged] {
                    check_grammar(&case, &read(format, &changed));
                }
                for cut in (0..data.len()).step_by(7).filter(|cut| data.is_char_boundary(*cut)) {
                    let broken = [&events[..at], &[(name.clone(), data[..cut].to_owned())]].concat();
                    check_grammar(&case, &read(format, &broken));
                }
            }
        }
    }
}

/// The server-sent events of a stream as names and data.
pub(super) fn parsed(stream: &str) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let pushed = sse::SseParser::default()
        .push(format!("{stream}\n\n").as_bytes(), |name, data| events.push((name.to_owned(), data.to_owned())));
    pushed.unwrap();
    events
}

/// The events of a stream, read by the reader of its format.
pub(super) fn read(format: WireFormat, stream: &[(String, String)]) -> Vec<Event> {
    let (mut reader, mut events) = (reader(format), Vec::new());
    for (name, data) in stream {
        reader.event(name, data, &mut events);
    }
    reader.end(&mut events);
    events
}

/// Checks that a request can be read by the reader of its format and by async-openai's types.
fn check_request(format: WireFormat, body: &str) {
    let read = switch::read_body(format, body).unwrap();
    let (mut dropped, mut context) = (Dropped::default(), AnswerContext::default());
    match format {
        WireFormat::Chat => {
            chat::read_request(read, &mut dropped).unwrap();
            parses::<async_openai::types::chat::CreateChatCompletionRequest>(body);
        }
        WireFormat::Messages => {
            let request = messages::read_request(read, &mut dropped).unwrap();
            let sides: Vec<_> = request.messages.iter().map(|message| message.speaker).collect();
            assert!(sides.windows(2).all(|pair| pair[0] != pair[1]), "sides alternate: {body}");
        }
        WireFormat::Responses => {
            responses::read_request(read, &mut dropped, &mut context).unwrap();
            parses::<async_openai::types::responses::CreateResponse>(body);
        }
    }
    assert!(dropped.iter().next().is_none(), "{format:?} writes what it does not read: {dropped:?}\n{body}");
}

/// Checks that an answer has the members that its format requires.
fn check_answer(format: WireFormat, body: &str) {
    match format {
        WireFormat::Chat => parses::<async_openai::types::chat::CreateChatCompletionResponse>(body),
        WireFormat::Messages => {
            let message: Value = serde_json::from_str(body).unwrap();
            for field in ["id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "usage"] {
                assert!(message.get(field).is_some(), "{field}: {body}");
            }
        }
        WireFormat::Responses => parses::<async_openai::types::responses::Response>(body),
    }
}

fn parses<T: serde::de::DeserializeOwned>(body: &str) {
    if let Err(error) = serde_json::from_str::<T>(body) {
        panic!("{error}\n{}", pretty(body));
    }
}

/// Checks that a stream has the events that the strictest clients need.
fn check_stream(format: WireFormat, stream: &str) {
    let events = parsed(stream);
    match format {
        WireFormat::Chat => check_chunks(&events),
        WireFormat::Messages => check_message_events(&events),
        WireFormat::Responses => check_response_events(&events),
    }
}

/// Checks that the events of a reader follow the grammar of [`Event`].
pub(super) fn check_grammar(case: &str, events: &[Event]) {
    let (mut next, mut open, mut stopped) = (0, BTreeSet::new(), false);
    for (at, event) in events.iter().enumerate() {
        let starts = at == 0 && !matches!(event, Event::Failed(_));
        assert_eq!(matches!(event, Event::Start { .. }), starts, "{case}: {events:?}");
        match event {
            Event::Open { block, .. } => {
                assert_eq!((*block, stopped), (next, false), "{case}: {events:?}");
                next += 1;
                open.insert(*block);
            }
            Event::Delta { block, .. } | Event::Seal { block, .. } => {
                assert!(open.contains(block), "{case}: {events:?}");
            }
            Event::Close { block } => assert!(open.remove(block), "{case}: {events:?}"),
            Event::Stop(_) => {
                assert!(open.is_empty() && !stopped, "{case}: {events:?}");
                stopped = true;
            }
            Event::End => assert!(stopped && at + 1 == events.len(), "{case}: {events:?}"),
            Event::Failed(_) => assert_eq!(at + 1, events.len(), "{case}: {events:?}"),
            Event::Start { .. } | Event::Usage(_) => {}
        }
    }
}

fn check_chunks(events: &[(String, String)]) {
    let (last, chunks) = events.split_last().unwrap();
    assert_eq!(last.1, "[DONE]");
    let failed = chunks.iter().any(|(_, data)| data.starts_with("{\"error\""));
    let mut finished = 0;
    for (_, data) in chunks.iter().filter(|(_, data)| !data.starts_with("{\"error\"")) {
        let chunk: async_openai::types::chat::CreateChatCompletionStreamResponse =
            serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
        finished += chunk.choices.iter().filter(|choice| choice.finish_reason.is_some()).count();
    }
    assert_eq!(finished, usize::from(!failed), "one finish_reason, last");
}

fn check_message_events(events: &[(String, String)]) {
    let parsed: Vec<Value> = events.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    for ((name, _), event) in events.iter().zip(&parsed) {
        assert_eq!(event["type"], name.as_str());
    }
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    if names.last() == Some(&"error") {
        return;
    }
    assert_eq!(names.first(), Some(&"message_start"));
    assert_eq!(names[names.len() - 2..], ["message_delta", "message_stop"]);
    assert_eq!(parsed[0]["message"]["content"], serde_json::json!([]));
    assert!(parsed[0]["message"]["usage"]["input_tokens"].is_u64());
    let (mut next, mut open) = (0, None);
    for event in &parsed {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!((open, event["index"].as_u64()), (None, Some(next)), "dense, one at a time");
                open = Some(next);
                next += 1;
            }
            "content_block_delta" => assert_eq!(event["index"].as_u64(), open),
            "content_block_stop" => {
                assert_eq!(event["index"].as_u64(), open);
                open = None;
            }
            _ => {}
        }
    }
    assert_eq!(open, None);
}

fn check_response_events(events: &[(String, String)]) {
    let mut items = 0;
    for (number, (name, data)) in events.iter().enumerate() {
        parses::<async_openai::types::responses::ResponseStreamEvent>(data);
        let event: Value = serde_json::from_str(data).unwrap();
        assert_eq!(event["type"], name.as_str());
        assert_eq!(event["sequence_number"], number);
        match name.as_str() {
            "response.output_item.added" => {
                assert_eq!(event["output_index"], items, "dense");
                items += 1;
            }
            "response.output_item.done" => assert_eq!(event["output_index"], items - 1, "one at a time"),
            _ => {}
        }
    }
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let last = *names.last().unwrap();
    assert!(["response.completed", "response.incomplete", "response.failed"].contains(&last), "{last}");
    if last != "response.failed" {
        assert_eq!(names[..2], ["response.created", "response.in_progress"]);
        let done = names.iter().filter(|name| **name == "response.output_item.done").count();
        assert_eq!(done, items);
    }
}
