//! Reading answers, errors and malformed bodies.

use muninn_tests::Reply as Sent;
use muninn_text::model::Usage;

use super::*;

/// The same answer in each format: thinking, text, two calls and usage.
fn looking(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Chat => {
            r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant",
            "reasoning_content":"hm","content":"Looking.","tool_calls":[
            {"id":"call_1","type":"function","function":{"name":"grep","arguments":"{\"pattern\":\"x\"}"}},
            {"id":"call_2","type":"function","function":{"name":"grep","arguments":"{\"pattern\":"}}]},"finish_reason":"tool_calls"}],
            "usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64}}}"#
        }
        WireFormat::Messages => {
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[
            {"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Looking."},
            {"type":"tool_use","id":"call_1","name":"grep","input":{"pattern":"x"}},
            {"type":"tool_use","id":"call_2","name":"grep","input":"{\"pattern\":"}],"stop_reason":"tool_use","stop_sequence":null,
            "usage":{"input_tokens":36,"cache_read_input_tokens":64,"output_tokens":20}}"#
        }
        WireFormat::Responses => {
            r#"{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[
            {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}]},
            {"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Looking.","annotations":[]}]},
            {"type":"function_call","id":"fc_1","call_id":"call_1","name":"grep","arguments":"{\"pattern\":\"x\"}","status":"completed"},
            {"type":"function_call","id":"fc_2","call_id":"call_2","name":"grep","arguments":"{\"pattern\":","status":"completed"}],
            "usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":20,"total_tokens":120}}"#
        }
    }
}

/// The result of a question whose answer has this format, status and body.
fn answered(format: WireFormat, status: u16, body: &str) -> Result<Reply, ModelError> {
    let body = body.to_owned();
    let upstream = Upstream::start_with(move |_| Sent::json(status, body.clone()));
    ask(&model(&upstream.url(), format))
}

#[test]
fn all_formats_give_the_same_reply() {
    for format in FORMATS {
        let reply = answered(format, 200, looking(format)).unwrap();
        assert_eq!(reply.text, "Looking.", "{format:?}");
        let usage = Usage { input: Some(100), cached: Some(64), output: Some(20) };
        assert_eq!((reply.usage, reply.truncated), (usage, false), "{format:?}");
        let ids: Vec<_> = reply.calls.iter().map(|call| (&*call.id, &*call.name)).collect();
        assert_eq!(ids, [("call_1", "grep"), ("call_2", "grep")], "{format:?}");
        assert_eq!(reply.calls[0].arguments, r#"{"pattern":"x"}"#, "{format:?}");
        assert!(reply.calls[1].arguments.contains("pattern"), "{format:?}: {:?}", reply.calls);
    }
}

#[test]
fn an_answer_at_the_token_limit_is_marked_truncated() {
    let cut = |format| match format {
        WireFormat::Chat => r#"{"choices":[{"index":0,"message":{"content":"Loo"},"finish_reason":"length"}]}"#,
        WireFormat::Messages => {
            r#"{"type":"message","content":[{"type":"text","text":"Loo"}],"stop_reason":"max_tokens"}"#
        }
        WireFormat::Responses => {
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[
            {"type":"message","content":[{"type":"output_text","text":"Loo"}]}]}"#
        }
    };
    for format in FORMATS {
        let reply = answered(format, 200, cut(format)).unwrap();
        assert_eq!((&*reply.text, reply.truncated), ("Loo", true), "{format:?}");
        assert_eq!(reply.usage, Usage::default(), "{format:?}");
    }
}

