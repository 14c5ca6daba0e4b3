//! Requests, read and written.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::ToolNames;
use super::super::request::{
    Dropped, Message, Part, Reasoning, Request, Sampling, Source, Speaker, Thinking, Tool, ToolCall, ToolChoice,
    ToolResult,
};
use super::{read_request, write_request};
use crate::wire::Members;

fn again(body: &str) -> (String, Dropped) {
    let mut dropped = Dropped::default();
    let members = Members::of(body.trim()).unwrap();
    let request = read_request(&members, &mut dropped).unwrap();
    let body = write_request(&request, &mut dropped, &mut ToolNames::default());
    (body, dropped)
}

fn case(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire/convert/golden/messages/request");
    fs::read_to_string(folder.join(format!("{name}.json"))).unwrap()
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn body(request: &Request<'_>) -> Value {
    parsed(&write_request(
        request,
        &mut Dropped::default(),
        &mut ToolNames::default(),
    ))
}

fn written(messages: Vec<Message<'_>>) -> Value {
    let request = Request {
        messages,
        ..Request::default()
    };
    body(&request)["messages"].take()
}

fn message(speaker: Speaker, parts: Vec<Part<'_>>) -> Message<'_> {
    Message { speaker, parts }
}

fn user(text: &str) -> Message<'_> {
    message(Speaker::User, vec![Part::text(text)])
}

fn call(id: &'static str, arguments: &'static str) -> Part<'static> {
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments: arguments.into(),
    })
}

fn result(call: &'static str, parts: Vec<Part<'static>>, is_error: bool) -> Part<'static> {
    Part::ToolResult(ToolResult {
        call: call.into(),
        parts,
        is_error,
    })
}

fn thought(seal: Option<&'static str>) -> Part<'static> {
    Part::Thinking(Thinking {
        text: "Hm.".into(),
        seal: seal.map(Into::into),
    })
}

#[test]
fn requests_stay_as_they_are_once_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire/convert/golden/messages/request");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (once, _) = again(&fs::read_to_string(&path).unwrap());
        let (twice, dropped) = again(&once);
        assert_eq!(once, twice, "{}", path.display());
        assert!(dropped.is_empty(), "{}: {dropped:?}", path.display());
        count += 1;
    }
    assert!(count >= 15);
}

#[test]
fn a_string_and_a_list_of_one_text_are_the_same() {
    assert_eq!(again(&case("plain")), again(&case("blocks_equal_plain")));
    assert_eq!(parsed(&again(&case("plain")).0), parsed(&case("plain")));
}

#[test]
fn the_line_of_attribution_changes_nothing() {
    let one = case("claude_code");
    let other = one.replace("cch=00000;", "cch=5f21c;");
    assert_ne!(one, other);
    assert_eq!(again(&one), again(&other));
    assert!(
        again(&one)
            .1
            .iter()
            .any(|dropped| dropped == ("system.billing_header", 1))
    );
    assert_eq!(
        parsed(&again(&case("claude_code_classifier")).0)["system"],
        "You judge tool calls."
    );
}

#[test]
fn numbers_and_schemas_are_the_clients_text() {
    let (body, dropped) = again(&case("every_parameter"));
    for text in [
        r#""temperature":0.70"#,
        r#""top_k":20"#,
        r#""maximum":9007199254740993"#,
    ] {
        assert!(body.contains(text), "{text} in {body}");
    }
    assert_eq!(dropped.iter().collect::<Vec<_>>(), [("service_tier", 1), ("top_p", 1)]);
}

#[test]
fn every_call_is_followed_by_its_result() {
    let written = written(vec![
        message(
            Speaker::Assistant,
            vec![call("a b", "{\"x\":"), call("a b", ""), call("c", " {} ")],
        ),
        user("Stop"),
        message(
            Speaker::User,
            vec![
                result("a b", vec![], true),
                result("zz", vec![Part::text("late")], false),
            ],
        ),
    ]);
    assert_eq!(
        written,
        json!([
            {"role": "user", "content": "[the conversation begins here]"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_m_a_20b", "name": "read", "input": {"broken_arguments": "{\"x\":"}},
                {"type": "tool_use", "id": "toolu_m_a_20b_2", "name": "read", "input": {}},
                {"type": "tool_use", "id": "c", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_m_a_20b", "content": "[failed without output]", "is_error": true},
                {"type": "tool_result", "tool_use_id": "toolu_m_a_20b_2", "content": "[no result: the call was interrupted]"},
                {"type": "tool_result", "tool_use_id": "c", "content": "[no result: the call was interrupted]"},
                {"type": "text", "text": "Stop"},
                {"type": "text", "text": "Result of an earlier tool call:"},
                {"type": "text", "text": "late"},
            ]},
        ])
    );
}

