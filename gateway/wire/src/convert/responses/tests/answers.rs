//! Tests of answers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::super::answer::{Answer, BlockKind, Event, Failure, FailureKind, Stop, Usage};
use super::super::super::golden::{check_grammar, parsed, read};
use super::super::super::{AnswerContext, SpecialKind, SpecialTool, WriteAnswer};
use super::super::Writer;
use crate::WireFormat;

#[test]
fn events_with_wrong_types_are_ignored() {
    let data = [
        r#"{"type":"response.output_item.added","output_index":"x","item":{"type":"message","id":7}}"#,
        r#"{"type":"response.output_item.added","item":null}"#,
        r#"{"type":"response.output_text.delta","content_index":-1,"delta":{"a":1}}"#,
        r#"{"type":"response.output_text.delta","delta":"ok"}"#,
        r#"{"type":7}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#,
        r#"{"type":"response.output_item.done","item":{"type":"function_call","arguments":{"a":1}}}"#,
        r#"{"type":"response.output_item.done","item":{"type":"message","content":"words"}}"#,
        r#"{"type":"response.completed","response":[1]}"#,
        r#"{"type":"response.output_text.delta","delta":"late"}"#,
    ];
    let events = read(WireFormat::Responses, &data.map(|data| ("message".to_owned(), data.to_owned())));
    check_grammar("wrong types", &events);
    let answer = Answer::collect(events).unwrap();
    let blocks: Vec<_> = answer.blocks.iter().map(|block| (&block.kind, block.text.as_str())).collect();
    assert_eq!((blocks, answer.stop), (vec![(&BlockKind::Text, "ok")], Some(Stop::Done)));
}

fn context() -> AnswerContext {
    let special = |kind, namespace: Option<&str>, name: &str| SpecialTool {
        kind,
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    };
    AnswerContext {
        id: "01K".to_owned(),
        created: 1_763_713_000,
        model: "gpt-5.1".to_owned(),
        special: BTreeMap::from([
            ("exec".to_owned(), special(SpecialKind::Custom, Some("functions"), "exec")),
            ("mcp__docs__search".to_owned(), special(SpecialKind::Function, Some("mcp__docs"), "search")),
            ("tool_search".to_owned(), special(SpecialKind::Search, None, "tool_search")),
        ]),
        ..AnswerContext::default()
    }
}

fn block(number: usize, kind: BlockKind, texts: &[&str], seal: Option<&str>) -> Vec<Event> {
    let mut events = vec![Event::Open { block: number, kind }];
    events.extend(texts.iter().map(|text| Event::Delta { block: number, text: (*text).to_owned() }));
    events.extend(seal.map(|seal| Event::Seal { block: number, seal: seal.to_owned() }));
    events.push(Event::Close { block: number });
    events
}

fn call(id: &str, name: &str) -> BlockKind {
    BlockKind::ToolCall { id: id.to_owned(), name: name.to_owned() }
}

fn answer() -> Vec<Event> {
    let mut events = vec![Event::Start { model: None }];
    events.extend(block(0, BlockKind::Thinking, &["Let me", " see."], Some("muninn-1")));
    events.extend(block(1, BlockKind::SealedThinking, &[], Some("EoC")));
    events.extend(block(2, BlockKind::Text, &["Look:", " here"], None));
    events.extend(block(3, call("call_1", "exec"), &["{\"input\":\"ls", "\\n\"}"], None));
    events.extend(block(4, call("functions.f:0", "mcp__docs__search"), &["{\"q\":", "1}"], None));
    events.extend(block(5, call("call_3", "tool_search"), &["{\"query\":\"x\"}"], None));
    events.extend(block(6, BlockKind::Refusal, &["No."], None));
    let usage = Usage { input: Some(10), cached: Some(8), output: Some(5), ..Usage::default() };
    events.extend([Event::Usage(usage), Event::Stop(Stop::ToolCalls), Event::End]);
    events
}

fn written(events: &[Event]) -> Vec<(String, Value)> {
    let (mut writer, mut out) = (Writer::new(context()), String::new());
    for event in events {
        writer.event(event, &mut out);
    }
    parsed(&out).into_iter().map(|(name, data)| (name, serde_json::from_str(&data).unwrap())).collect()
}

