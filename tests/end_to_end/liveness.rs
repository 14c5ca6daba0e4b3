//! A silent backend: the client gets keep-alives while it waits, then the whole answer or error. A client that leaves
//! cancels its request.

use parking_lot::Mutex;

use muninn_tests::http::{self, Connection, Streaming};
use muninn_tests::{Control, Recorded, Reply, answers, script};
use serde_json::Value;

use crate::broken_upstream::stage::Broken;
use crate::formats::{ALL, Answer, Format, TOOL, WORDS, all_pairs};

/// A gateway with a backend of each format. Each conversation has an answer of its own.
pub(crate) struct Silent {
    broken: Broken,
}

/// A request whose answer is under the test's control.
pub(crate) struct SilentRequest<'a> {
    silent: &'a Silent,
    client: Format,
    spoken: Format,
    pub(crate) control: Control,
}

impl Silent {
    /// With a keep-alive every 50 ms.
    pub(crate) fn new() -> Silent {
        Silent::with("keep_alive_ms = 50\n")
    }

    fn with(limits: &str) -> Silent {
        Silent { broken: Broken::with("retries = 0\n", limits) }
    }

    pub(crate) fn request(&self, client: Format, spoken: Format) -> SilentRequest<'_> {
        let (control, script) = script();
        let script = Mutex::new(Some(script));
        self.broken.upstream.take_requests();
        self.broken.answer_with(move |request| {
            let script = if request.method == "POST" { script.lock().take() } else { None };
            script.map_or_else(|| answers::ok(request), Reply::scripted)
        });
        SilentRequest { silent: self, client, spoken, control }
    }
}

impl SilentRequest<'_> {
    /// Sends it and leaves its answer unread.
    fn send(&self, streamed: bool) -> Connection {
        let body = Broken::body(self.client, self.spoken, streamed);
        let mut connection = Connection::open(self.silent.broken.gateway.address);
        connection.send("POST", self.client.path(), &[], body.as_bytes());
        connection
    }

    /// Waits until the backend has it.
    fn wait_received(&self) -> Recorded {
        self.silent.broken.upstream.wait_for(1).remove(0)
    }

    /// Asks for a stream and waits for its head.
    fn stream(&self) -> Streaming {
        self.stream_with(&[])
    }

    fn stream_with(&self, headers: &[(&str, &str)]) -> Streaming {
        let body = Broken::body(self.client, self.spoken, true);
        http::stream(self.silent.broken.gateway.address, "POST", self.client.path(), headers, body.as_bytes())
    }

    /// Waits for two keep-alives of a stream whose head came before the backend's.
    pub(crate) fn committed(&self) -> (Streaming, String) {
        let mut stream = self.stream();
        assert_eq!((stream.status, stream.headers.get("content-type")), (200, Some("text/event-stream")));
        assert!(stream.headers.get("x-muninn-request-id").is_some());
        let mut read = stream.read_until(sign(self.client));
        read += &stream.read_until(sign(self.client));
        (stream, read)
    }

    pub(crate) fn rest(&self, stream: &mut Streaming, mut read: String) -> Answer {
        read += &String::from_utf8(stream.rest().unwrap()).unwrap();
        self.client.read_stream(&read)
    }

    pub(crate) fn name(&self) -> String {
        format!("{:?} -> {:?}", self.client, self.spoken)
    }
}

pub(crate) fn sign(format: Format) -> &'static str {
    match format {
        Format::Messages => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        Format::Chat | Format::Responses => ": keep-alive\n\n",
    }
}

/// An error body that any of the formats could have.
const BUSY: &str = r#"{"type":"error","error":{"type":"rate_limit_error","message":"come back later","code":"rate_limit_exceeded","param":null}}"#;

#[test]
fn head_is_held_back_so_that_an_error_keeps_its_status() {
    let silent = Silent::with("keep_alive_ms = 20000\n");
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let mut connection = request.send(true);
        request.wait_received();
        request.control.head_with(429, &[("content-type", "application/json"), ("retry-after", "7")]);
        request.control.send(BUSY);
        request.control.finish();
        let response = connection.response();
        assert_eq!((response.status, response.headers.get("retry-after")), (429, Some("7")), "{}", request.name());
        assert_eq!(response.json()["error"]["message"], "come back later", "{}", request.name());
    }
}

#[test]
fn silent_backend_gets_keep_alives_and_then_answers() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let (mut stream, mut read) = request.committed();
        request.control.head(200);
        let events = spoken.streamed_call();
        let (first, second) = events.split_at(events.find("\n\n").unwrap() + 2);
        request.control.send(first);
        // Keep-alives are also sent during a pause in the middle.
        read += &stream.read_until(sign(client));
        request.control.send(second);
        request.control.finish();
        read += &String::from_utf8(stream.rest().unwrap()).unwrap();
        let answer = client.read_stream(&read);
        assert_eq!((answer.text.as_str(), answer.calls[0].1.as_str()), (WORDS, TOOL), "{}", request.name());
        assert_eq!(answer.failed, None);
        if client == spoken {
            assert_eq!(read.replace(sign(client), ""), events, "untouched");
        } else {
            assert_eq!(answer.model, spoken.dialect(), "{}", request.name());
        }
    }
}

