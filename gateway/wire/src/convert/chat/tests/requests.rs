//! Tests of requests.

use serde_json::{Value, json};

use super::super::super::ToolNames;
use super::super::super::request::{Dropped, Message, Part, Request, Source, Speaker, Thinking, ToolCall, ToolResult};
use super::super::{read_request, write_request};
use crate::convert::{ConvertError, request};
use crate::scan::Body;
use crate::{ParseError, WireFormat};

fn written(messages: Vec<Message<'_>>) -> Value {
    let request = Request { messages, ..Request::default() };
    let body = write_request(&request, &mut Dropped::default(), &mut ToolNames::default());
    serde_json::from_str::<Value>(&body).unwrap()["messages"].take()
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
fn settings_keep_the_clients_text() {
    let body = r#"{"model":"m","input":"x","seed":12345678901234567890,"top_k":20,"presence_penalty":1e-1,
        "frequency_penalty":0.50,"text":{"format":{"type":"json_object"}}}"#;
    let sent = request(WireFormat::Responses, WireFormat::Chat, body).unwrap().body;
    let settings = r#""top_k":20,"seed":12345678901234567890,"presence_penalty":1e-1,"frequency_penalty":0.50,"response_format":{"type":"json_object"}"#;
    assert!(sent.contains(settings), "{sent}");
}

#[test]
fn models_of_openai_get_what_they_take() {
    let sent = |model: &str| {
        let body = format!(
            r#"{{"model":"{model}","max_tokens":100,"temperature":0.5,"top_p":0.9,"top_k":20,"stop_sequences":["x"],
            "messages":[{{"role":"user","content":"a"}}]}}"#
        );
        let converted = request(WireFormat::Messages, WireFormat::Chat, &body).unwrap();
        let body: Value = serde_json::from_str(&converted.body).unwrap();
        let names = ["max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "stop"];
        let kept: Vec<_> = names.into_iter().filter(|name| body.get(*name).is_some()).collect();
        let dropped: Vec<_> = converted.dropped.iter().map(|(name, _)| name.to_owned()).collect();
        // A stop sequence that the backend does not get is one to cut the answer at.
        let cut = if kept.contains(&"stop") { vec![] } else { vec!["x"] };
        assert_eq!(converted.context.stops, cut, "{model}");
        (kept.join(" "), dropped.join(" "))
    };
    for (model, kept, dropped) in [
        ("qwen3-coder", "max_tokens temperature top_p top_k stop", ""),
        ("gpt-4o", "max_completion_tokens temperature top_p stop", "top_k"),
        ("gpt-5.1", "max_completion_tokens", "temperature top_p top_k"),
        ("o3", "max_completion_tokens", "temperature top_p top_k"),
    ] {
        let (is_kept, is_dropped) = sent(model);
        assert_eq!(is_kept, kept, "{model}");
        let mut names: Vec<_> = is_dropped.split(' ').collect();
        let mut expected: Vec<_> = dropped.split(' ').collect();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "{model}");
    }
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
    let request = read_request(Body::of(odd, "messages").unwrap(), &mut Dropped::default()).unwrap();
    assert_eq!(
        written(request.messages),
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
