//! A backend that sends no valid answer, or breaks off anywhere: the client's answer always ends in the client's format,
//! and the gateway continues.

pub(crate) mod stage;

use muninn_tests::http::chunk;
use muninn_tests::{Recorded, Reply, answers};

use crate::formats::{ALL, Format, all_pairs, pairs};
use crate::stage::error_message;
use stage::{Broken, assert_well_formed};

/// Bodies that no client can read as an answer: name, content type, bytes.
fn nonsense() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let events = "text/event-stream";
    let json = "application/json";
    let html = b"<html><body>Please log in.</body></html>".to_vec();
    let error = br#"{"error":{"message":"the model has crashed","type":"server_error","code":500}}"#.to_vec();
    vec![
        ("garbage", events, b"\xff\xfe\x00\x01 not a stream\n\n\x80".to_vec()),
        ("garbage as JSON", json, b"\xff\xfe{".to_vec()),
        ("a page", "text/html; charset=utf-8", html.clone()),
        ("a page called JSON", json, html.clone()),
        ("a page called a stream", events, html),
        ("nothing", events, Vec::new()),
        ("no JSON", json, Vec::new()),
        ("an empty object", json, b"{}".to_vec()),
        ("an empty list", json, b"[]".to_vec()),
        ("null", json, b"null".to_vec()),
        ("an error that says 200", json, error.clone()),
        ("an error in a stream", events, [b"data: ", &error[..], b"\n\n"].concat()),
        ("events of nothing", events, b"data: {}\n\ndata: []\n\ndata: null\n\ndata: 1\n\ndata: {\n\n".to_vec()),
        ("deep", json, "[".repeat(100_000).into_bytes()),
        ("deep events", events, format!("data: {}\n\n", "[".repeat(100_000)).into_bytes()),
        (
            "wrong shapes",
            events,
            [
                r#"{"choices":{"delta":3}}"#,
                r#"{"choices":[[]]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":-1}]}}]}"#,
                r#"{"type":"message_start"}"#,
                r#"{"type":"content_block_delta","index":99,"delta":{"type":"text_delta","text":"x"}}"#,
                r#"{"type":"response.output_text.delta","output_index":18446744073709551615,"delta":4}"#,
            ]
            .map(|data| format!("data: {data}\n\n"))
            .concat()
            .into_bytes(),
        ),
    ]
}

#[test]
fn nonsense_is_an_error_to_a_client_of_another_format() {
    let mut broken = Broken::new();
    for (name, content_type, body) in nonsense() {
        broken.answer_with(move |_| Reply::new(200, content_type, body.clone()));
        for (client, spoken) in pairs() {
            for streamed in [false, true] {
                let response = broken.ask(client, spoken, streamed);
                let how = format!("{name}, {client:?} -> {spoken:?}, streamed: {streamed}: {}", response.text());
                assert_well_formed(client, &response, &how);
                let failed = response.status >= 400 || client.read_stream(&response.text()).failed.is_some();
                assert!(failed, "{how}");
                if name.starts_with("an error") && (streamed || content_type == "application/json") {
                    assert!(response.text().contains("the model has crashed"), "{how}");
                }
            }
        }
    }
    broken.assert_lives();
}

#[test]
fn nonsense_in_the_form_that_was_asked_for_is_passed_on_without_conversion() {
    let mut broken = Broken::new();
    for (name, content_type, body) in nonsense() {
        let sent = body.clone();
        let is_stream = body.starts_with(b"data:");
        let is_unknown = body.starts_with(b"\xff") || body.starts_with(b"null");
        let is_none = body.is_empty() || body.starts_with(b"<");
        broken.answer_with(move |_| Reply::new(200, content_type, body.clone()));
        for format in ALL {
            for streamed in [false, true] {
                let response = broken.ask(format, format, streamed);
                if is_unknown || !is_none && is_stream == streamed {
                    assert_eq!((response.status, &response.body), (200, &sent), "{name}, {format:?}");
                    continue;
                }
                let how = format!("{name}, {format:?}, streamed: {streamed}: {}", response.text());
                assert_well_formed(format, &response, &how);
                let failed = response.status >= 400 || format.read_stream(&response.text()).failed.is_some();
                assert!(failed, "{how}");
            }
        }
    }
    broken.assert_lives();
}

