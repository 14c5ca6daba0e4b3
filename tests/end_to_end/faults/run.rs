//! Runs one fault for every kind of client.

use std::io::{ErrorKind, Result};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use muninn_tests::http::{Connection, Response};
use muninn_tests::{Recorded, Reply, answers};

use super::Asked;
use crate::broken_upstream::stage::{Broken, assert_well_formed};
use crate::formats::{ALL, Format, Turn};

/// More than any answer of these tests.
const MOST: usize = 24 << 20;

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    /// A complete answer in the client's format.
    Answered,
    /// An error in the client's format.
    Failed,
    /// What the backend sent, byte for byte.
    Relayed,
    /// The end of the connection in the middle of the body, as HTTP shows it.
    Cut,
    /// More than the client takes: it left.
    Flooded,
}

/// The allowed outcomes of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// A stream from a backend of the client's format.
    pub(super) native: &'static [Outcome],
    /// A whole answer from one.
    pub(super) whole: &'static [Outcome],
    /// Any answer from a backend of another format.
    pub(super) converted: &'static [Outcome],
}

impl Expected {
    pub(super) const fn all(outcomes: &'static [Outcome]) -> Expected {
        Expected { native: outcomes, whole: outcomes, converted: outcomes }
    }
}

/// The response of a fault that is valid HTTP: status and body, as a client of the format may get them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// One of the twelve kinds of request.
#[derive(Debug, Clone, Copy)]
struct Shape {
    client: Format,
    spoken: Format,
    streamed: bool,
}

impl Shape {
    fn all() -> impl Iterator<Item = Shape> {
        let asked = ALL.map(|client| (client, true)).into_iter().chain([(Format::Chat, false)]);
        asked.flat_map(|(client, streamed)| ALL.map(|spoken| Shape { client, spoken, streamed }))
    }

    fn expected(self, expected: &Expected) -> &'static [Outcome] {
        match self {
            Shape { client, spoken, .. } if client != spoken => expected.converted,
            Shape { streamed: true, .. } => expected.native,
            Shape { .. } => expected.whole,
        }
    }

    /// A request that says what its answer is to be.
    fn send(self, connection: &mut Connection, words: &str, more: &[(&str, &str)]) {
        let body = (self.client).request(self.spoken.dialect(), self.streamed, &[Turn::User(words.to_owned())]);
        let headers = [&[("Content-Type", "application/json")], more].concat();
        connection.send("POST", self.client.path(), &headers, body.as_bytes());
    }

    fn outcome(self, received: &Result<Response>, sent: Option<&Sent>) -> Option<Outcome> {
        let response = match received {
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return Some(Outcome::Flooded),
            Err(error) if is_cut(error.kind()) => return Some(Outcome::Cut),
            Err(_) => return None,
            Ok(response) => response,
        };
        let response = &unpacked(response);
        let read = catch_unwind(AssertUnwindSafe(|| {
            assert_well_formed(self.client, response, "");
            let is_stream = response.headers.get("content-type") == Some("text/event-stream");
            response.status != 200 || (is_stream && self.client.read_stream(&response.text()).failed.is_some())
        }));
        match read {
            Ok(true) => Some(Outcome::Failed),
            Ok(false) => Some(Outcome::Answered),
            Err(_) => sent
                .is_some_and(|sent| {
                    self.client == self.spoken && (sent.status, &sent.body) == (response.status, &response.body)
                })
                .then_some(Outcome::Relayed),
        }
    }
}

