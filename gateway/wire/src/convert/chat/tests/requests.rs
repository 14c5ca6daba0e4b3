//! Tests of requests, read and written.

use serde_json::{Value, json};

use super::super::super::ToolNames;
use super::super::super::request::{Dropped, Message, Part, Request, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{read_request, write_request};
use super::{case, golden, parsed};
use crate::convert::ConvertError;
use crate::scan::Body;
use crate::{Members, ParseError};

fn again(body: &str) -> (String, Dropped) {
    let mut dropped = Dropped::default();
    let read = Body::of(body.trim(), "messages").unwrap();
    let request = read_request(read, &mut dropped).unwrap();
    let body = write_request(&request, &mut dropped, &mut ToolNames::default());
    (body, dropped)
}

fn written(messages: Vec<Message<'_>>) -> Value {
    let request = Request { messages, ..Request::default() };
    let body = write_request(&request, &mut Dropped::default(), &mut ToolNames::default());
    parsed(&body)["messages"].take()
}

fn message(speaker: Speaker, parts: Vec<Part<'_>>) -> Message<'_> {
    Message { speaker, parts }
}

fn call(id: &'static str) -> Part<'static> {
    Part::ToolCall(ToolCall { id: id.into(), name: "read".into(), arguments: "{}".into() })
}

fn result(call: &'static str, parts: Vec<Part<'static>>, is_error: bool) -> Part<'static> {
    Part::ToolResult(ToolResult { call: call.into(), parts, is_error })
}

fn image() -> Part<'static> {
    Part::Image { source: Source::Base64 { media_type: "image/png".into(), data: "AAAA".into() }, detail: None }
}

#[test]
fn written_requests_are_stable() {
    for (name, body) in golden("request") {
        let (once, _) = again(&body);
        let (twice, _) = again(&once);
        assert_eq!(once, twice, "{name}");
        assert_eq!(parsed(&once)["model"], parsed(&body)["model"], "{name}");
    }
}

#[test]
fn portable_requests_are_written_unchanged() {
    // `max_completion_tokens`, `metadata` and empty values are changed on purpose.
    let portable = ["plain", "parallel_calls_and_results", "opencode_tools", "json_object", "images"];
    for name in portable {
        let (mut before, mut after) = (parsed(&case("request", name)), parsed(&again(&case("request", name)).0));
        for body in [&mut before, &mut after] {
            for message in body["messages"].as_array_mut().unwrap() {
                let message = message.as_object_mut().unwrap();
                message.retain(|key, value| {
                    !value.is_null() && value != &json!([]) && !(key == "content" && value == &json!(""))
                });
            }
        }
        if name == "parallel_calls_and_results" {
            before["messages"][3]["content"] = json!("sun\n\n17 degrees");
        }
        if name == "opencode_tools" {
            before["tools"][1]["function"]["parameters"] = json!({"type": "object", "properties": {}});
        }
        assert_eq!(before, after, "{name}");
    }
}

#[test]
fn numbers_and_schemas_keep_the_clients_text() {
    let (body, dropped) = again(&case("request", "every_parameter"));
    for text in [r#""temperature":0.70"#, r#""top_p":1e-1"#, r#""seed":12345678901234567890"#, r#""top_k":20"#] {
        assert!(body.contains(text), "{text} in {body}");
    }
    assert_eq!(dropped.iter().collect::<Vec<_>>(), [("metadata", 1)]);
    let (body, _) = again(&case("request", "tool_choice_required_no_parallel"));
    assert!(body.contains(r#""maximum":9007199254740993"#), "{body}");
}

#[test]
fn string_and_list_of_one_text_are_equal() {
    let (plain, parts) = (case("request", "plain"), case("request", "text_parts_equal_plain"));
    assert_eq!(again(&plain), again(&parts));
}

#[test]
fn dropped_fields_are_named_and_counted() {
    let cases = [
        (
            "chat_only_fields",
            "audio,function_call,functions,guided_regex,logit_bias,logprobs,messages.audio,messages.function,min_p,\
             modalities,n,prediction,service_tier,store,tools.custom,top_logprobs",
        ),
        ("cache_control", "messages.cache_control,tools.cache_control"),
        ("files_and_audio", "messages.document,messages.input_audio"),
        ("plain", ""),
        ("opencode_tools", ""),
        ("parallel_calls_and_results", ""),
        ("thinking_switched_by_template", "reasoning.enabled"),
    ];
    for (name, expected) in cases {
        let (_, dropped) = again(&case("request", name));
        let names: Vec<_> = dropped.iter().map(|(name, _)| name).collect();
        assert_eq!(names.join(","), expected, "{name}");
    }
    let (_, dropped) = again(&case("request", "cache_control"));
    assert_eq!(dropped.iter().next(), Some(("messages.cache_control", 2)));
}

#[test]
fn invalid_requests_are_refused() {
    for body in [r#"{"model":"m"}"#, r#"{"messages":{}}"#, r#"{"messages":["hi"]}"#] {
        let read = Body::of(body, "messages").unwrap();
        assert!(read_request(read, &mut Dropped::default()).is_err(), "{body}");
    }
    for body in [r#"{"messages":[{}]}"#, r#"{"messages":[{"role":3,"content":7}]}"#] {
        let read = Body::of(body, "messages").unwrap();
        let place = ParseError::Content { list: "messages", index: 0 };
        let error = read_request(read, &mut Dropped::default()).unwrap_err();
        assert_eq!(error, ConvertError::Parse(place), "{body}");
    }
    let odd = r#"{"messages":[{"role":"user","content":[1,{"type":2},"a"]},
        {"role":"assistant","tool_calls":[1,{},{"function":{"name":"f","arguments":{"a":1}}}]}],
        "tools":[1,{"name":"g"}],"tool_choice":7,"stop":[1],"temperature":"hot","response_format":1,"stream":1}"#;
    let (body, _) = again(odd);
    assert_eq!(
        parsed(&body)["messages"],
        json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "", "content": "[no result: the call was interrupted]"},
        ])
    );
}