#[test]
fn stream_has_all_events_in_order() {
    let events = written(&answer());
    for (at, (name, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], at);
        assert_eq!(data["type"], **name);
    }
    let of_item = |index: u64| {
        let names = events.iter().filter(|(_, data)| data["output_index"] == index);
        let names: Vec<_> = names.map(|(name, _)| name.strip_prefix("response.").unwrap()).collect();
        names.join(" ")
    };
    assert_eq!(
        of_item(0),
        "output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.delta \
         reasoning_summary_text.done reasoning_summary_part.done output_item.done"
    );
    assert_eq!(of_item(1), "output_item.added output_item.done");
    assert_eq!(
        of_item(2),
        "output_item.added content_part.added output_text.delta output_text.delta output_text.done content_part.done \
         output_item.done"
    );
    assert_eq!(
        of_item(3),
        "output_item.added custom_tool_call_input.delta custom_tool_call_input.delta custom_tool_call_input.done \
         output_item.done"
    );
    assert_eq!(
        of_item(4),
        "output_item.added function_call_arguments.delta function_call_arguments.delta function_call_arguments.done \
         output_item.done"
    );
    assert_eq!(of_item(5), "output_item.added output_item.done");
    assert!(of_item(6).contains("refusal.delta refusal.done content_part.done"));
    let names: Vec<_> = events.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names[..2], ["response.created", "response.in_progress"]);
    assert_eq!(*names.last().unwrap(), "response.completed");
}

#[test]
fn last_event_has_all_complete_items_and_equals_the_whole_answer() {
    let events = written(&answer());
    let done = events.iter().filter(|(name, _)| name == "response.output_item.done");
    let done: Vec<_> = done.map(|(_, data)| data["item"].clone()).collect();
    let response = &events.last().unwrap().1["response"];
    assert_eq!(response["output"], Value::Array(done.clone()));
    let answer = Answer::collect(answer()).unwrap();
    let whole: Value = serde_json::from_str(&Writer::new(context()).whole(&answer)).unwrap();
    assert_eq!(*response, whole);
    let required = [
        "id", "object", "created_at", "status", "error", "incomplete_details", "instructions", "metadata", "model",
        "output", "parallel_tool_calls", "temperature", "tool_choice", "tools", "top_p", "usage",
    ];
    for member in required {
        assert!(response.get(member).is_some(), "{member}");
    }
    assert_eq!(response["usage"]["total_tokens"], 15);
    // OpenAI's client library requires the member even if the count is unknown.
    assert_eq!(response["usage"]["input_tokens_details"]["cache_write_tokens"], 0);
    assert_eq!(response["usage"]["input_tokens_details"]["cached_tokens"], 8);
    assert_eq!(done[0]["encrypted_content"], "muninn-1");
    assert_eq!(done[1]["encrypted_content"], "EoC");
    assert_eq!(done[3]["type"], "custom_tool_call");
    assert_eq!((&done[3]["namespace"], &done[3]["input"]), (&"functions".into(), &"ls\n".into()));
    assert_eq!((&done[4]["namespace"], &done[4]["name"]), (&"mcp__docs".into(), &"search".into()));
    assert_eq!(done[4]["call_id"], "call_m_functions_2ef_3a0");
    assert_eq!((&done[5]["type"], &done[5]["arguments"]["query"]), (&"tool_search_call".into(), &"x".into()));
}

#[test]
fn failures_end_with_their_own_event() {
    let kinds = [
        (FailureKind::ContextOverflow, "context_length_exceeded"),
        (FailureKind::Authentication, "invalid_prompt"),
        (FailureKind::RateLimit, "rate_limit_exceeded"),
        (FailureKind::Overloaded, "server_is_overloaded"),
        (FailureKind::Server, "server_error"),
    ];
    for (kind, code) in kinds {
        let message = "no".to_owned();
        let events = written(&[Event::Failed(Failure { kind, message })]);
        assert_eq!(events[0].0, "response.created");
        let (name, data) = events.last().unwrap();
        assert_eq!(name, "response.failed");
        let expected = serde_json::json!({"code": code, "message": "no"});
        assert_eq!((&data["response"]["status"], &data["response"]["error"]), (&"failed".into(), &expected));
    }
}
