//! Untouched bytes: the backend gets exactly the client's bytes, or these and our blocks.

use crate::clients::{ODDITIES, chat_agent, claude_code, codex};
use crate::spans::inserted;
use crate::stage::{QUESTION, Stage, quoted};

fn large_bodies(stage: &Stage) -> [(&'static str, String); 3] {
    let root = stage.root.to_str().unwrap();
    let bodies = [
        ("/v1/messages?beta=true", claude_code(root, QUESTION)),
        ("/v1/chat/completions", chat_agent(root, QUESTION)),
        ("/v1/responses", codex(root, QUESTION)),
    ];
    for (target, body) in &bodies {
        assert!(body.len() > 45_000, "{target}: {} bytes", body.len());
    }
    bodies
}

#[test]
fn off_and_bypass_forward_identical_bytes() {
    let stage = Stage::new();
    for (target, body) in large_bodies(&stage) {
        for mode in ["off", "bypass"] {
            let response = stage.ask(target, &[("x-muninn-context", mode)], &body);
            assert_eq!(response.outcome(), mode);
            let recorded = stage.upstream.last();
            assert_eq!(recorded.target, target);
            assert!(recorded.body == body.as_bytes(), "{target} {mode}: the bytes differ");
        }
    }
}

#[test]
fn with_context_bytes_differ_only_by_the_inserted_spans() {
    let stage = Stage::new();
    for (target, body) in large_bodies(&stage) {
        let response = stage.ask(target, &[], &body);
        assert_eq!(response.outcome(), "injected", "{target}: {}", stage.why(&response));
        let blocks = inserted(body.as_bytes(), &stage.upstream.last().body);
        assert_eq!(blocks.len(), 1, "{target}");
        assert!(blocks[0].contains("src/rate_limiter.rs:"), "{}", blocks[0]);
    }
}

/// Every shape in which a newest human turn may come, in every format.
fn shapes() -> Vec<(&'static str, &'static str, String)> {
    let question = quoted(QUESTION);
    let image = r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#;
    let messages =
        |messages: String| format!("{{ {ODDITIES} , \"messages\" :{messages},\"max_tokens\":1000,\"model\":\"m\"}}");
    let chat = |content: String| {
        format!("{{\"model\":\"m\",\"messages\":[{{\"content\": {content} ,\"role\":\"user\"}}],{ODDITIES}}}")
    };
    let responses = |input: String| format!("{{\"input\":{input},{ODDITIES},\"model\":\"m\"}}");
    vec![
        ("string", "/v1/messages", messages(format!(r#"[{{"role":"user","content":{question}}}]"#))),
        (
            "list",
            "/v1/messages",
            messages(format!(
                r#"[{{"role":"user","content":[ {{"type":"text","text":{question},"cache_control":{{"type":"ephemeral"}}}} ]}}]"#
            )),
        ),
        (
            "image after text",
            "/v1/messages",
            messages(format!(r#"[{{"content":[{{"text":{question},"type":"text"}},{image}],"role":"user"}}]"#)),
        ),
        (
            "system role last",
            "/v1/messages",
            messages(format!(
                r#"[{{"role":"user","content":{question}}},{{"role":"system","content":[{{"type":"text","text":"today"}}]}}]"#
            )),
        ),
        (
            "later turn",
            "/v1/messages",
            messages(format!(
                r#"[{{"role":"user","content":"hm"}},{{"role":"assistant","content":[{{"type":"thinking","thinking":"t","signature":"c2ln"}},{{"type":"text","text":"yes?"}}]}},{{"role":"user","content":{question}}}]"#
            )),
        ),
        ("string", "/v1/chat/completions", chat(question.clone())),
        ("parts", "/v1/chat/completions", chat(format!(r#"[{{"type":"text","text":{question}}}]"#))),
        (
            "image after text",
            "/v1/chat/completions",
            chat(format!(
                r#"[{{"type":"text","text":{question}}},{{"type":"image_url","image_url":{{"url":"data:,x"}}}}]"#
            )),
        ),
        ("bare string", "/v1/responses", responses(question.clone())),
        ("string", "/v1/responses", responses(format!(r#"[{{"role":"user","content":{question}}}]"#))),
        (
            "image after text",
            "/v1/responses",
            responses(format!(
                r#"[{{"type":"message","role":"user","content":[{{"type":"input_text","text":{question}}},{{"type":"input_image","image_url":"data:,x"}}]}}]"#
            )),
        ),
    ]
}

#[test]
fn every_shape_of_a_turn_takes_a_block_and_keeps_its_bytes() {
    let stage = Stage::new();
    for (number, (shape, target, body)) in shapes().into_iter().enumerate() {
        let session = format!("session-{number}");
        let response = stage.ask(target, &[("session-id", &session)], &body);
        assert_eq!(response.outcome(), "injected", "{target} {shape}: {}", stage.why(&response));
        assert_eq!(inserted(body.as_bytes(), &stage.upstream.last().body).len(), 1, "{target} {shape}");
    }
}

#[test]
fn body_without_a_readable_question_is_forwarded_unchanged() {
    let stage = Stage::new();
    for (target, body) in [
        ("/v1/messages", format!(r#"{{"messages":[],{ODDITIES}}}"#)),
        ("/v1/messages", r#"{"messages":[{"role":"user","content":"a\ud800b \udc00"}]}"#.to_owned()),
        ("/v1/chat/completions", r#"{"messages":[{"role":"user"},{"role":5,"content":{}},7,null]}"#.to_owned()),
        ("/v1/chat/completions", "\r\n\t {\"messages\":[ ] }  \n".to_owned()),
        ("/v1/responses", r#"{"input":[],"previous_response_id":"resp_1"}"#.to_owned()),
        ("/v1/responses", r#"{"prompt":{"id":"pmpt_1"}}"#.to_owned()),
    ] {
        let response = stage.ask(target, &[], &body);
        assert_eq!(response.outcome(), "none", "{body}");
        assert_eq!(stage.upstream.last().text(), body);
    }
}

#[test]
fn a_renamed_model_is_the_one_replacement() {
    let upstream = muninn_tests::Upstream::start();
    let stage =
        Stage::with(upstream, "[[routes]]\nmodel = \"claude-*\"\nbackend = \"mock\"\nrename = \"local/\\\"m\\\"\"\n");
    let body = format!(r#"{{"messages":[],{ODDITIES},"model" : "claude-\u006fpus"}}"#);
    drop(stage.ask("/v1/messages", &[], &body));
    assert_eq!(stage.upstream.last().text(), body.replace(r#""claude-\u006fpus""#, r#""local/\"m\"""#));
}
