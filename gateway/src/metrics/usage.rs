//! The tokens that a backend says it counted, read from an answer's bytes as they go by.
//!
//! All three wire formats say it in objects named `usage`, in whole answers and in events. Inside a string the name's
//! quotes are escaped, so the bytes `"usage"` are a key wherever they stand, and nothing else of an answer has to be
//! parsed: a search over each chunk, and a small object now and then. Chunks may end anywhere.

use memchr::memmem;
use serde::Deserialize;

const NAME: &[u8] = b"\"usage\"";
/// A usage object is a few hundred bytes; one beyond this is none.
const LARGEST: usize = 16 << 10;

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the whole prompt, whether cached or not.
    pub input: u64,
    /// Of the answer.
    pub output: u64,
    /// Of the prompt, what the backend had in its cache.
    pub cached: u64,
}

/// Finds the usage in an answer of any wire format, streamed or whole.
#[derive(Debug, Default)]
pub struct UsageReader {
    state: State,
    /// The end of what was read, where it may be the beginning of the name; the object, once that was found.
    held: Vec<u8>,
    seen: Counts,
}

#[derive(Debug, Default)]
enum State {
    /// Looking for the name.
    #[default]
    Searching,
    /// The name was there; a colon and the object are to come.
    Named,
    /// Inside the object, so many braces deep.
    Inside { depth: u32, text: bool, escaped: bool },
}

impl UsageReader {
    /// Reads on.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Searching => self.search(bytes),
                State::Named => self.open(bytes),
                State::Inside { .. } => self.collect(bytes),
            };
        }
    }

    /// What was found so far. Streams repeat their counts as they grow, so the largest of each is taken.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let Counts {
            input,
            output,
            cached,
            beside,
        } = self.seen;
        Usage {
            input: input.saturating_add(beside),
            output,
            cached,
        }
    }

    fn search<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        // The name may have begun in the chunk before.
        if !self.held.is_empty() {
            let held = self.held.len();
            self.held.extend(&bytes[..bytes.len().min(NAME.len() - 1)]);
            if let Some(at) = memmem::find(&self.held, NAME) {
                self.held.clear();
                self.state = State::Named;
                return &bytes[at + NAME.len() - held..];
            }
            if bytes.len() < NAME.len() - 1 {
                let keep = beginning(&self.held);
                self.held.drain(..self.held.len() - keep);
                return &[];
            }
            self.held.clear();
        }
        match memmem::find(bytes, NAME) {
            Some(at) => {
                self.state = State::Named;
                &bytes[at + NAME.len()..]
            }
            None => {
                self.held.extend(&bytes[bytes.len() - beginning(bytes)..]);
                &[]
            }
        }
    }

    fn open<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let skipped = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
        let Some(at) = bytes.iter().position(|byte| !skipped(byte)) else {
            return &[];
        };
        self.state = if bytes[at] == b'{' {
            State::Inside {
                depth: 0,
                text: false,
                escaped: false,
            }
        } else {
            State::Searching
        };
        &bytes[at..]
    }

    fn collect<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let State::Inside { depth, text, escaped } = &mut self.state else {
            return bytes;
        };
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                _ if *escaped => *escaped = false,
                b'\\' if *text => *escaped = true,
                b'"' => *text = !*text,
                b'{' if !*text => *depth += 1,
                b'}' if !*text => {
                    *depth -= 1;
                    if *depth == 0 {
                        self.held.extend(&bytes[..=at]);
                        self.take_object();
                        return &bytes[at + 1..];
                    }
                }
                _ => {}
            }
        }
        self.held.extend(bytes);
        if self.held.len() > LARGEST {
            self.held.clear();
            self.state = State::Searching;
        }
        &[]
    }

    fn take_object(&mut self) {
        if let Ok(written) = serde_json::from_slice::<Written>(&self.held) {
            self.seen.merge(&written);
        }
        self.held.clear();
        self.state = State::Searching;
    }
}

