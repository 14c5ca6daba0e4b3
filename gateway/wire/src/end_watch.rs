//! Recognises the last event of a stream that is passed on unchanged.
//!
//! If a connection breaks after the last event, nothing is missing. Some backends mark the end of an answer only by
//! closing the connection. Then the last event distinguishes an end from a break.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::de::IgnoredAny;

use super::WireFormat;

static FINISH_REASON: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"finish_reason\":"));
static DATA: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("data:"));
static DONE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("[DONE]"));
static ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("event: error"));
static MESSAGE_STOP: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"message_stop\""));
static RESPONSE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"response."));

/// Watches the events of one stream for the last one. Quotes inside a text are escaped, so a name with its quotes is
/// never part of a text.
#[derive(Debug)]
pub struct EndWatch {
    format: WireFormat,
    /// Whether the last event has arrived.
    last: bool,
    /// Whether a chat chunk with a finish reason has arrived.
    finished: bool,
}

impl EndWatch {
    /// A watch for a stream of this format.
    pub fn new(format: WireFormat) -> EndWatch {
        EndWatch { format, last: false, finished: false }
    }

    /// Reads the next bytes, which begin at the start of a line. Returns whether they contain an event: comments are none.
    pub fn push(&mut self, events: &[u8]) -> bool {
        match self.format {
            WireFormat::Chat => {
                self.last |= DONE.find_iter(events).any(|at| {
                    let field = events[..at].trim_ascii_end();
                    field.strip_suffix(b"data:").is_some_and(is_line_start)
                });
                let mut reasons =
                    FINISH_REASON.find_iter(events).map(|at| &events[at + FINISH_REASON.needle().len()..]);
                self.finished |= reasons.any(|value| value.trim_ascii_start().starts_with(b"\""));
            }
            WireFormat::Messages => {
                let is_error = ERROR.find_iter(events).any(|at| is_line_start(&events[..at]));
                self.last |= is_error || MESSAGE_STOP.find(events).is_some();
            }
            WireFormat::Responses => {
                let mut names = RESPONSE.find_iter(events).map(|at| &events[at + RESPONSE.needle().len()..]);
                let last: [&[u8]; 3] = [b"completed\"", b"incomplete\"", b"failed\""];
                self.last |= names.any(|name| last.iter().any(|last| name.starts_with(last)));
            }
        }
        DATA.find_iter(events).any(|at| is_line_start(&events[..at]))
    }

    /// Whether the last event has arrived.
    pub fn is_over(&self) -> bool {
        self.last
    }

    /// Returns the bytes that complete a stream whose connection closed. `rest` is the bytes after its last whole
    /// event. `None` if the answer is incomplete.
    pub fn closing_bytes(&mut self, rest: &[u8]) -> Option<Vec<u8>> {
        // A rest after the last event is dropped, and so is a partial event.
        let mut end = Vec::new();
        if !self.last && is_event(rest) {
            self.push(rest);
            end = [rest.trim_ascii_end(), b"\n\n"].concat();
        }
        if !self.last && self.finished {
            // Some chat servers omit the `[DONE]` at the end.
            end.extend_from_slice(b"data: [DONE]\n\n");
        }
        (self.last || self.finished).then_some(end)
    }
}

/// Whether a line begins behind these bytes.
fn is_line_start(before: &[u8]) -> bool {
    before.last().is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
}

/// Whether `rest` is an event that lacks only its empty line.
fn is_event(rest: &[u8]) -> bool {
    let data = rest.split(|byte| *byte == b'\n').rev().find_map(|line| line.strip_prefix(b"data:"));
    data.is_some_and(|data| {
        let data = data.trim_ascii();
        data == b"[DONE]" || serde_json::from_slice::<IgnoredAny>(data).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(format: WireFormat, events: &str) -> EndWatch {
        let mut watch = EndWatch::new(format);
        watch.push(events.as_bytes());
        watch
    }

    #[test]
    fn last_event_is_recognised_but_not_its_name_in_a_text() {
        for (format, last, text) in [
            (WireFormat::Chat, "data: {}\n\ndata: [DONE]\n\n", r#"data: {"content":"data: [DONE]"}"#),
            (
                WireFormat::Messages,
                "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
                r#"data: {"text":"say \"message_stop\""}"#,
            ),
            (
                WireFormat::Responses,
                "data: {\"type\":\"response.incomplete\"}\n\n",
                r#"data: {"delta":"\"response.completed\""}"#,
            ),
        ] {
            assert!(after(format, last).is_over(), "{last}");
            assert!(!after(format, text).is_over(), "{text}");
        }
    }

    #[test]
    fn only_complete_answers_get_closing_bytes() {
        let chat = |events| after(WireFormat::Chat, events);
        assert_eq!(chat("data: {}\n\n").closing_bytes(b""), None);
        assert_eq!(chat("data: {}\n\n").closing_bytes(b"data: [DONE").as_deref(), None);
        assert_eq!(chat("data: {}\n\n").closing_bytes(b"data: [DONE]\n").unwrap(), b"data: [DONE]\n\n");
        assert_eq!(chat(r#"data: {"finish_reason":"stop"}"#).closing_bytes(b"data: [DO").unwrap(), b"data: [DONE]\n\n");
        assert_eq!(
            chat("").closing_bytes(br#"data: {"finish_reason":"stop"}"#).unwrap(),
            b"data: {\"finish_reason\":\"stop\"}\n\ndata: [DONE]\n\n"
        );
        assert_eq!(chat("data: [DONE]\n\n").closing_bytes(b": bye").unwrap(), b"");
        let mut messages = after(WireFormat::Messages, "");
        assert_eq!(messages.closing_bytes(br#"data: {"type":"message_stop""#), None);
        assert!(messages.closing_bytes(br#"data: {"type":"message_stop"}"#).is_some());
    }
}
