//! Tests of requests, read and written.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::super::request::{Dropped, Message, Part, Request, Speaker, ToolCall, ToolResult};
use super::super::super::{AnswerContext, ConvertError, SpecialKind, SpecialTool, ToolNames};
use super::super::{read_request, write_request};
use super::golden;
use crate::scan::Body;

struct Round {
    body: Value,
    dropped: Vec<String>,
    special: BTreeMap<String, SpecialTool>,
}

fn round(body: &str) -> Round {
    let (mut dropped, mut context) = (Dropped::default(), AnswerContext::default());
    let read = Body::of(body.trim(), "input").unwrap();
    let request = read_request(read, &mut dropped, &mut context).unwrap();
    let body = write_request(&request, &mut dropped, &mut ToolNames::default());
    Round {
        body: serde_json::from_str(&body).unwrap(),
        dropped: dropped.iter().map(|(name, _)| name.to_owned()).collect(),
        special: context.special,
    }
}

#[test]
fn dropped_fields_are_named() {
    let cases: [(&str, &[&str]); 12] = [
        ("codex_first_turn", &["tools.web_search"]),
        ("codex_parallel_calls", &["tools.web_search"]),
        ("codex_tools_as_items", &[]),
        ("codex_tool_search", &[]),
        ("codex_title", &[]),
        ("plain_string", &[]),
        ("sdk_items_without_type", &["service_tier", "truncation"]),
        ("image_and_file", &["input.input_audio", "messages.document.file"]),
        (
            "hosted_tools_and_their_items",
            &[
                "include.web_search_call.action.sources",
                "input.web_search_call",
                "tools.code_interpreter",
                "tools.file_search",
                "tools.image_generation",
                "tools.mcp",
                "tools.web_search",
            ],
        ),
        ("foreign_sealed_reasoning", &["messages.thinking"]),
        ("local_shell_history", &["tools.local_shell"]),
        ("agent_message", &["input.encrypted_content"]),
    ];
    let requests = golden("request");
    for (name, expected) in cases {
        assert_eq!(round(&requests[name]).dropped, expected, "{name}");
    }
    for (name, body) in requests {
        let round = round(&body);
        assert_eq!(round.body["store"], false, "{name}");
        assert!(!round.body["input"].as_array().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn appended_conversation_keeps_its_beginning() {
    let requests = golden("request");
    let items = |name: &str| round(&requests[name]).body["input"].as_array().unwrap().clone();
    let turns = ["codex_first_turn", "codex_parallel_calls", "codex_custom_tool_in_history"].map(items);
    for pair in turns.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:#?}");
    }
    let plain = round(r#"{"model":"m","input":"hi"}"#).body;
    let listed =
        r#"{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#;
    assert_eq!(plain, round(listed).body);
}

#[test]
fn tools_get_flat_names_and_are_recorded_as_special() {
    let requests = golden("request");
    let Round { body, special, .. } = round(&requests["codex_tools_as_items"]);
    let names: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["exec", "wait", "mcp__docs__search"]);
    assert_eq!(special["exec"].kind, SpecialKind::Custom);
    assert_eq!(special["exec"].namespace.as_deref(), Some("functions"));
    assert_eq!(special["mcp__docs__search"].name, "search");
    let description = |tool: usize| body["tools"][tool]["description"].as_str().unwrap();
    assert!(description(0).contains("lark grammar:\n\nstart: /[^]+/"), "{}", description(0));
    assert_eq!(description(2), "Looks things up in the project's documents.\n\nSearches");
    let input = body["input"].as_array().unwrap();
    assert_eq!(input[1]["arguments"], r#"{"input":"text(await tools.exec_command({cmd:\"ls\"}))"}"#);
    assert_eq!(input[2]["output"], "Script completed\n\nCargo.toml\nsrc");
    assert_eq!(input[3]["content"][0]["text"], "Further output of exec:");
    assert_eq!(input[4]["name"], "mcp__docs__search");

    let Round { body, special, .. } = round(&requests["codex_tool_search"]);
    assert_eq!(special["tool_search"].kind, SpecialKind::Search);
    assert_eq!(body["tools"][2]["name"], "mcp__tracker__create_issue");
    assert_eq!(body["input"][2]["output"], "Tools found: mcp__tracker__create_issue");
}

#[test]
fn choices_settings_and_messages_are_converted() {
    let requests = golden("request");
    let body = |name: &str| round(&requests[name]).body;
    assert_eq!(body("forced_function")["tool_choice"]["name"], "get_weather");
    assert_eq!(body("forced_function")["tools"][0]["strict"], true);
    let allowed = body("allowed_tools");
    assert_eq!((&allowed["tool_choice"], allowed["tools"].as_array().unwrap().len()), (&"required".into(), 1));
    assert_eq!(body("hosted_tools_and_their_items").get("tool_choice"), None);
    assert_eq!(body("codex_configuration_update")["reasoning"]["effort"], "high");
    assert_eq!(body("codex_configuration_update")["include"][0], "reasoning.encrypted_content");
    let title = body("codex_title");
    assert_eq!(
        (&title["text"]["format"]["name"], &title["text"]["verbosity"]),
        (&"codex_output_schema".into(), &"low".into())
    );
    let sdk = body("sdk_items_without_type");
    assert_eq!((&sdk["instructions"], &sdk["safety_identifier"]), (&"Be brief.".into(), &"u-17".into()));
    let middle = body("system_in_the_middle");
    assert_eq!(middle["instructions"], "You are helpful.\n\nHouse rules.");
    assert_eq!(middle["input"][2]["role"], "developer");
    assert_eq!(body("open_reasoning")["input"][1]["content"][0]["text"], "Let me think.\n\nYes.");
    let image = body("codex_view_image");
    assert_eq!(image["input"][2]["output"][0]["image_url"], "data:image/png;base64,iVBORw0KGgo=");
}

#[test]
fn numbers_keep_the_clients_text() {
    let read = Body::of(r#"{"model":"m","input":"x","temperature":0.20,"max_output_tokens":5}"#, "input").unwrap();
    let request = read_request(read, &mut Dropped::default(), &mut AnswerContext::default()).unwrap();
    let body = write_request(&request, &mut Dropped::default(), &mut ToolNames::default());
    assert!(body.contains(r#""temperature":0.20"#), "{body}");
    assert!(body.contains(r#""max_output_tokens":16"#), "{body}");
}

#[test]
fn each_call_has_one_output_and_each_output_a_call() {
    let input = round(&golden("request")["interrupted_call"]).body["input"].clone();
    let kinds: Vec<_> = input.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output", "message", "message", "message"]);
    assert_eq!(input[1]["arguments"], "{}");
    assert_eq!(input[2]["output"], "[no result: the call was interrupted]");
    assert_eq!(input[4]["content"][0]["text"], "Result of the tool call call_gone:");
    assert_eq!(input[5]["content"][1]["text"], "no call");
}

#[test]
fn failed_result_is_marked_as_error() {
    let result = |text: &'static str| Message {
        speaker: Speaker::User,
        parts: vec![Part::ToolResult(ToolResult { call: "c".into(), parts: vec![Part::text(text)], is_error: true })],
    };
    let call = || Message {
        speaker: Speaker::Assistant,
        parts: vec![Part::ToolCall(ToolCall { id: "c".into(), name: "t".into(), arguments: "{}".into() })],
    };
    for (text, expected) in [("no such file", "Error: no such file"), ("error: denied", "error: denied")] {
        let request = Request { messages: vec![call(), result(text)], ..Request::default() };
        let body = write_request(&request, &mut Dropped::default(), &mut ToolNames::default());
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["input"][1]["output"], expected);
    }
}

#[test]
fn state_held_by_the_vendor_is_refused() {
    let cases = [
        (r#""previous_response_id":"resp_1""#, "previous_response_id"),
        (r#""conversation":"conv_1""#, "conversation"),
        (r#""prompt":{"id":"p"}"#, "prompt"),
        (r#""background":true"#, "background"),
        (r#""input":[{"type":"item_reference","id":"msg_1"}]"#, "input.item_reference"),
        (r#""input":[{"type":"compaction","encrypted_content":"gAAA"}]"#, "input.compaction"),
    ];
    for (member, field) in cases {
        let body = format!(r#"{{"model":"m","input":"x",{member}}}"#);
        let read = Body::of(&body, "input").unwrap();
        let error = read_request(read, &mut Dropped::default(), &mut AnswerContext::default()).unwrap_err();
        let format = "responses";
        assert_eq!(error, ConvertError::HeldElsewhere { field, format });
    }
    for body in [r#"{"model":"m"}"#, r#"{"input":"x"}"#, r#"{"model":"m","input":7}"#] {
        let read = Body::of(body, "input").unwrap();
        let read = read_request(read, &mut Dropped::default(), &mut AnswerContext::default());
        assert!(matches!(read, Err(ConvertError::Parse(_))), "{body}");
    }
    let body = r#"{"model":"m","input":"x","previous_response_id":null,"background":false,"prompt":null}"#;
    assert!(round(body).dropped.is_empty());
}
