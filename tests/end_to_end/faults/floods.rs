//! Backends that send without end what is no answer. Others that the same worker serves must not wait for it.

use super::events::events;
use super::run::Outcome::Flooded;
use super::*;

/// The backend never ends. A client of its format may leave, others get an error.
const FLOODED: Expected = Expected {
    native: &[Flooded, Failed],
    whole: &[Flooded, Failed, Cut],
    converted: &[Failed],
};

const IMPATIENT: &str = "keep_alive_ms = 200\nfirst_byte_timeout_ms = 2000\nstream_idle_timeout_ms = 500\n";
/// A client leaves that gets so many bytes of a flood.
const MOST: usize = 2 << 20;

/// Writes the beginning of an answer, and then the same bytes without end.
fn flood(bytes: &'static [u8]) {
    Trial::with(IMPATIENT)
        .most(MOST)
        .written(FLOODED, move |asked, socket| {
            write(socket, asked.head("connection: close\r\n"))?;
            write(socket, events(asked.body)[0])?;
            write_for_ever(socket, bytes)
        });
}

#[test]
fn comments_without_end_are_given_up() {
    flood(b": still here\n\n");
}

#[test]
fn blank_lines_without_end_are_given_up() {
    flood(b"\n\n");
}

#[test]
fn events_of_nothing_without_end_are_given_up() {
    flood(b"data: {}\n\n");
}

#[test]
fn a_line_without_end_is_given_up() {
    flood(b"x");
}

#[test]
fn what_follows_the_last_event_without_end_is_given_up() {
    Trial::with(IMPATIENT).most(MOST).written(
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
fn interim_answers_without_end_are_given_up() {
    survive_with("first_byte_timeout_ms = 500\n", FAILED, |_, socket| {
        write_for_ever(socket, b"HTTP/1.1 102 Processing\r\n\r\n")
    });
}
