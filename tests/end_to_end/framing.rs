//! Messages with a transfer coding and a length: the coding counts, and the length is not forwarded.

use muninn_tests::http::Connection;
use muninn_tests::{Reply, Upstream};

use crate::broken_upstream::of_path;
use crate::broken_upstream::stage::Broken;
use crate::formats::all_pairs;
use crate::stage::Stage;

/// An answer in chunks, with a length that is not that of its body, before or behind the transfer coding.
fn both(content_type: &str, body: &str, is_length_first: bool) -> Vec<u8> {
    let (length, coding) = ("content-length: 5\r\n", "transfer-encoding: chunked\r\n");
    let framing = if is_length_first { [length, coding] } else { [coding, length] };
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n{}\r\n{chunk}", framing.concat()).into_bytes()
}

#[test]
fn chunked_answer_with_a_length_arrives_whole() {
    let mut broken = Broken::new();
    for is_length_first in [false, true] {
        broken.answer_with(move |request| {
            let format = of_path(request);
            Reply::raw(if muninn_tests::answers::wants_stream(&request.body) {
                both("text/event-stream", &format.streamed_call(), is_length_first)
            } else {
                both("application/json", &format.whole_call(), is_length_first)
            })
        });
        for (client, spoken) in all_pairs() {
            for streamed in [false, true] {
                let how = format!("{client:?} -> {spoken:?}, streamed: {streamed}");
                let response = broken.ask_closing(client, spoken, streamed);
                let answer =
                    if streamed { client.read_stream(&response.text()) } else { client.read_whole(&response.json()) };
                assert_eq!((answer.calls.len(), answer.failed), (1, None), "{how}");
                assert!(
                    response.headers.all("content-length").len() + response.headers.all("transfer-encoding").len() == 1,
                    "{how}"
                );
            }
        }
    }
    broken.assert_lives();
}

#[test]
fn an_answer_in_http_1_0_gets_the_clients_version() {
    let body = r#"{"choices":[]}"#;
    for length in [format!("content-length: {}\r\n", body.len()), String::new()] {
        let answer = format!("HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n{length}\r\n{body}");
        let upstream = Upstream::start_with(move |_| Reply::raw(answer.clone()));
        let stage = Stage::with(upstream, "");
        let mut client = Connection::open(stage.gateway.address);
        for connection in ["keep-alive", "close"] {
            let headers = [("Content-Length", "15"), ("Connection", connection)];
            client.send("POST", "/v1/chat/completions", &headers, br#"{"messages":[]}"#);
        }
        let answers = client.everything();
        assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{answers}");
        assert_eq!(answers.matches(body).count(), 2, "{answers}");
    }
}

#[test]
fn chunked_answer_with_a_length_is_forwarded_whole() {
    let body = r#"{"data":[{"id":"file-1"}]}"#;
    let upstream = Upstream::start_with(move |_| Reply::raw(both("application/json", body, true)));
    let stage = Stage::with(upstream, "");
    let response = stage.gateway.request("GET", "/v1/files", &[], b"");
    assert_eq!((response.status, response.text().as_str()), (200, body));
}

#[test]
fn request_with_chunks_and_length_is_read_by_chunks_and_closes() {
    let stage = Stage::with(Upstream::start(), "");
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;
    let smuggled = "GET /v1/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for framing in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 99999999999\r\n",
    ] {
        let before = stage.upstream.requests().len();
        let mut connection = Connection::open(stage.gateway.address);
        let head = format!("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n");
        connection.send_raw(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n{smuggled}", body.len()).as_bytes());
        assert_eq!(connection.response().status, 200, "{framing}");
        assert!(connection.ends_with_error_or_close(), "{framing}: what follows is not read");
        let requests = stage.upstream.requests();
        assert_eq!(requests.len(), before + 1, "{framing}");
        let request = &requests[before];
        assert_eq!(request.text(), body, "{framing}");
        assert_eq!(request.headers.all("content-length"), [body.len().to_string()], "{framing}");
        assert_eq!(request.headers.get("transfer-encoding"), None, "{framing}");
    }
}