#[test]
fn error_after_the_head_is_an_error_event() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let (mut stream, read) = request.committed();
        request.control.head_with(429, &[("content-type", "application/json")]);
        request.control.send(BUSY);
        request.control.finish();
        let failed = request.rest(&mut stream, read).failed.expect("an error");
        let kind = match client {
            Format::Messages => &failed["type"],
            Format::Chat | Format::Responses => &failed["code"],
        };
        let expected = match client {
            Format::Messages => "rate_limit_error",
            Format::Chat | Format::Responses => "rate_limit_exceeded",
        };
        assert_eq!(kind, expected, "{}: {failed}", request.name());
        assert_eq!(failed["message"], "come back later", "{}", request.name());
    }
}

#[test]
fn context_overflow_after_the_head_is_an_error_event() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let (mut stream, read) = request.committed();
        request.control.head_with(400, &[("content-type", "application/json")]);
        request.control.send(
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#,
        );
        request.control.finish();
        let failed = request.rest(&mut stream, read).failed.expect("an error");
        match client {
            Format::Messages => {
                assert_eq!(failed["message"], "prompt is too long: 9000 tokens > 8192 maximum", "{failed}");
            }
            Format::Chat | Format::Responses => assert_eq!(failed["code"], "context_length_exceeded", "{failed}"),
        }
    }
}

#[test]
fn whole_answer_after_the_head_becomes_events() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let (mut stream, read) = request.committed();
        request.control.head_with(200, &[("content-type", "application/json")]);
        request.control.send(spoken.whole_call());
        request.control.finish();
        let answer = request.rest(&mut stream, read);
        assert_eq!((answer.text.as_str(), answer.calls.len(), &answer.failed), (WORDS, 1, &None), "{}", request.name());
        assert_eq!(answer.model, spoken.dialect(), "{}", request.name());
        assert_eq!(answer.stop, client.stopped_for_a_call());
    }
}

#[test]
fn timeout_after_the_head_is_an_error_event() {
    let silent = Silent::with("keep_alive_ms = 50\nfirst_byte_timeout_ms = 400\n");
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let (mut stream, read) = request.committed();
        let failed = request.rest(&mut stream, read).failed.expect("an error");
        let message = failed["message"].as_str().unwrap();
        assert!(message.contains("did not begin to answer"), "{}: {failed}", request.name());
        request.control.wait_for_client_gone();
    }
}

#[test]
fn unknown_coding_after_the_head_is_an_error_event() {
    let silent = Silent::new();
    for format in ALL {
        let request = silent.request(format, format);
        let (mut stream, read) = request.committed();
        let headers = [("content-type", "text/event-stream"), ("content-encoding", "compress")];
        request.control.head_with(200, &headers);
        request.control.send(&b"\x1f\x9d\x90 data: no text at all"[..]);
        request.control.finish();
        let failed = request.rest(&mut stream, read).failed.expect("an error");
        assert!(failed["message"].as_str().unwrap().contains("compress"), "{failed}");
    }
}

#[test]
fn a_client_that_takes_gzip_gets_a_late_answer() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        for (status, body) in [(200, spoken.streamed_call()), (400, BUSY.to_owned())] {
            let request = silent.request(client, spoken);
            let mut stream = request.stream_with(&[("Accept-Encoding", "gzip, deflate, br")]);
            let read = stream.read_until(sign(client));
            // As real servers do: compressed for whoever says that it may be.
            let asked = request.wait_received();
            let takes_gzip = (asked.headers.get("accept-encoding")).is_some_and(|taken| taken.contains("gzip"));
            let kind = if status == 200 { "text/event-stream" } else { "application/json" };
            if takes_gzip {
                let headers = [("content-type", kind), ("content-encoding", "gzip")];
                request.control.head_with(status, &headers);
                request.control.send(muninn_tests::gzip(body.as_bytes()));
            } else {
                request.control.head_with(status, &[("content-type", kind)]);
                request.control.send(body);
            }
            request.control.finish();
            let answer = request.rest(&mut stream, read);
            match answer.failed {
                None => assert_eq!((status, answer.text.as_str()), (200, WORDS), "{}", request.name()),
                Some(failed) => {
                    assert_eq!((status, &failed["message"]), (400, &"come back later".into()), "{}", request.name());
                }
            }
        }
    }
}

