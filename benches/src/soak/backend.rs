//! A backend that answers in all formats, fails where a header says so, and keeps the blocks that came with each request.

use std::collections::HashMap;
use std::time::Duration;

use memchr::memmem;
use muninn_tests::http::chunk;
use muninn_tests::{Recorded, Reply, Upstream, answers, until_closed};
use parking_lot::Mutex;

use crate::load::events;
use crate::load::format::Format;

pub(super) const REQUEST: &str = "x-soak-request";
pub(super) const FAULT: &str = "x-soak-fault";
/// A status of the 500s, the end of the connection before the answer, no answer until the other side goes, half an answer.
pub(super) const FAULTS: [&str; 4] = ["status", "close", "stall", "break"];

const OPEN: &[u8] = b"<muninn-context";
const CLOSE: &[u8] = b"</muninn-context>";
/// How long a connection may be idle.
const IDLE: Duration = Duration::from_secs(5);

pub(super) struct Backend {
    upstream: Upstream,
    /// The blocks of each request, by its name, until they are taken.
    blocks: Mutex<HashMap<String, Vec<Vec<u8>>>>,
}

impl Backend {
    pub(super) fn start() -> Self {
        Self { upstream: Upstream::start_idling(Some(IDLE), answer), blocks: Mutex::default() }
    }

    pub(super) fn url(&self) -> String {
        self.upstream.url()
    }

    /// Takes the blocks that came with a request, oldest first; `None` if the request did not come.
    pub(super) fn blocks_of(&self, request: &str) -> Option<Vec<Vec<u8>>> {
        let mut blocks = self.blocks.lock();
        for came in self.upstream.take_requests() {
            if let Some(name) = came.headers.get(REQUEST) {
                blocks.insert(name.to_owned(), blocks_in(&came.body));
            }
        }
        blocks.remove(request)
    }
}

fn answer(request: &Recorded) -> Reply {
    let Some(format) = Format::of_target(&request.target) else {
        return answers::ok(request);
    };
    let whole = || whole(format, answers::wants_stream(&request.body));
    match request.headers.get(FAULT) {
        None => Reply::raw(whole()).then_keep(),
        Some("status") => Reply::json(
            503,
            r#"{"type":"error","error":{"message":"as the driver says","type":"server_error","code":"down"}}"#,
        ),
        Some("stall") => Reply::written(until_closed),
        Some("break") => {
            let mut half = whole();
            half.truncate(half.len() / 2);
            Reply::raw(half)
        }
        Some(_) => Reply::hangup(),
    }
}

/// The blocks in a body, as they stand in it. The prompts of a soak hold no fence themselves.
fn blocks_in(body: &[u8]) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    let mut rest = body;
    while let Some(start) = memmem::find(rest, OPEN) {
        let end = memmem::find(&rest[start..], CLOSE).map_or(rest.len(), |end| start + end + CLOSE.len());
        blocks.push(rest[start..end].to_vec());
        rest = &rest[end..];
    }
    blocks
}

fn whole(format: Format, streamed: bool) -> Vec<u8> {
    if streamed {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let events = events::events(format, events::plain_word);
        let chunks = events.iter().map(chunk).chain([chunk("")]);
        return std::iter::once(head.as_bytes().to_vec()).chain(chunks).flatten().collect();
    }
    let body = answers::whole(format.path());
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_verbatim() {
        let body = br#"{"a":"x <muninn-context>\n1\n</muninn-context>","b":"<muninn-context>2</muninn-context>"}"#;
        let expected: [&[u8]; 2] = [br"<muninn-context>\n1\n</muninn-context>", b"<muninn-context>2</muninn-context>"];
        assert_eq!(blocks_in(body), expected);
    }
}
