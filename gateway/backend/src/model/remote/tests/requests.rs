//! Writing requests. The golden bodies are in `golden/` and were reviewed by people.

use std::path::Path;

use muninn_config::secrets::Secret;
use muninn_tests::{assert_golden, pretty};
use muninn_text::model::{AnswerSchema, ToolOutput};
use muninn_wire::convert;

use super::*;

/// Two calls with results. The arguments of the second call are not JSON.
fn conversation() -> Vec<Message> {
    let result = |id: &str, text: &str, is_error| ToolOutput { id: id.to_owned(), text: text.to_owned(), is_error };
    vec![
        Message::User("How does a cancelled stream release its permit?\n\nsrc/stream.rs \"ünïcode\"".to_owned()),
        Message::Assistant {
            text: "I look for it.".to_owned(),
            calls: vec![
                call("call_1", "grep", r#"{"pattern":"Permit","most":1.50}"#),
                call("call_2", "grep", r#"{"pattern":"#),
            ],
        },
        Message::Results(vec![
            result("call_1", "src/stream.rs:7: struct Permit;", false),
            result("call_2", "the arguments are not JSON", true),
        ]),
        Message::Assistant { text: String::new(), calls: vec![call("call_3", "final", "{}")] },
        Message::Results(vec![result("call_3", "", false)]),
        Message::User("Go on.".to_owned()),
    ]
}

#[test]
fn bodies_match_the_golden_files() {
    let (conversation, tools) = (conversation(), tools());
    let said =
        [Message::User("Sum it up.".to_owned()), Message::Assistant { text: "Of what?".to_owned(), calls: Vec::new() }];
    let plain = [&said[..], &conversation[..1]].concat();
    let asked = |messages, tools, choice| ModelRequest {
        system: "Explore.\nBe brief.",
        messages,
        tools,
        choice,
        shape: None,
        max_tokens: 1_024,
    };
    let cases = [
        ("required", asked(&conversation, &tools, ToolMode::Required)),
        ("named", asked(&conversation[..1], &tools, ToolMode::Named("final"))),
        ("auto", asked(&conversation[..3], &tools, ToolMode::Auto)),
        ("plain", ModelRequest { system: "", ..asked(&plain, &[], ToolMode::Required) }),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model/golden");
    for (name, asked) in &cases {
        for format in FORMATS {
            let (body, _) = ask::write(format, "small", asked).unwrap();
            check_request(format, &body);
            let file = format!("{name}-{}.json", serde_json::to_value(format).unwrap().as_str().unwrap());
            assert_golden(&folder.join(file), &pretty(&body));
        }
    }
}

/// A stable prefix keeps the backend's prompt cache valid.
#[test]
fn a_longer_conversation_starts_with_the_shorter_one() {
    let (conversation, tools) = (conversation(), tools());
    for format in FORMATS {
        let written = |count| {
            let asked = ModelRequest {
                system: "S",
                messages: &conversation[..count],
                tools: &tools,
                choice: ToolMode::Auto,
                shape: None,
                max_tokens: 9,
            };
            let (body, _) = ask::write(format, "small", &asked).unwrap();
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            let turns = body[format.conversation()].as_array().unwrap().clone();
            // The cache markers move and are not part of the cached text.
            let plain =
                turns.iter().map(|turn| turn.to_string().replace(r#""cache_control":{"type":"ephemeral"},"#, ""));
            plain.collect::<Vec<_>>()
        };
        for (shorter, longer) in [(1, 3), (3, 5)] {
            let (shorter, longer) = (written(shorter), written(longer));
            assert!(longer.len() > shorter.len() && longer.starts_with(&shorter), "{format:?}: {longer:#?}");
        }
    }
}

#[test]
fn the_answers_schema_is_written_in_the_formats_own_field() {
    let shape = AnswerSchema { name: "decisions", schema: r#"{"type":"object"}"#.to_owned() };
    for (format, place) in [
        (WireFormat::Chat, "/response_format/json_schema/schema"),
        (WireFormat::Responses, "/text/format/schema"),
        (WireFormat::Messages, "/output_config/format/schema"),
    ] {
        let written = |shape| {
            let (body, _) = ask::write(format, "small", &ModelRequest { shape, ..question() }).unwrap();
            serde_json::from_str::<serde_json::Value>(&body).unwrap()
        };
        let schema = written(Some(&shape)).pointer(place).cloned();
        assert_eq!(schema, Some(serde_json::json!({"type": "object"})), "{format:?}");
        assert_eq!(written(None).pointer(place), None);
    }
}

#[test]
fn a_request_has_the_formats_path_and_the_permitted_credential() {
    let mut client = HeaderMap::new();
    client.insert("authorization", HeaderValue::from_static("Bearer clients"));
    client.insert("user-agent", HeaderValue::from_static("a-client"));
    for (format, own_key, passed_on, expected) in [
        (WireFormat::Chat, Some("hush"), false, Some("Bearer hush")),
        (WireFormat::Responses, None, true, Some("Bearer clients")),
        (WireFormat::Messages, None, false, None),
    ] {
        let upstream = Upstream::start();
        let candidate = candidate(&upstream.url(), format, |config| {
            config.key = own_key.map(|key| Secret::new(key.to_owned()));
            config.client_credentials = passed_on;
        });
        let model = RemoteModel::new(&blocking_client(), candidate, "small", &client);
        assert_eq!(model.id(), "local/small");
        assert_eq!(ask(&model).unwrap().text, "ok");
        let request = upstream.last();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", format.path()));
        assert_eq!(request.headers.get("authorization"), expected, "{format:?}");
        assert_eq!(request.headers.get("user-agent"), None, "no other header of the client");
        assert_eq!(request.headers.get("content-type"), Some("application/json"));
        let version = (format == WireFormat::Messages).then_some("2023-06-01");
        assert_eq!(request.headers.get("anthropic-version"), version, "{format:?}");
        assert_eq!(request.text(), ask::write(format, "small", &question()).unwrap().0);
    }
}

#[test]
fn a_route_renames_the_model_and_openai_gets_responses() {
    let renamed =
        Candidate { rename: Some("theirs".to_owned()), ..candidate("http://127.0.0.1:1", WireFormat::Chat, |_| {}) };
    let model = RemoteModel::new(&blocking_client(), renamed, "ours", &HeaderMap::new());
    assert_eq!((model.id(), model.candidate.format), ("local/theirs", WireFormat::Chat));
    let vendor = Backend::vendor(muninn_wire::Dialect::OpenAi, &LimitsConfig::default(), &Circuits::local());
    let vendor = Candidate { backend: Arc::new(vendor), format: WireFormat::Chat, rename: None };
    let model = RemoteModel::new(&blocking_client(), vendor, "gpt", &HeaderMap::new());
    assert_eq!(model.candidate.format, WireFormat::Responses);
}

#[test]
fn a_tool_with_an_invalid_schema_is_not_sent() {
    let upstream = Upstream::start();
    let mut tools = tools();
    tools[0].schema = "{".to_owned();
    let asked = ModelRequest { tools: &tools, ..question() };
    let error = model(&upstream.url(), WireFormat::Chat).ask(&asked, &Until::within(HOUR)).unwrap_err();
    assert!(error.to_string().contains("the schema of the tool `grep` is not JSON"), "{error}");
    assert_eq!(upstream.connections(), 0);
}

/// Checks that a request can be read by the reader of its format, without a rest, and by async-openai's types.
fn check_request(format: WireFormat, body: &str) {
    let other = if format == WireFormat::Messages { WireFormat::Responses } else { WireFormat::Messages };
    let converted = convert::request(format, other, body).unwrap();
    assert_eq!(converted.dropped.iter().next(), None, "{format:?}: {body}");
    match format {
        WireFormat::Chat => parses::<async_openai::types::chat::CreateChatCompletionRequest>(body),
        WireFormat::Messages => {}
        WireFormat::Responses => parses::<async_openai::types::responses::CreateResponse>(body),
    }
}

fn parses<T: serde::de::DeserializeOwned>(body: &str) {
    serde_json::from_str::<T>(body).unwrap_or_else(|error| panic!("{error}\n{}", pretty(body)));
}
