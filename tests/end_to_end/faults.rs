//! A catalogue of backend faults, each tried with every kind of client.
//!
//! A client asks for a stream of chat completions, messages or responses, or for a whole chat completion, of a backend
//! of its own format or of another one. Whatever the backend does, the client gets a complete answer or an error of its
//! own format within [`muninn_tests::PATIENCE`], the next request is answered, and no request, connection or descriptor
//! is left in the gateway.
#![cfg(target_os = "linux")]

mod connection;
mod content;
mod events;
mod floods;
mod framing;
mod run;
mod surrogates;

use std::io::{Result, Write};
use std::net::TcpStream;

use muninn_tests::http::chunk;
use muninn_tests::{Recorded, answers};

use crate::formats::{ALL, Format};
use run::Outcome::{Answered, Cut, Failed, Relayed};
use run::{Expected, Sent, Trial};

/// Every client gets the answer.
const ANSWERED: Expected = Expected::all(&[Answered]);
/// Every client gets an error.
const FAILED: Expected = Expected::all(&[Failed]);
/// Every client gets an answer or an error.
const EITHER: Expected = Expected::all(&[Answered, Failed]);
/// The answer breaks off after its head: only a whole one of the client's own format, which has begun by then, ends as the
/// backend's does.
const BROKEN_OFF: Expected = Expected { whole: &[Failed, Cut], ..FAILED };
/// Clients of the backend's format get what it sent, others an error.
const RELAYED_OR_FAILED: Expected =
    Expected { native: &[Relayed, Failed], whole: &[Relayed, Failed], converted: &[Failed] };
/// Clients of the backend's format get what it sent, others the answer.
const RELAYED_OR_ANSWERED: Expected =
    Expected { native: &[Relayed, Answered], whole: &[Relayed, Answered], converted: &[Answered] };
/// Clients of the backend's format get what it sent, others what can be made of it.
const RELAYED_OR_EITHER: Expected = Expected {
    native: &[Relayed, Answered, Failed],
    whole: &[Relayed, Answered, Failed],
    converted: &[Answered, Failed],
};
/// The correct answer to a request, to be spoilt.
struct Asked {
    /// The format that the backend is to speak.
    format: Format,
    streamed: bool,
    /// The answer's body, which says `ok`.
    body: &'static str,
    /// Whether the client takes gzip.
    takes_gzip: bool,
}

impl Asked {
    fn of(request: &Recorded) -> Asked {
        let format = ALL.into_iter().find(|format| format.path() == request.target).unwrap();
        let streamed = answers::wants_stream(&request.body);
        Asked {
            format,
            streamed,
            body: if streamed { answers::streamed(format.path()) } else { answers::whole(format.path()) },
            takes_gzip: (request.headers.get("accept-encoding")).is_some_and(|encodings| encodings.contains("gzip")),
        }
    }

    fn content_type(&self) -> &'static str {
        if self.streamed { "text/event-stream" } else { "application/json" }
    }

    /// A head with these further lines, each with its line end.
    fn head(&self, more: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {}\r\n{more}\r\n", self.content_type())
    }

    /// An answer whose head has these lines, each with its line end, and the body's length.
    fn answer(&self, more: &str) -> String {
        self.head(&format!("{more}content-length: {}\r\n", self.body.len())) + self.body
    }

    /// A head that announces chunks.
    fn chunked(&self) -> String {
        self.head("transfer-encoding: chunked\r\n")
    }

    /// The first half of the body, which ends in the middle of an event.
    fn half(&self) -> &'static str {
        let half = self.body.len() / 2;
        &self.body[..if self.body[..half].ends_with('\n') { half + 3 } else { half }]
    }
}

fn write(mut socket: &TcpStream, bytes: impl AsRef<[u8]>) -> Result<()> {
    socket.write_all(bytes.as_ref())
}

/// Writes the same bytes again and again, until the connection is closed.
fn write_for_ever(socket: &TcpStream, bytes: &[u8]) -> Result<()> {
    let many = bytes.repeat((16 << 10) / bytes.len() + 1);
    loop {
        write(socket, &many)?;
    }
}