#[test]
fn thinking_in_the_text_is_removed() {
    for (content, expected) in [
        ("<think>\\nhm</think>\\n\\nIt is here.", "It is here."),
        ("<think>hm, and then it was cut", ""),
        ("As <think> says </think>.", "As <think> says </think>."),
        ("", ""),
    ] {
        let body = format!(r#"{{"choices":[{{"message":{{"content":"{content}"}},"finish_reason":"stop"}}]}}"#);
        assert_eq!(answered(WireFormat::Chat, 200, &body).unwrap().text, expected, "{content}");
    }
}

/// Callers read the backend's message to recognise a backend without tool support.
#[test]
fn a_refusal_has_the_backends_status_and_message() {
    let openai = r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice","code":400}"#;
    let anthropic = r#"{"type":"error","error":{"type":"invalid_request_error","message":"tools: not supported"}}"#;
    for (format, status, body, words) in [
        (WireFormat::Chat, 400, openai, "--enable-auto-tool-choice"),
        (WireFormat::Messages, 400, anthropic, "tools: not supported"),
        (WireFormat::Responses, 422, r#"{"detail":"unexpected keyword: tools"}"#, "unexpected keyword: tools"),
        (
            WireFormat::Chat,
            500,
            r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
            "requires --jinja",
        ),
        (WireFormat::Chat, 429, "slow down", "slow down"),
        (WireFormat::Messages, 503, "", "503"),
        (WireFormat::Responses, 404, "<html>no</html>", "404"),
    ] {
        match answered(format, status, body) {
            Err(ModelError::Refused { model, status: refused, message }) => {
                assert_eq!((&*model, refused), ("local/small", status));
                assert!(message.contains(words), "{message}");
            }
            other => panic!("{status} {body}: {other:?}"),
        }
    }
}

/// Some gateways send a backend's error with a status of success.
#[test]
fn an_error_body_with_a_status_of_success_is_an_error() {
    let limited = r#"{"error":{"message":"slow down","code":429}}"#;
    let error = answered(WireFormat::Chat, 200, limited).unwrap_err();
    assert!(matches!(&error, ModelError::Refused { status: 429, message, .. } if message == "slow down"), "{error}");
    let failed = r#"{"status":"failed","error":{"code":"server_error","message":"it fell over"},"output":[]}"#;
    let error = answered(WireFormat::Responses, 200, failed).unwrap_err();
    assert!(matches!(&error, ModelError::Unusable { reason, .. } if reason.contains("it fell over")), "{error}");
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Upstream::start();
    let target = elsewhere.url();
    let upstream = Upstream::start_with(move |request| {
        Sent::json(307, "").header("location", &format!("{target}{}", request.target))
    });
    let error = ask(&model(&upstream.url(), WireFormat::Chat)).unwrap_err();
    assert!(matches!(error, ModelError::Refused { status: 307, .. }), "{error}");
    assert_eq!((upstream.requests().len(), elsewhere.connections()), (1, 0));
}

#[test]
fn a_malformed_answer_is_unusable() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for format in FORMATS {
        for body in ["", "{", "{}", "[]", "null", "<html></html>", r#"{"choices":[]}"#, r#"{"content":3"#, &deep] {
            let start = &body[..body.len().min(20)];
            match answered(format, 200, body) {
                Err(ModelError::Unusable { .. }) => {}
                other => panic!("{format:?} {start}: {other:?}"),
            }
        }
    }
    let upstream = Upstream::start_with(|_| Sent::json(200, vec![b'"', 0xff, b'"']));
    let error = ask(&model(&upstream.url(), WireFormat::Chat)).unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}

#[test]
fn an_answer_above_the_size_limit_is_unusable() {
    let padded = |more| {
        let body = looking(WireFormat::Chat);
        format!("{body}{}", " ".repeat(fetch::LONGEST + more - body.len()))
    };
    assert_eq!(answered(WireFormat::Chat, 200, &padded(0)).unwrap().calls.len(), 2);
    let error = answered(WireFormat::Chat, 200, &padded(1)).unwrap_err();
    assert!(matches!(&error, ModelError::Unusable { reason, .. } if reason.contains("1024 KiB")), "{error}");
    let error = answered(WireFormat::Chat, 500, &padded(1)).unwrap_err();
    assert!(matches!(error, ModelError::Refused { status: 500, .. }), "{error}");
}

#[test]
fn an_endless_answer_closes_the_connection_at_the_limit() {
    let (upstream, control) = Upstream::start_scripted();
    let model = model(&upstream.url(), WireFormat::Chat);
    let asked = std::thread::spawn(move || ask(&model));
    control.head_with(200, &[("content-type", "application/json")]);
    let chunk = " ".repeat(64 << 10);
    for _ in 0..=fetch::LONGEST / chunk.len() {
        control.send(chunk.as_str());
    }
    control.wait_for_client_gone();
    let error = asked.join().unwrap().unwrap_err();
    assert!(matches!(error, ModelError::Unusable { .. }), "{error}");
}
