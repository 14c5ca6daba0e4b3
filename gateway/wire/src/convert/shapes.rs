//! Tests of requests with unusual shapes: unknown content, and names of tools that the backend's format does not allow.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::golden::FORMATS;
use super::*;
use crate::WireFormat;

/// A request with a message, tools of these names, a call of each tool, and a choice of the last tool.
fn with_tools(names: &[&str]) -> String {
    let tools = names.iter().map(|name| json!({"type": "function", "function": {"name": name}}));
    let call = |(at, name): (usize, &&str)| json!({"id": format!("call_{at}"), "type": "function", "function": {"name": name, "arguments": "{}"}});
    let result = |at: usize| json!({"role": "tool", "tool_call_id": format!("call_{at}"), "content": "r"});
    let mut messages = vec![
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": null, "tool_calls": names.iter().enumerate().map(call).collect::<Vec<_>>()}),
    ];
    messages.extend((0..names.len()).map(result));
    json!({"model": "m", "messages": messages, "tools": tools.collect::<Vec<_>>(), "tool_choice": {"type": "function", "function": {"name": names.last()}}}).to_string()
}

#[test]
fn replaced_tool_names_are_distinct_and_restored_in_answers() {
    let names = ["a.b", "a b", "a_b", "größe", "ok-1", "a/b"];
    let body = with_tools(&names);
    let converted = request(WireFormat::Chat, WireFormat::Messages, &body).unwrap();
    assert_eq!(converted.body, request(WireFormat::Chat, WireFormat::Messages, &body).unwrap().body);
    let sent: Value = serde_json::from_str(&converted.body).unwrap();
    let names_in = |list: &Value| -> Vec<String> {
        let entries = list.as_array().unwrap().iter();
        entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
    };
    let tools = names_in(&sent["tools"]);
    let plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    assert!(tools.iter().all(plain), "{tools:?}");
    assert_eq!(tools.iter().collect::<BTreeSet<_>>().len(), names.len(), "{tools:?}");
    assert_eq!((&*tools[2], &*tools[4]), ("a_b", "ok-1"));
    assert_eq!(names_in(&sent["messages"][1]["content"]), tools, "earlier calls have the same names");
    assert_eq!(sent["tool_choice"]["name"], tools[5].as_str());

    for (name, tool) in names.iter().zip(&tools) {
        let converter = || AnswerConverter::new(WireFormat::Messages, WireFormat::Chat, converted.context.clone());
        let whole =
            json!({"content": [{"type": "tool_use", "id": "t", "name": tool, "input": {}}], "stop_reason": "tool_use"});
        let answer: Value = serde_json::from_str(&converter().whole(&whole.to_string()).unwrap()).unwrap();
        assert_eq!(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], *name);
        let streamed = converter().whole_as_stream(&whole.to_string());
        assert!(streamed.contains(&format!("\"name\":\"{name}\"")), "{streamed}");
    }
}

#[test]
fn replaced_tool_name_depends_only_on_the_name() {
    let name = |names: &[&str]| {
        let body = request(WireFormat::Chat, WireFormat::Messages, &with_tools(names)).unwrap().body;
        let sent: Value = serde_json::from_str(&body).unwrap();
        sent["tools"][0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(name(&["a.b"]), name(&["a.b", "a_b", "a b"]));
}

#[test]
fn unreadable_content_is_refused_with_its_position() {
    let user = r#"{"role":"user","content":"a"}"#;
    for content in [r#","content":5"#, r#","content":true"#, r#","content":null"#, ""] {
        for (from, list) in
            [(WireFormat::Chat, "messages"), (WireFormat::Messages, "messages"), (WireFormat::Responses, "input")]
        {
            let body = format!(r#"{{"model":"m","{list}":[{user},{{"role":"user"{content}}}]}}"#);
            for (to, _) in FORMATS.iter().filter(|(to, _)| *to != from) {
                let error = request(from, *to, &body).unwrap_err();
                assert_eq!(
                    error.to_string(),
                    format!("`{list}[1].content` must be a string or an array of parts"),
                    "{from:?} to {to:?}: {content}"
                );
            }
        }
    }
}

#[test]
fn dropped_content_is_named() {
    for (from, message, name) in [
        (WireFormat::Chat, r#"{"role":"user","content":["a",7]}"#, "messages.content"),
        (WireFormat::Chat, r#"{"role":"user","content":["a",{"type":"text","text":7}]}"#, "messages.text"),
        (WireFormat::Messages, r#"{"role":"user","content":["a",7]}"#, "messages.content"),
        (WireFormat::Messages, r#"{"role":"user","content":["a",{"type":"text","text":7}]}"#, "messages.text"),
        (WireFormat::Messages, r#"{"role":"user","content":["a",{"type":"text"}]}"#, "messages.text"),
        (WireFormat::Responses, r#"{"role":"user","content":["a",7]}"#, "input.content"),
        (
            WireFormat::Responses,
            r#"{"role":"user","content":["a",{"type":"input_text","text":7}]}"#,
            "input.input_text",
        ),
    ] {
        let body = format!(r#"{{"model":"m","{}":[{message}]}}"#, from.conversation());
        for (to, _) in FORMATS.iter().filter(|(to, _)| *to != from) {
            let converted = request(from, *to, &body).unwrap();
            let dropped: Vec<_> = converted.dropped.iter().map(|(name, _)| name).collect();
            assert_eq!(dropped, [name], "{from:?} to {to:?}: {message}");
        }
    }
}

#[test]
fn single_part_is_read_as_a_list_of_one() {
    for (from, part) in [
        (WireFormat::Chat, r#"{"type":"text","text":"alone"}"#),
        (WireFormat::Messages, r#"{"type":"text","text":"alone"}"#),
        (WireFormat::Responses, r#"{"type":"input_text","text":"alone"}"#),
    ] {
        let body = format!(r#"{{"model":"m","{}":[{{"role":"user","content":{part}}}]}}"#, from.conversation());
        for (to, _) in FORMATS.iter().filter(|(to, _)| *to != from) {
            assert!(request(from, *to, &body).unwrap().body.contains("alone"), "{from:?} to {to:?}");
        }
    }
}

#[test]
fn tool_result_that_is_not_text_is_sent_as_its_json_text() {
    let called = |result: &str, from| match from {
        WireFormat::Chat => format!(
            r#"{{"role":"user","content":"a"}},{{"role":"assistant","tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"c","content":{result}}}"#
        ),
        WireFormat::Messages => format!(
            r#"{{"role":"user","content":"a"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"f","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":{result}}}]}}"#
        ),
        WireFormat::Responses => format!(
            r#"{{"role":"user","content":"a"}},{{"type":"function_call","call_id":"c","name":"f","arguments":"{{}}"}},{{"type":"function_call_output","call_id":"c","output":{result}}}"#
        ),
    };
    for (result, written) in [("57", "57"), (r#"{"rows":57}"#, r#"{\"rows\":57}"#)] {
        for (from, _) in FORMATS {
            let body = format!(r#"{{"model":"m","{}":[{}]}}"#, from.conversation(), called(result, from));
            for (to, _) in FORMATS.iter().filter(|(to, _)| *to != from) {
                let sent = request(from, *to, &body).unwrap().body;
                assert!(sent.contains(&format!("\"{written}\"")), "{from:?} to {to:?}: {sent}");
            }
        }
    }
}
