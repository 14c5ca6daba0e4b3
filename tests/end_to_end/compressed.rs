//! Content codings: backends are asked for identity, and compressed answers and requests are still read.

use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder};
use muninn_tests::{Reply, Upstream, answers};
use tokio::io::AsyncWriteExt;

use crate::broken_upstream::of_path;
use crate::broken_upstream::stage::{Broken, assert_well_formed};
use crate::formats::{ALL, Format, TOOL, WORDS, all_pairs};
use crate::liveness::{Silent, sign};
use crate::stage::{Stage, error_message, simple};

const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// Pieces of data, encoded; each can be decoded without the next one.
fn encoded_pieces(coding: &str, pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    macro_rules! encode {
        ($encoder:expr) => {{
            let (mut encoder, mut done, mut encoded) = ($encoder, 0, Vec::new());
            for piece in pieces {
                encoder.write_all(piece).await.unwrap();
                encoder.flush().await.unwrap();
                encoded.push(encoder.get_ref()[done..].to_vec());
                done = encoder.get_ref().len();
            }
            encoder.shutdown().await.unwrap();
            encoded.last_mut().unwrap().extend(&encoder.get_ref()[done..]);
            encoded
        }};
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        match coding {
            "gzip" => encode!(GzipEncoder::new(Vec::new())),
            "deflate" => encode!(ZlibEncoder::new(Vec::new())),
            "br" => encode!(BrotliEncoder::new(Vec::new())),
            _ => encode!(ZstdEncoder::new(Vec::new())),
        }
    })
}

pub(crate) fn encoded(coding: &str, data: &[u8]) -> Vec<u8> {
    encoded_pieces(coding, &[data]).concat()
}

const OVERFLOW: &str = r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#;

fn assert_overflow(client: Format, failed: &serde_json::Value, how: &str) {
    match client {
        Format::Messages => {
            assert_eq!(failed["message"], "prompt is too long: 9000 tokens > 8192 maximum", "{how}: {failed}");
        }
        Format::Chat | Format::Responses => {
            assert_eq!(failed["code"], "context_length_exceeded", "{how}: {failed}");
        }
    }
}