#[test]
fn keep_alive_stands_between_events_wherever_the_backend_pauses() {
    let silent = Silent::new();
    for format in ALL {
        let request = silent.request(format, format);
        request.control.head(200);
        let events = format.streamed_call();
        let first = events.find("\n\n").unwrap() + 2;
        let mut stream = request.stream();
        request.control.send(&events.as_bytes()[..first + 20]);
        let mut read = stream.read_until(sign(format));
        read += &stream.read_until(sign(format));
        assert_eq!(read.replace(sign(format), ""), events[..first], "no half event");
        request.control.send(&events.as_bytes()[first + 20..]);
        request.control.finish();
        read += &String::from_utf8(stream.rest().unwrap()).unwrap();
        format.read_stream(&read);
        assert_eq!(read.replace(sign(format), ""), events);
    }
}

#[test]
fn no_keep_alive_inside_an_oversized_event_or_unknown_coding() {
    let silent = Silent::with("keep_alive_ms = 500\nstream_idle_timeout_ms = 1600\n");
    let long = format!("data: {}", "x".repeat(300 << 10)).into_bytes();
    let encoded = [("content-type", "text/event-stream"), ("content-encoding", "compress")];
    for (headers, sent) in [(&encoded[..1], long), (&encoded[..], b"\x1f\x9d\x90".to_vec())] {
        for format in ALL {
            let request = silent.request(format, format);
            request.control.head_with(200, headers);
            let mut stream = request.stream();
            request.control.send(sent.clone());
            let mut read = Vec::new();
            while read.len() < sent.len() {
                read.extend(stream.next_chunk().unwrap().unwrap());
            }
            assert_eq!(read, sent);
            // Three keep-alives fit into the timeout.
            let end = stream.next_chunk();
            assert!(end.is_err(), "{format:?}: {end:?}");
        }
    }
}

#[test]
fn no_keep_alive_after_the_last_event() {
    let silent = Silent::with("keep_alive_ms = 500\nstream_idle_timeout_ms = 1600\n");
    for format in ALL {
        let request = silent.request(format, format);
        request.control.head(200);
        let events = format.streamed_call();
        request.control.send(events.as_str());
        let rest = request.stream().rest().unwrap();
        assert_eq!(String::from_utf8(rest).unwrap(), events, "nor an error, for nothing is missing");
    }
}

#[test]
fn whole_answer_gets_no_early_head() {
    let silent = Silent::with("keep_alive_ms = 20\nfirst_byte_timeout_ms = 300\n");
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let response = request.send(false).response();
        assert_eq!(response.status, 504, "{}", request.name());
        assert!(response.json()["error"]["message"].is_string());
    }
}

#[test]
fn leaving_while_the_head_is_held_cancels_the_request() {
    let silent = Silent::with("keep_alive_ms = 20000\n");
    for (client, spoken) in all_pairs() {
        for streamed in [false, true] {
            let request = silent.request(client, spoken);
            let connection = request.send(streamed);
            request.wait_received();
            connection.close();
            request.control.wait_for_client_gone();
        }
    }
}

#[test]
fn leaving_after_the_head_cancels_the_request() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        let request = silent.request(client, spoken);
        let (stream, _) = request.committed();
        stream.leave();
        request.control.wait_for_client_gone();
    }
}

#[test]
fn leaving_mid_answer_cancels_the_request() {
    let silent = Silent::new();
    for (client, spoken) in all_pairs() {
        // A whole answer of which the client has seen nothing.
        let request = silent.request(client, spoken);
        request.control.head_with(200, &[("content-type", "application/json")]);
        let whole = spoken.whole_call();
        request.control.send(&whole.as_bytes()[..20]);
        let connection = request.send(false);
        request.wait_received();
        connection.close();
        request.control.wait_for_client_gone();

        let request = silent.request(client, spoken);
        request.control.head(200);
        let events = spoken.streamed_call();
        let upto = events.find("dich.").unwrap() + 5;
        let end = upto + events[upto..].find("\n\n").unwrap() + 2;
        request.control.send(&events.as_bytes()[..end]);
        let mut stream = request.stream();
        stream.read_until("dich.");
        stream.leave();
        request.control.wait_for_client_gone();
    }
}

#[test]
fn receipt_of_a_late_answer_names_its_backend() {
    let silent = Silent::new();
    let request = silent.request(Format::Messages, Format::Chat);
    let (mut stream, read) = request.committed();
    let id = stream.headers.get("x-muninn-request-id").unwrap().to_owned();
    request.control.head(200);
    request.control.send(Format::Chat.streamed_call());
    request.control.finish();
    request.rest(&mut stream, read);
    let why = muninn_tests::why(&silent.broken.env, &id);
    assert_eq!(
        (&why["spoken"], &why["backend"]),
        (&Value::from("chat"), &Value::from(Format::Chat.dialect())),
        "{why}"
    );
    assert!(why["dropped"].to_string().contains("frobnication"), "{why}");
}