#[test]
fn results_follow_their_calls() {
    let text = Part::text;
    let user = |parts| message(Speaker::User, parts);
    let model = |parts| message(Speaker::Assistant, parts);
    let called = |ids: &[&str]| {
        let calls: Vec<_> = ids
            .iter()
            .map(|id| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}}))
            .collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    };
    let tool = |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
    let cases = [
        (
            // Text before a result is moved after it, and an interrupted call gets a result.
            vec![
                model(vec![call("a"), call("b")]),
                user(vec![text("stop"), result("a", vec![text("1"), text("2")], false)]),
            ],
            json!([called(&["a", "b"]), tool("a", "1\n\n2"), tool("b", "[no result: the call was interrupted]"),
                {"role": "user", "content": "stop"}]),
        ),
        (
            // Errors are marked once.
            vec![
                model(vec![call("a"), call("b")]),
                user(vec![result("a", vec![text("no such file")], true), result("b", vec![text("ERROR 2")], true)]),
            ],
            json!([called(&["a", "b"]), tool("a", "Error: no such file"), tool("b", "ERROR 2")]),
        ),
        (
            // Images follow in the user's message.
            vec![
                model(vec![call("a"), call("b")]),
                user(vec![result("a", vec![image()], false), result("b", vec![text("ok")], false), text("see?")]),
            ],
            json!([called(&["a", "b"]), tool("a", "[an image, which follows]"), tool("b", "ok"),
            {"role": "user", "content": [
                {"type": "text", "text": "From the result of read:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "text", "text": "see?"},
            ]}]),
        ),
        (
            // A result without a call, or a second result of a call, becomes text of the user.
            vec![
                model(vec![call("a")]),
                user(vec![result("a", vec![text("1")], false), result("a", vec![text("2")], false)]),
            ],
            json!([called(&["a"]), tool("a", "1"), {"role": "user", "content": "Result of an earlier tool call:\n2"}]),
        ),
        (
            // Empty parts make no message, and adjacent messages of one side are merged.
            vec![
                user(vec![text("1")]),
                model(vec![text(""), Part::Thinking(Thinking { text: "hm".into(), seal: Some("muninn-1".into()) })]),
                user(vec![text("2")]),
                message(Speaker::System, vec![text("mode"), text("plan")]),
            ],
            json!([{"role": "user", "content": "1\n\n2\n\n<system-reminder>\nmode\n\nplan\n</system-reminder>"}]),
        ),
    ];
    for (messages, expected) in cases {
        assert_eq!(written(messages), expected);
    }
}

#[test]
fn thinking_is_sent_in_the_member_that_it_came_in() {
    let thinking = |seal: &'static str| Part::Thinking(Thinking { text: "hm".into(), seal: Some(seal.into()) });
    for (seal, name) in [("muninn-1", Some("reasoning_content")), ("muninn-2", Some("reasoning")), ("ErUB", None)] {
        let messages = vec![message(Speaker::Assistant, vec![thinking(seal), Part::text("Yes.")])];
        let mut expected = json!({"role": "assistant", "content": "Yes."});
        if let Some(name) = name {
            expected[name] = json!("hm");
        }
        assert_eq!(written(messages), json!([expected]), "{seal}");
    }
}

#[test]
fn appended_conversation_keeps_its_beginning() {
    for (name, body) in golden("request") {
        let whole = parsed(&body);
        let messages = whole["messages"].as_array().unwrap();
        let all = again(&body).0;
        let all = Members::of(&all).unwrap().get("messages").unwrap();
        // A request ends before a message of the model.
        let ends = messages.iter().enumerate().skip(1);
        for (end, _) in ends.filter(|(_, message)| message["role"] == "assistant") {
            let mut earlier = whole.clone();
            earlier["messages"].as_array_mut().unwrap().truncate(end);
            let earlier = again(&earlier.to_string()).0;
            let earlier = Members::of(&earlier).unwrap().get("messages").unwrap();
            let beginning = earlier.trim_end_matches([']', '}', '"']);
            assert!(all.starts_with(beginning), "{name} at {end}: {beginning}");
        }
    }
}

#[test]
fn long_tool_names_are_shortened() {
    let mut names = ToolNames::default();
    let body = case("request", "tool_choice_required_no_parallel");
    let read = Body::of(body.trim(), "messages").unwrap();
    let request = read_request(read, &mut Dropped::default()).unwrap();
    let body = write_request(&request, &mut Dropped::default(), &mut names);
    let name = parsed(&body)["tools"][0]["function"]["name"].as_str().unwrap().to_owned();
    assert_eq!(name.len(), 64);
    assert_eq!(names.client_name(&name), request.tools[0].name);
}
