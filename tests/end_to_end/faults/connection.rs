//! Connections that are refused, reset, silent, slow, or no HTTP.

use std::collections::HashSet;
use std::net::TcpListener;
use std::time::Duration;

use muninn_tests::{Reply, TestEnv, answers, reset, until_closed};
use parking_lot::Mutex;

use super::*;
use crate::MUNINN;
use crate::broken_upstream::stage::{Broken, assert_well_formed};
use crate::formats::{Turn, all_pairs, backend};

/// Limits of a gateway with short timeouts.
const IMPATIENT: &str = "keep_alive_ms = 100\nfirst_byte_timeout_ms = 500\nstream_idle_timeout_ms = 500\n";

#[test]
fn a_refused_connection_is_an_error() {
    // The port is bound, so that no other process gets it, but nothing listens on it.
    let unheard = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let env = TestEnv::new(MUNINN);
    let backends = ALL.map(|format| {
        let name = format.dialect();
        let route = format!("[[routes]]\nmodel = \"{name}\"\nbackend = \"{name}\"\n");
        (backend(name, &format!("http://{unheard}"), format), route)
    });
    let (backends, routes): (Vec<_>, Vec<_>) = backends.into_iter().unzip();
    env.write_config(&format!("{}{}", backends.concat(), routes.concat()));
    let gateway = env.serve(&env.repository("demo", &[]), &[]);
    for (client, spoken) in all_pairs() {
        for streamed in [false, true] {
            let body = client.request(spoken.dialect(), streamed, &[Turn::User("hello".to_owned())]);
            let response = gateway.post(client.path(), &[], body.as_bytes());
            // After some failures the circuit opens, which is another status.
            assert!([502, 503].contains(&response.status), "{}", response.text());
            assert_well_formed(client, &response, "refused");
        }
    }
    assert_eq!(gateway.active_requests(), 0);
}

#[test]
fn broken_connections_end_in_an_answer_or_an_error() {
    let mut trial = Trial::with("");
    trial.written("a reset before the head is an error", FAILED, |_, socket| reset(socket));
    trial.written("a close before the head is an error", FAILED, |_, _| Ok(()));
    trial.written("a reset in the head is an error", FAILED, |asked, socket| {
        let head = asked.chunked();
        write(socket, &head[..head.len() / 2])?;
        reset(socket)
    });
    trial.written("a close in the head is an error", FAILED, |asked, socket| {
        let head = asked.chunked();
        write(socket, &head[..head.len() / 2])
    });
    trial.written("a reset after the head ends the answer with an error", BROKEN_OFF, |asked, socket| {
        write(socket, asked.chunked())?;
        reset(socket)
    });
    trial.written("a reset in an event ends the answer with an error", BROKEN_OFF, |asked, socket| {
        write(socket, asked.chunked())?;
        write(socket, chunk(asked.half()))?;
        reset(socket)
    });
    trial.written("a reset in a chunk ends the answer with an error", BROKEN_OFF, |asked, socket| {
        write(socket, asked.chunked())?;
        let whole = chunk(asked.body);
        write(socket, &whole[..whole.len() / 2])?;
        reset(socket)
    });
    // The alert that a TLS server sends for a plain request.
    trial.written("tls in place of http is an error", FAILED, |_, socket| {
        write(socket, b"\x15\x03\x03\x00\x02\x02\x46")
    });
    trial.written("an http2 preface in place of an answer is an error", FAILED, |_, socket| {
        write(socket, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
    });
    trial.written("a body without a head is an error", FAILED, |asked, socket| write(socket, asked.body));
    for line in ["HTTP/1.1 abc OK", "HTTP/1.1 99 Low", "HTTP/1.1 1000 High", "HTTP/9.9 200 OK", "200 OK"] {
        trial.written("an invalid status line is an error", FAILED, move |asked, socket| {
            write(socket, format!("{line}\r\ncontent-length: {}\r\n\r\n{}", asked.body.len(), asked.body))
        });
    }
}

#[test]
fn slow_answers_are_read() {
    let mut trial = Trial::with("keep_alive_ms = 50\n");
    trial.written("head sent byte by byte is read", ANSWERED, |asked, socket| {
        let head = asked.chunked();
        for byte in head.bytes() {
            write(socket, [byte])?;
            std::thread::sleep(Duration::from_millis(1));
        }
        write(socket, chunk(asked.body))?;
        write(socket, chunk(""))
    });
    trial.written("body sent byte by byte is read", ANSWERED, |asked, socket| {
        write(socket, asked.chunked())?;
        for byte in asked.body.bytes() {
            write(socket, chunk([byte]))?;
        }
        write(socket, chunk(""))
    });
}

#[test]
fn silent_backends_time_out() {
    let mut trial = Trial::with(IMPATIENT);
    trial.written("silent backend times out", FAILED, |_, socket| until_closed(socket));
    trial.written("backend that stops in its head times out", FAILED, |asked, socket| {
        write(socket, &asked.chunked()[..20])?;
        until_closed(socket)
    });
    trial.written("backend that stops in an event times out", BROKEN_OFF, |asked, socket| {
        write(socket, asked.chunked())?;
        write(socket, chunk(asked.half()))?;
        until_closed(socket)
    });
}

#[test]
fn reset_of_a_pooled_connection_is_retried() {
    let used = Mutex::new(HashSet::new());
    let mut broken = Broken::with("", "");
    // Every connection serves one request, does not announce its close, and is reset at the second request.
    broken.answer_with(move |request| {
        if used.lock().insert(request.connection) { answers::ok(request) } else { Reply::written(reset) }
    });
    for (client, spoken) in all_pairs() {
        for streamed in [false, true] {
            let response = broken.ask(client, spoken, streamed);
            assert_eq!(response.status, 200, "{}", response.text());
            assert_well_formed(client, &response, "stale");
        }
    }
    broken.assert_lives();
}

#[test]
fn close_of_a_pooled_connection_is_retried() {
    let mut broken = Broken::with("", "");
    broken.answer_with(|request| answers::ok(request).then_close());
    for _ in 0..4 {
        for (client, spoken) in all_pairs() {
            let response = broken.ask(client, spoken, true);
            assert_eq!(response.status, 200, "{}", response.text());
            assert_well_formed(client, &response, "closed");
        }
    }
    broken.assert_lives();
}