#[test]
fn empty_or_redirected_answer_is_an_error() {
    let mut broken = Broken::new();
    for head in [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
    ] {
        broken.answer_with(move |_| Reply::raw(head));
        let native = all_pairs().filter(|(client, spoken)| client == spoken && !head.contains("204"));
        for (client, spoken) in pairs().chain(native) {
            for streamed in [false, true] {
                let response = broken.ask_closing(client, spoken, streamed);
                let how = format!("{client:?} -> {spoken:?}: {head}");
                assert!(response.status == 502 || (streamed && response.status == 200), "{how}: {}", response.status);
                assert_eq!(response.headers.get("location"), None, "{how}");
                assert_well_formed(client, &response, &how);
            }
        }
    }
    broken.assert_lives();
}

#[test]
fn stream_with_another_content_type_is_read() {
    let mut broken = Broken::new();
    broken.answer_with(|request| Reply::new(200, "text/plain", of_path(request).streamed_call()));
    for (client, spoken) in pairs() {
        let answer = client.read_stream(&broken.ask(client, spoken, true).text());
        assert_eq!((answer.calls.len(), answer.failed), (1, None), "{client:?} -> {spoken:?}");
    }
    broken.assert_lives();
}

#[test]
fn an_answer_in_an_unknown_coding_is_passed_on_or_refused() {
    let mut broken = Broken::new();
    let body = b"\x1f\x9d\x90\x00\x00 compressed";
    for status in [200, 400, 503] {
        for content_type in ["text/event-stream", "application/json"] {
            broken.answer_with(move |_| {
                Reply::new(status, content_type, &body[..]).header("content-encoding", "compress")
            });
            for (client, spoken) in all_pairs() {
                for streamed in [false, true] {
                    let response = broken.ask(client, spoken, streamed);
                    let how = format!("{client:?} -> {spoken:?}: {}", response.text());
                    if client == spoken {
                        assert_eq!(response.headers.get("content-encoding"), Some("compress"), "{how}");
                        assert_eq!((response.status, &response.body[..]), (status, &body[..]), "{how}");
                    } else {
                        assert_eq!(response.headers.get("content-encoding"), None, "{how}");
                        assert_eq!(response.status, if status == 200 { 502 } else { status }, "{how}");
                        assert_well_formed(client, &response, &how);
                        assert!(
                            !response.text().contains("compressed") && !response.text().contains('\u{fffd}'),
                            "{how}"
                        );
                    }
                }
            }
        }
    }
    broken.assert_lives();
}

#[cfg(target_os = "linux")]
#[test]
fn ten_megabytes_without_a_line_end_do_not_fill_the_memory() {
    let mut broken = Broken::new();
    broken.assert_lives();
    let before = broken.gateway.memory_mb("VmHWM");
    broken.answer_with(|request| {
        let kind = if answers::wants_stream(&request.body) { "text/event-stream" } else { "application/json" };
        Reply::new(200, kind, vec![b'x'; 10 << 20])
    });
    for (client, spoken) in all_pairs() {
        for streamed in [false, true] {
            let response = broken.ask(client, spoken, streamed);
            let how = format!("{client:?} -> {spoken:?}, streamed: {streamed}");
            if client == spoken {
                assert_eq!(response.body.len(), 10 << 20, "{how}");
            } else {
                assert!(response.body.len() < 4096, "{how}");
                assert_well_formed(client, &response, &how);
            }
        }
    }
    let grown = broken.gateway.memory_mb("VmHWM") - before;
    assert!(grown < 80, "18 answers of 10 MB took {grown} MB");
    broken.assert_lives();
}

