//! The event stream that the mock sends and the client counts.

use memchr::memchr_iter;

/// Events of one answer before `[DONE]`.
pub const EVENTS: usize = 64;

/// Events of one whole answer, `[DONE]` included.
pub const ALL_EVENTS: usize = EVENTS + 1;

/// The events of one answer in the shape of chat completion chunks: a role, words, a finish
/// reason with usage, `[DONE]`. [`ALL_EVENTS`] in number.
pub fn events() -> Vec<String> {
    let chunk = |rest: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\
             \"created\":1700000000,\"model\":\"mock\",{rest}}}\n\n"
        )
    };
    let choice = |delta: &str, finish: &str| {
        format!("\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]")
    };
    let mut events = vec![chunk(&choice("{\"role\":\"assistant\",\"content\":\"\"}", "null"))];
    for word in 0..EVENTS - 2 {
        let delta = format!("{{\"content\":\"word{word} \"}}");
        events.push(chunk(&choice(&delta, "null")));
    }
    let usage = "\"usage\":{\"prompt_tokens\":500,\"completion_tokens\":62,\"total_tokens\":562}";
    events.push(chunk(&format!("{},{usage}", choice("{}", "\"stop\""))));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Counts the blank lines that end events, over any cut of the stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventCounter {
    /// Whether the last byte seen was a line feed.
    after_newline: bool,
    count: usize,
}

impl EventCounter {
    /// Counts the events that end in the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        for at in memchr_iter(b'\n', bytes) {
            let ends_blank_line = match at.checked_sub(1) {
                Some(before) => bytes[before] == b'\n',
                None => self.after_newline,
            };
            self.count += usize::from(ends_blank_line);
        }
        if let Some(last) = bytes.last() {
            self.after_newline = *last == b'\n';
        }
    }

    /// Events that have ended so far.
    pub fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_over_every_cut() {
        let stream = events().concat().into_bytes();
        for cut in 0..=stream.len() {
            let mut counter = EventCounter::default();
            counter.feed(&stream[..cut]);
            counter.feed(&[]);
            counter.feed(&stream[cut..]);
            assert_eq!(counter.count(), ALL_EVENTS, "cut at {cut}");
        }
    }

    #[test]
    fn every_event_but_the_last_is_json() {
        let events = events();
        for event in &events[..EVENTS] {
            let json = event.strip_prefix("data: ").unwrap();
            serde_json::from_str::<serde_json::Value>(json).unwrap();
        }
    }
}