fn is_cut(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// A response without its gzip.
fn unpacked(response: &Response) -> Response {
    let mut response = response.clone();
    if response.headers.get("content-encoding") == Some("gzip") {
        response.body = muninn_tests::gunzip(&response.body).unwrap_or(response.body);
    }
    response
}

impl Sent {
    /// A status with a body of a content type.
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Sent {
        Sent { status, headers: vec![("content-type", content_type.to_owned())], body: body.into() }
    }
}

/// A gateway for trying faults one after another.
pub(super) struct Trial {
    broken: Broken,
    /// Its descriptors at rest.
    base: usize,
    /// A client leaves after so many bytes.
    most: usize,
}

impl Trial {
    /// A gateway with these limits.
    pub(super) fn with(limits: &str) -> Trial {
        let broken = Broken::with("", limits);
        broken.answer_with(sound);
        let base = broken.base(|| stir(&broken));
        Trial { broken, base, most: MOST }
    }

    /// The same with clients that leave early.
    pub(super) fn most(self, most: usize) -> Trial {
        Trial { most, ..self }
    }

    /// Has `fault` write the backend's answer for each kind of client in turn, and panics unless each gets what is
    /// expected, the request after it is answered, and all is then as it was before.
    pub(super) fn written(
        &mut self,
        case: &str,
        expected: Expected,
        fault: impl Fn(&Asked, &TcpStream) -> Result<()> + Send + Sync + 'static,
    ) {
        let fault = Arc::new(fault);
        let reply = move |request: &Recorded| {
            let (asked, fault) = (Asked::of(request), Arc::clone(&fault));
            Reply::written(move |socket| fault(&asked, socket))
        };
        self.run(case, &[], expected, reply, |_| None);
    }

    /// The same for what `make` makes, of which a client of the backend's format may get the bytes; with headers of the
    /// client's.
    pub(super) fn sent(
        &mut self,
        case: &str,
        headers: &[(&str, &str)],
        expected: Expected,
        make: impl Fn(&Asked) -> Sent + Send + Sync + 'static,
    ) {
        let make = Arc::new(make);
        let reply = {
            let make = Arc::clone(&make);
            move |request: &Recorded| {
                let sent = make(&Asked::of(request));
                let lines = sent.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
                let head = format!("HTTP/1.1 {} Mock\r\n{}", sent.status, lines.collect::<String>());
                let head = format!("{head}content-length: {}\r\n\r\n", sent.body.len());
                Reply::raw([head.into_bytes(), sent.body].concat())
            }
        };
        self.run(case, headers, expected, reply, |asked| Some(make(asked)));
    }

    /// The same for any answer. `sent` is what a client of the backend's format may get as it is.
    pub(super) fn run(
        &mut self,
        case: &str,
        headers: &[(&str, &str)],
        expected: Expected,
        fault: impl Fn(&Recorded) -> Reply + Send + Sync + 'static,
        sent: impl Fn(&Asked) -> Option<Sent>,
    ) {
        // A test has many cases: the last one that it prints is the one that fails.
        println!("{case}");
        let Trial { broken, base, most } = self;
        broken.answer_with(move |request| if request.text().contains(SOUND) { sound(request) } else { fault(request) });
        let mut wrong = Vec::new();
        for shape in Shape::all() {
            let mut connection = Connection::open(broken.gateway.address);
            shape.send(&mut connection, "hello", headers);
            let received = connection.receive(*most);
            let asked = broken.upstream.take_requests().pop();
            let sent = asked.and_then(|request| sent(&Asked::of(&request)));
            let outcome = shape.outcome(&received, sent.as_ref());
            if !outcome.is_some_and(|outcome| shape.expected(&expected).contains(&outcome)) {
                wrong.push(format!("{shape:?}: {outcome:?}: {}", shown(&received)));
            }
            if outcome.is_none() && received.is_err() {
                // A timeout here would repeat for the others.
                break;
            }
            // The same connection where the client would use it again, a new one otherwise.
            let kept = received.is_ok_and(|response| response.headers.get("connection") != Some("close"));
            let mut next = if kept {
                connection
            } else {
                connection.close();
                Connection::open(broken.gateway.address)
            };
            shape.send(&mut next, SOUND, &[]);
            let received = next.receive(MOST);
            if shape.outcome(&received, None) != Some(Outcome::Answered) {
                wrong.push(format!("{shape:?}: the next request: {}", shown(&received)));
            }
            next.close();
        }
        assert!(wrong.is_empty(), "{case}: {}", wrong.join("\n"));
        broken.at_rest(*base, || stir(broken));
        assert!(broken.gateway.is_running(), "{}", broken.gateway.stderr());
        assert!(!broken.gateway.stderr().contains("panicked"), "{}", broken.gateway.stderr());
    }
}

/// The prompt of a request that is answered as it should be.
const SOUND: &str = "a sound request";

fn sound(request: &Recorded) -> Reply {
    answers::ok(request).header("connection", "close").then_close()
}

fn shown(received: &Result<Response>) -> String {
    match received {
        Ok(response) => {
            let text: String = response.text().chars().take(2_000).collect();
            format!("{} {:?} {text:?}", response.status, response.headers)
        }
        Err(error) => format!("{error} ({:?})", error.kind()),
    }
}

/// Has each worker use a connection: then it drops those that its backend has closed.
fn stir(broken: &Broken) {
    for shape in Shape::all() {
        let mut connection = Connection::open(broken.gateway.address);
        shape.send(&mut connection, SOUND, &[]);
        drop(connection.receive(MOST));
    }
}