#[test]
fn backends_are_asked_for_identity_if_the_answer_is_parsed() {
    let stage = Stage::with(Upstream::start(), "");
    let accepts = [("Accept-Encoding", "gzip, br")];
    let mut requests: Vec<_> = simple("hello").to_vec();
    requests.push(("/v1/messages/count_tokens", r#"{"model":"m","messages":[]}"#.to_owned()));
    requests.push(("/v1/embeddings", r#"{"model":"m","input":"x"}"#.to_owned()));
    for (target, body) in requests {
        stage.ask(target, &accepts, &body);
        assert_eq!(stage.upstream.last().headers.all("accept-encoding"), ["identity"], "{target}");
    }
    drop(stage.gateway.request("GET", "/v1/files/f-1/content", &accepts, b""));
    assert_eq!(stage.upstream.last().headers.all("accept-encoding"), ["gzip, br"], "not ours to read");
}

#[test]
fn encoded_answers_are_decoded_and_their_usage_is_counted() {
    for coding in CODINGS {
        let mut broken = Broken::new();
        broken.answer_with(move |request| {
            let plain = answers::ok(request).body();
            let kind = if answers::wants_stream(&request.body) { "text/event-stream" } else { "application/json" };
            Reply::new(200, kind, encoded(coding, &plain)).header("content-encoding", coding)
        });
        for (client, spoken) in all_pairs() {
            for streamed in [false, true] {
                let how = format!("{coding}, {client:?} -> {spoken:?}, streamed: {streamed}");
                let response = broken.ask(client, spoken, streamed);
                assert_eq!(response.status, 200, "{how}: {}", response.text());
                assert_eq!(response.headers.get("content-encoding"), None, "{how}");
                let answer =
                    if streamed { client.read_stream(&response.text()) } else { client.read_whole(&response.json()) };
                assert_eq!((answer.text.as_str(), &answer.failed), ("ok", &None), "{how}");
                if client == spoken {
                    let plain = answers::ok(&broken.upstream.last()).body();
                    assert_eq!(response.body, plain, "{how}: untouched but for the coding");
                }
            }
        }
        let metrics = broken.gateway.request("GET", "/metrics", &[], b"").text();
        let output = |line: &&str| line.starts_with("muninn_tokens_total") && line.contains("kind=\"output\"");
        let counted = metrics.lines().filter(output).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        // The streams of the chat backend tell none.
        assert_eq!(counted.sum::<u64>(), 15, "{coding}: {metrics}");
        broken.assert_lives();
    }
}

#[test]
fn encoded_stream_after_the_head_is_decoded_and_pings_stand_between_its_events() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        for coding in CODINGS {
            let request = silent.request(client, spoken);
            let how = format!("{coding}, {}", request.name());
            let (mut stream, mut read) = request.committed();
            let events = spoken.streamed_call();
            let (first, second) = events.split_at(events.find("\n\n").unwrap() + 12);
            let pieces = encoded_pieces(coding, &[first.as_bytes(), second.as_bytes()]);
            let headers = [("content-type", "text/event-stream"), ("content-encoding", coding)];
            request.control.head_with(200, &headers);
            request.control.send(pieces[0].clone());
            if client == spoken {
                read += &stream.read_until(&events[..events.find("\n\n").unwrap() + 2]);
            }
            read += &stream.read_until(sign(client));
            request.control.send(pieces[1].clone());
            request.control.finish();
            read += &String::from_utf8(stream.rest().unwrap()).unwrap();
            let answer = client.read_stream(&read);
            assert_eq!(
                (answer.text.as_str(), answer.calls[0].1.as_str(), &answer.failed),
                (WORDS, TOOL, &None),
                "{how}"
            );
            if client == spoken {
                assert_eq!(read.replace(sign(client), ""), events, "{how}");
            }
        }
    }
}

#[test]
fn encoded_error_keeps_its_message_and_an_overflow_is_reworded() {
    let mut broken = Broken::new();
    let busy = r#"{"type":"error","error":{"type":"rate_limit_error","message":"come back later","code":"rate_limit_exceeded"}}"#;
    for (status, body) in [(400, OVERFLOW), (429, busy)] {
        for coding in CODINGS {
            let answer = encoded(coding, body.as_bytes());
            broken.answer_with(move |_| Reply::json(status, answer.clone()).header("content-encoding", coding));
            for (client, spoken) in all_pairs() {
                let response = broken.ask(client, spoken, true);
                let how = format!("{coding}, {client:?} -> {spoken:?}: {}", response.text());
                assert_eq!(response.status, status, "{how}");
                match status {
                    400 => assert_overflow(client, &response.json()["error"], &how),
                    _ => assert_eq!(error_message(client.path(), &response), "come back later", "{how}"),
                }
            }
        }
    }
    broken.assert_lives();
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let (mut stream, read) = request.committed();
        let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
        request.control.head_with(400, &headers);
        request.control.send(encoded("gzip", OVERFLOW.as_bytes()));
        request.control.finish();
        let failed = request.rest(&mut stream, read).failed.expect("an error");
        assert_overflow(client, &failed, &request.name());
    }
}

#[test]
fn corrupt_and_truncated_data_ends_in_the_clients_own_error() {
    let mut broken = Broken::new();
    for coding in CODINGS {
        for is_cut in [false, true] {
            broken.answer_with(move |request| {
                let streamed = answers::wants_stream(&request.body);
                let data = if is_cut {
                    let plain = of_path(request).streamed_call().into_bytes();
                    let data = encoded(coding, &plain);
                    data[..data.len() / 2].to_vec()
                } else {
                    b"this is not compressed in any way, and it is long enough to be sure".to_vec()
                };
                let kind = if streamed { "text/event-stream" } else { "application/json" };
                Reply::new(200, kind, data).header("content-encoding", coding)
            });
            for (client, spoken) in all_pairs() {
                for streamed in [false, true] {
                    let response = broken.ask(client, spoken, streamed);
                    let how = format!("{coding}, cut: {is_cut}, {client:?} -> {spoken:?}: {}", response.text());
                    assert_well_formed(client, &response, &how);
                    assert_eq!(response.headers.get("content-encoding"), None, "{how}");
                    if streamed {
                        assert!(client.read_stream(&response.text()).failed.is_some(), "{how}");
                    } else {
                        assert_eq!(response.status, 502, "{how}");
                        assert!(error_message(client.path(), &response).contains(coding), "{how}");
                    }
                }
            }
        }
    }
    broken.assert_lives();
}

#[cfg(target_os = "linux")]
#[test]
fn decompression_bomb_does_not_exhaust_memory() {
    let mut broken = Broken::new();
    broken.assert_lives();
    let before = broken.gateway.memory_mb("VmHWM");
    let bomb = encoded("gzip", &vec![b'x'; 40 << 20]);
    broken.answer_with(move |request| {
        let kind = if answers::wants_stream(&request.body) { "text/event-stream" } else { "application/json" };
        Reply::new(200, kind, bomb.clone()).header("content-encoding", "gzip")
    });
    for streamed in [false, true] {
        let response = broken.ask(Format::Chat, Format::Chat, streamed);
        assert_eq!(response.body.len(), 40 << 20);
    }
    let response = broken.ask(Format::Chat, Format::Messages, true);
    assert!(Format::Chat.read_stream(&response.text()).failed.is_some());
    let grown = broken.gateway.memory_mb("VmHWM") - before;
    assert!(grown < 30, "three answers of 40 MB took {grown} MB");
    broken.assert_lives();
}

#[test]
fn encoded_requests_are_decoded_and_reach_the_backend_plain() {
    let stage = Stage::with(Upstream::start(), "[limits]\nbody_bytes = 100000\n");
    for coding in CODINGS {
        let headers = [("Content-Encoding", coding)];
        let mut requests: Vec<_> = simple("hello").to_vec();
        requests.push(("/v1/embeddings", r#"{"model":"m","input":"x"}"#.to_owned()));
        requests.push(("/v1/messages/count_tokens", r#"{"model":"m","messages":[]}"#.to_owned()));
        for (target, body) in requests {
            let response = stage.gateway.post(target, &headers, &encoded(coding, body.as_bytes()));
            assert_eq!(response.status, 200, "{coding} {target}: {}", response.text());
            let recorded = stage.upstream.last();
            assert_eq!((recorded.text(), recorded.headers.get("content-encoding")), (body, None), "{coding} {target}");
        }
        let before = stage.upstream.requests().len();
        for (data, status) in [
            (encoded(coding, &vec![b' '; 200_000]), 413),
            (b"not compressed, but long enough to be sure of that".to_vec(), 400),
        ] {
            let response = stage.gateway.post("/v1/messages", &headers, &data);
            assert_eq!(response.status, status, "{coding}: {}", response.text());
            error_message("/v1/messages", &response);
        }
        assert_eq!(stage.upstream.requests().len(), before);
    }
}

#[test]
fn unknown_request_coding_lists_the_supported_ones() {
    let stage = Stage::with(Upstream::start(), "");
    for (target, body) in simple("hello") {
        for coding in ["compress", "gzip, gzip, gzip"] {
            let response = stage.gateway.post(target, &[("Content-Encoding", coding)], body.as_bytes());
            assert_eq!(response.status, 415, "{target}");
            assert_eq!(response.headers.get("accept-encoding"), Some("gzip, deflate, br, zstd"));
            let message = error_message(target, &response);
            assert!(message.contains(coding) && message.contains("gzip, deflate, br, zstd"), "{message}");
        }
    }
    assert!(stage.upstream.requests().is_empty());
    for format in ALL {
        let body = Broken::body(format, format, false);
        let response = stage.gateway.post(format.path(), &[("Content-Encoding", "identity")], body.as_bytes());
        assert_eq!(response.status, 200, "{}", response.text());
    }
}