/// How many bytes at the end could be the beginning of the name.
fn beginning(bytes: &[u8]) -> usize {
    (1..NAME.len())
        .rev()
        .find(|length| bytes.ends_with(&NAME[..*length]))
        .unwrap_or(0)
}

/// The fields of all three formats; messages counts cached tokens beside the input, the others among it.
#[derive(Debug, Deserialize)]
struct Written {
    prompt_tokens: Option<u64>,
    input_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    input_tokens_details: Option<Details>,
}

#[derive(Debug, Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default)]
struct Counts {
    input: u64,
    output: u64,
    cached: u64,
    /// Tokens of the prompt that are not among the input.
    beside: u64,
}

impl Counts {
    fn merge(&mut self, written: &Written) {
        let most = |count: &mut u64, written: Option<u64>| *count = (*count).max(written.unwrap_or(0));
        let details = written
            .prompt_tokens_details
            .as_ref()
            .or(written.input_tokens_details.as_ref());
        let read = written.cache_read_input_tokens;
        most(&mut self.input, written.prompt_tokens.or(written.input_tokens));
        most(&mut self.output, written.completion_tokens.or(written.output_tokens));
        most(
            &mut self.cached,
            read.or(details.and_then(|details| details.cached_tokens)),
        );
        let created = written.cache_creation_input_tokens.unwrap_or(0);
        most(&mut self.beside, Some(read.unwrap_or(0).saturating_add(created)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHAT: &str = r#"data: {"choices":[{"delta":{"content":"\"usage\":{\"prompt_tokens\":999}"}}],"usage":null}

data: {"choices":[],"usage": {"prompt_tokens":10,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8}}}

data: [DONE]
"#;
    const MESSAGES: &str = r#"event: message_start
data: {"message":{"usage":{"input_tokens":2,"cache_read_input_tokens":7,"cache_creation_input_tokens":1,"output_tokens":1}}}

event: message_delta
data: {"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4,"server_tool_use":{"note":"}{\"\\"}}}
"#;
    const RESPONSES: &str = r#"{"output":[],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":8},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":1}},"x":1}"#;

    fn usage_of(answer: &str, cuts: &[usize]) -> Usage {
        let mut reader = UsageReader::default();
        let mut rest = answer.as_bytes();
        for cut in cuts {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            reader.read(piece);
            rest = after;
        }
        reader.read(rest);
        reader.usage()
    }

    #[test]
    fn all_formats_say_the_same() {
        let expected = Usage {
            input: 10,
            output: 4,
            cached: 8,
        };
        assert_eq!(usage_of(CHAT, &[]), expected);
        assert_eq!(usage_of(RESPONSES, &[]), expected);
        assert_eq!(usage_of(MESSAGES, &[]), Usage { cached: 7, ..expected });
    }

    #[test]
    fn what_is_no_usage_counts_nothing() {
        for answer in [
            "",
            "\"usage\"",
            r#"{"usage":null}"#,
            r#"{"usage":[1]}"#,
            r#"{"usage":{"input_tokens":-1}}"#,
            r#"{"usage":{"input_"#,
        ] {
            assert_eq!(usage_of(answer, &[]), Usage::default(), "{answer}");
        }
        let endless = format!("{{\"usage\":{{\"x\":\"{}", "y".repeat(1 << 20));
        let mut reader = UsageReader::default();
        for piece in endless.as_bytes().chunks(1_000) {
            reader.read(piece);
            assert!(reader.held.len() <= LARGEST);
        }
    }

    proptest! {
        #[test]
        fn chunks_may_end_anywhere(cuts in proptest::collection::vec(0_usize..12, 0..80)) {
            for answer in [CHAT, MESSAGES, RESPONSES] {
                prop_assert_eq!(usage_of(answer, &cuts), usage_of(answer, &[]));
            }
        }

        #[test]
        fn any_bytes_are_survived(pieces in proptest::collection::vec("[\"usage:{}\\\\ 0-9]{0,20}", 0..30)) {
            let mut reader = UsageReader::default();
            for piece in pieces {
                reader.read(piece.as_bytes());
            }
        }
    }
}