pub(crate) fn of_path(request: &Recorded) -> Format {
    ALL.into_iter().find(|format| format.path() == request.target).unwrap()
}

/// How a backend says where its answer ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Framing {
    Chunked,
    Length,
    /// By closing the connection: then only the last event marks the end.
    Close,
}

fn raw(framing: Framing, body: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    match framing {
        Framing::Chunked => {
            let head = format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes();
            let chunks = body.split_inclusive("\n\n").map(chunk);
            std::iter::once(head).chain(chunks).chain([chunk("")]).flatten().collect()
        }
        Framing::Length => format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes(),
        Framing::Close => format!("{head}connection: close\r\n\r\n{body}").into_bytes(),
    }
}

/// Breaks the backend's connection off at every byte of its answer, to a client of its own format and to one of the
/// others, which take turns.
fn break_off_everywhere(spoken: Format, framing: Framing) {
    let mut broken = Broken::new();
    let answer = raw(framing, answers::streamed(spoken.path()));
    let body_at = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    // The head waits for the first event. A body that only the connection ends may end in the middle of it.
    let first_event = body_at + answer[body_at..].windows(2).position(|bytes| bytes == b"\n\n").unwrap() + 2;
    let is_refused = |at: usize| at <= body_at || at < first_event && framing != Framing::Close;
    let others: Vec<_> = ALL.into_iter().filter(|client| *client != spoken).collect();
    for at in 0..=answer.len() {
        let cut = answer[..at].to_vec();
        broken.answer_with(move |_| Reply::raw(cut.clone()));
        for client in [spoken, others[at % 2]] {
            let response = broken.ask_closing(client, spoken, true);
            let how = format!("{client:?} -> {spoken:?}, {framing:?}, {at} of {}: {}", answer.len(), response.text());
            assert_eq!(response.status, if is_refused(at) { 502 } else { 200 }, "{how}");
            assert_well_formed(client, &response, &how);
            if at == answer.len() {
                assert_eq!(client.read_stream(&response.text()).failed, None, "{how}");
            }
        }
    }
    broken.assert_lives();
}

#[test]
fn chat_backend_broken_off_anywhere_leaves_a_well_formed_stream() {
    break_off_everywhere(Format::Chat, Framing::Chunked);
}

#[test]
fn messages_backend_broken_off_anywhere_leaves_a_well_formed_stream() {
    break_off_everywhere(Format::Messages, Framing::Chunked);
}

#[test]
fn responses_backend_broken_off_anywhere_leaves_a_well_formed_stream() {
    break_off_everywhere(Format::Responses, Framing::Length);
}

#[test]
fn stream_ended_by_the_connection_is_well_formed() {
    break_off_everywhere(Format::Chat, Framing::Close);
    break_off_everywhere(Format::Messages, Framing::Close);
}

#[test]
fn truncated_whole_answer_is_an_error() {
    let mut broken = Broken::new();
    for (client, spoken) in pairs() {
        let whole = spoken.whole_call();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{whole}",
            whole.len()
        );
        for at in (0..answer.len()).step_by(29) {
            let cut = answer.as_bytes()[..at].to_vec();
            broken.answer_with(move |_| Reply::raw(cut.clone()));
            let response = broken.ask_closing(client, spoken, false);
            assert_eq!(response.status, 502, "{client:?} -> {spoken:?} at {at}");
            assert_well_formed(client, &response, "broken off");
        }
    }
    broken.assert_lives();
}