#[test]
fn what_vanishes_leaves_turns_that_alternate() {
    let written = written(vec![
        user("One"),
        message(Speaker::Assistant, vec![thought(Some("ErUB")), Part::text(" \n")]),
        message(Speaker::System, vec![Part::text("Mind")]),
        message(
            Speaker::Assistant,
            vec![thought(None), thought(Some("muninn-1")), thought(Some("gAAAAABo"))],
        ),
        message(
            Speaker::User,
            vec![Part::Image {
                source: Source::Url("file:///a.png".into()),
                detail: None,
            }],
        ),
        message(Speaker::Assistant, vec![thought(Some("ErUB")), Part::text("So: ")]),
    ]);
    assert_eq!(
        written,
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "One"},
                {"type": "text", "text": "<system-reminder>\nMind\n</system-reminder>"},
                {"type": "text", "text": "[image omitted]"},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "ErUB"},
                {"type": "text", "text": "So:"},
            ]},
        ])
    );
}

fn raw(json: &str) -> &serde_json::value::RawValue {
    serde_json::from_str(json).unwrap()
}

#[test]
fn thinking_fits_its_tokens() {
    let with = |effort: Option<&'static str>, budget, enabled, max_tokens: Option<&'static str>| {
        let request = Request {
            messages: vec![user("Go")],
            reasoning: Reasoning {
                effort: effort.map(Into::into),
                budget,
                enabled,
            },
            sampling: Sampling {
                max_tokens: max_tokens.map(raw),
                temperature: Some(raw("1.5")),
                ..Sampling::default()
            },
            ..Request::default()
        };
        let body = body(&request);
        let thinks = body.get("thinking").is_some();
        assert_eq!(body.get("temperature").is_none(), thinks, "{body}");
        assert!(thinks || body["temperature"] == 1);
        (
            body["thinking"]["budget_tokens"].as_u64(),
            body["max_tokens"].as_u64().unwrap(),
        )
    };
    assert_eq!(with(None, None, None, None), (None, 8192));
    assert_eq!(with(Some("low"), None, None, None), (Some(4096), 12288));
    assert_eq!(with(Some("high"), None, None, None), (Some(23808), 32000));
    assert_eq!(with(Some("high"), None, None, Some("64000")), (Some(32000), 64000));
    assert_eq!(with(Some("low"), None, None, Some("2000")), (None, 2000));
    assert_eq!(with(None, Some(5000), Some(true), Some("4000")), (Some(3999), 4000));
    assert_eq!(with(None, None, Some(true), Some("9000")), (Some(4096), 9000));
    assert_eq!(with(Some("high"), None, Some(false), None), (None, 8192));
    assert_eq!(with(Some("none"), None, None, None), (None, 8192));
}

#[test]
fn thinking_does_not_begin_in_the_middle() {
    let thinks = |first: Option<Part<'static>>, choice: Option<ToolChoice<'static>>| {
        let mut parts: Vec<_> = first.into_iter().collect();
        parts.push(call("c", "{}"));
        let request = Request {
            messages: vec![
                user("Go"),
                message(Speaker::Assistant, parts),
                message(Speaker::User, vec![result("c", vec![Part::text("1")], false)]),
            ],
            tools: vec![Tool {
                name: "read".into(),
                description: None,
                schema: None,
                strict: None,
                cache_control: None,
            }],
            tool_choice: choice,
            reasoning: Reasoning {
                enabled: Some(true),
                ..Reasoning::default()
            },
            ..Request::default()
        };
        body(&request).get("thinking").is_some()
    };
    assert!(thinks(Some(thought(Some("ErUB"))), None));
    assert!(!thinks(Some(thought(Some("muninn-1"))), None));
    assert!(!thinks(None, None));
    assert!(!thinks(Some(thought(Some("ErUB"))), Some(ToolChoice::Required)));
}
