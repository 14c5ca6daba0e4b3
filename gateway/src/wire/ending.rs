//! Whether a stream that is passed on untouched has had its last event.
//!
//! A connection may break right behind it, and then nothing is missing; or a backend says where its answer ends only by
//! closing the connection, and then nothing but the last event tells an end from a break.

use memchr::memmem;
use serde::de::IgnoredAny;

use super::WireFormat;

/// Watches the events of one stream. Names with their quotes are never part of a text, where quotes are escaped.
#[derive(Debug)]
pub struct Ending {
    format: WireFormat,
    last: bool,
    finished: bool,
}

impl Ending {
    /// For a stream of this format.
    #[must_use]
    pub fn new(format: WireFormat) -> Ending {
        Ending {
            format,
            last: false,
            finished: false,
        }
    }

    /// Looks at bytes that begin where a line does.
    pub fn see(&mut self, events: &[u8]) {
        let has = |name: &str| memmem::find(events, name.as_bytes()).is_some();
        self.last |= match self.format {
            WireFormat::Chat => at_line_start(events, b"data: [DONE]") || at_line_start(events, b"data:[DONE]"),
            WireFormat::Messages => has("\"message_stop\"") || at_line_start(events, b"event: error"),
            WireFormat::Responses => {
                has("\"response.completed\"") || has("\"response.incomplete\"") || has("\"response.failed\"")
            }
        };
        self.finished |=
            self.format == WireFormat::Chat && (has("\"finish_reason\":\"") || has("\"finish_reason\": \""));
    }

    /// Whether there is an event among these bytes, which begin where a line does; comments are none.
    #[must_use]
    pub fn has_event(events: &[u8]) -> bool {
        at_line_start(events, b"data:")
    }

    /// Whether the last event has come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.last
    }

    /// What makes a stream whole that ended with its connection, given what came after its last whole event; `None`
    /// where the backend did not say that this was all.
    #[must_use]
    pub fn completed(&mut self, rest: &[u8]) -> Option<Vec<u8>> {
        // A rest behind the last event is of no use to anybody, nor is half an event.
        let mut end = Vec::new();
        if !self.last && is_event(rest) {
            self.see(rest);
            end = [rest.trim_ascii_end(), b"\n\n"].concat();
        }
        if !self.last && self.finished {
            // Some servers of this format leave out the mark at the end.
            end.extend_from_slice(b"data: [DONE]\n\n");
        }
        (self.last || self.finished).then_some(end)
    }
}

fn at_line_start(events: &[u8], mark: &[u8]) -> bool {
    memmem::find_iter(events, mark).any(|at| at == 0 || matches!(events[at - 1], b'\n' | b'\r'))
}

/// Whether an event lacks nothing but the empty line behind it.
fn is_event(rest: &[u8]) -> bool {
    let data = rest
        .split(|byte| *byte == b'\n')
        .rev()
        .find_map(|line| line.strip_prefix(b"data:"));
    data.is_some_and(|data| {
        let data = data.trim_ascii();
        data == b"[DONE]" || serde_json::from_slice::<IgnoredAny>(data).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(format: WireFormat, events: &str) -> Ending {
        let mut ending = Ending::new(format);
        ending.see(events.as_bytes());
        ending
    }

    #[test]
    fn the_last_event_is_known_and_its_name_in_a_text_is_not_it() {
        for (format, last, text) in [
            (
                WireFormat::Chat,
                "data: {}\n\ndata: [DONE]\n\n",
                r#"data: {"content":"data: [DONE]"}"#,
            ),
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
    fn a_stream_is_completed_only_where_the_backend_said_all() {
        let chat = |events| after(WireFormat::Chat, events);
        assert_eq!(chat("data: {}\n\n").completed(b""), None);
        assert_eq!(chat("data: {}\n\n").completed(b"data: [DONE").as_deref(), None);
        assert_eq!(
            chat("data: {}\n\n").completed(b"data: [DONE]\n").unwrap(),
            b"data: [DONE]\n\n"
        );
        assert_eq!(
            chat(r#"data: {"finish_reason":"stop"}"#)
                .completed(b"data: [DO")
                .unwrap(),
            b"data: [DONE]\n\n"
        );
        assert_eq!(
            chat("").completed(br#"data: {"finish_reason":"stop"}"#).unwrap(),
            b"data: {\"finish_reason\":\"stop\"}\n\ndata: [DONE]\n\n"
        );
        assert_eq!(chat("data: [DONE]\n\n").completed(b": bye").unwrap(), b"");
        let mut messages = after(WireFormat::Messages, "");
        assert_eq!(messages.completed(br#"data: {"type":"message_stop""#), None);
        assert!(messages.completed(br#"data: {"type":"message_stop"}"#).is_some());
    }
}