#[test]
fn an_error_that_is_too_long_or_breaks_off_is_still_an_error() {
    let mut broken = Broken::new();
    let long = format!(r#"{{"error":{{"message":"{}","type":"x","code":"y"}}}}"#, "x".repeat(3 << 20));
    let head = |length: usize| {
        format!(
            "HTTP/1.1 400 Bad\r\ncontent-type: application/json\r\nretry-after: 3\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    let cut = head(1000) + r#"{"error":{"message":"half"#;
    for answer in [head(long.len()) + &long, cut] {
        broken.answer_with(move |_| Reply::raw(answer.clone()));
        for (client, spoken) in all_pairs() {
            for streamed in [false, true] {
                let response = broken.ask_closing(client, spoken, streamed);
                let how = format!("{client:?} -> {spoken:?}");
                assert_eq!((response.status, response.headers.get("retry-after")), (400, Some("3")), "{how}");
                assert!(response.body.len() < 2 << 20 || response.body.len() > 3 << 20, "{how}");
                assert_well_formed(client, &response, &how);
            }
        }
    }
    broken.assert_lives();
}

/// Servers' errors for a prompt that is too long: status, body, the prompt's tokens and the window.
const OVERFLOWS: [(u16, &str, u64, u64); 4] = [
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 100 output tokens and your prompt contains at least 5001 input tokens, for a total of at least 5101 tokens. Please reduce the length of the input prompt or the number of requested output tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#,
        5001,
        4096,
    ),
    (
        400,
        r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
        9000,
        8192,
    ),
    (
        400,
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        150_000,
        128_000,
    ),
    (
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
        208_310,
        200_000,
    ),
];

#[test]
fn context_overflow_is_reported_in_words_that_make_clients_compact() {
    let mut broken = Broken::new();
    for (status, error, prompt, window) in OVERFLOWS {
        broken.answer_with(move |_| Reply::json(status, error));
        for (client, spoken) in all_pairs() {
            for streamed in [false, true] {
                let response = broken.ask(client, spoken, streamed);
                let how = format!("{client:?} -> {spoken:?}: {}", response.text());
                assert_eq!(response.status, 400, "{how}");
                let error = &response.json()["error"];
                match client {
                    Format::Messages => {
                        let expected = format!("prompt is too long: {prompt} tokens > {window} maximum");
                        assert_eq!(
                            (&error["message"], &error["type"]),
                            (&expected.into(), &"invalid_request_error".into()),
                            "{how}"
                        );
                    }
                    Format::Chat | Format::Responses => {
                        assert_eq!(error["code"], "context_length_exceeded", "{how}");
                        let message = error["message"].as_str().unwrap();
                        assert!(
                            message.contains(&prompt.to_string()) && message.contains(&window.to_string()),
                            "{how}"
                        );
                    }
                }
            }
        }
    }
    broken.assert_lives();
}

#[test]
fn an_overflow_in_the_words_of_the_clients_vendor_is_passed_on_unchanged() {
    let mut broken = Broken::new();
    let cases = [
        (
            Format::Messages,
            r#"{"type": "error", "error": {"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"},"request_id":"req_1"}"#,
        ),
        (
            Format::Messages,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again"},"request_id":"req_2"}"#,
        ),
        (
            Format::Chat,
            r#"{ "error": {"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
        ),
        (
            Format::Responses,
            r#"{ "error": {"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
        ),
    ];
    for (format, error) in cases {
        broken.answer_with(move |_| Reply::json(400, error));
        for streamed in [false, true] {
            let response = broken.ask(format, format, streamed);
            assert_eq!((response.status, &*response.text()), (400, error));
        }
    }
    broken.assert_lives();
}

#[test]
fn other_backend_errors_are_passed_on_unchanged() {
    let mut broken = Broken::new();
    let error = r#"{ "error" : {"message":"max_tokens must be at least 1","type":"BadRequestError","param":null,"code":400}, "x":1.0}"#;
    broken.answer_with(move |_| Reply::json(400, error));
    for (client, spoken) in all_pairs() {
        let response = broken.ask(client, spoken, false);
        assert_eq!(response.status, 400);
        if client == spoken {
            assert_eq!(response.text(), error);
        } else {
            assert_eq!(error_message(client.path(), &response), "max_tokens must be at least 1");
        }
    }
    broken.assert_lives();
}
