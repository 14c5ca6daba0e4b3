//! Backends that send endless data without an answer. Other requests of the same worker must not wait.

use super::events::events;
use super::run::Outcome::Flooded;
use super::*;

/// The backend never ends. A client of its format may leave, others get an error.
const FLOODED: Expected = Expected { native: &[Flooded, Failed], whole: &[Flooded, Failed, Cut], converted: &[Failed] };

const IMPATIENT: &str = "keep_alive_ms = 200\nfirst_byte_timeout_ms = 2000\nstream_idle_timeout_ms = 500\n";
/// A client leaves after this many bytes of a flood.
const MOST: usize = 2 << 20;

/// Writes the beginning of an answer, and then the same bytes without end. Each flood is a test with a gateway of its own,
/// because it takes many seconds, and tests run in parallel.
fn flood(case: &str, bytes: &'static [u8]) {
    Trial::with(IMPATIENT).most(MOST).written(case, FLOODED, move |asked, socket| {
        write(socket, asked.head("connection: close\r\n"))?;
        write(socket, events(asked.body)[0])?;
        write_for_ever(socket, bytes)
    });
}

#[test]
fn endless_comments_are_cancelled() {
    flood("comments", b": still here\n\n");
}

#[test]
fn endless_blank_lines_are_cancelled() {
    flood("blank lines", b"\n\n");
}

#[test]
fn endless_empty_events_are_cancelled() {
    flood("empty events", b"data: {}\n\n");
}

#[test]
fn endless_line_is_cancelled() {
    flood("one line", b"x");
}

#[test]
fn endless_events_after_the_last_are_cancelled() {
    Trial::with(IMPATIENT).most(MOST).written(
        "events after the last",
        Expected {
            native: &[Answered, Flooded, Failed],
            whole: &[Answered, Flooded, Failed, Cut],
            converted: &[Answered, Failed],
        },
        |asked, socket| {
            write(socket, asked.head("connection: close\r\n"))?;
            write(socket, asked.body)?;
            write_for_ever(socket, b"\n\n: more\n\n")
        },
    );
}

#[test]
fn endless_interim_responses_are_cancelled() {
    Trial::with("first_byte_timeout_ms = 500\n")
        .written("interim responses", FAILED, |_, socket| write_for_ever(socket, b"HTTP/1.1 102 Processing\r\n\r\n"));
}
