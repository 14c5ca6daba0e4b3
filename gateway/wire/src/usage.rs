//! Reads the token usage of an answer from bytes that are passed on unchanged.
//!
//! In all three formats usage is an object with the key `usage`, in whole answers and in events. Quotes inside a string
//! are escaped, so the key with its quotes and colon is never part of a text.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::convert::answer::Usage;

/// The key of usage objects.
const KEY: &[u8] = b"\"usage\":";
static FIND_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(KEY));
/// The longest usage object in bytes. Longer ones are skipped.
const LONGEST: usize = 16 << 10;

/// Reads the usage objects in the bytes of one answer. Holds only the possible beginning of a usage object.
#[derive(Default)]
pub struct UsageWatch {
    held: Vec<u8>,
    usage: Usage,
}

impl UsageWatch {
    /// Reads the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.held.is_empty() {
            let rest = self.scan(bytes);
            self.held.extend_from_slice(rest);
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(bytes);
            let rest = self.scan(&joined).len();
            joined.drain(..joined.len() - rest);
            self.held = joined;
        }
    }

    /// The usage in the bytes so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Reads the usage objects in `bytes`. Returns the end that may be the beginning of another one.
    fn scan<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        while let Some(at) = FIND_KEY.find(bytes) {
            let rest = &bytes[at + KEY.len()..];
            let mut objects = serde_json::Deserializer::from_slice(rest).into_iter::<UsageValue>();
            match objects.next() {
                Some(Ok(value)) => self.usage.update(value.usage()),
                Some(Err(error)) if error.is_eof() && rest.len() < LONGEST => return &bytes[at..],
                None if rest.len() < LONGEST => return &bytes[at..],
                Some(Err(_)) | None => {}
            }
            bytes = rest;
        }
        let begun = (1..KEY.len()).rev().find(|length| bytes.ends_with(&KEY[..*length]));
        &bytes[bytes.len() - begun.unwrap_or_default()..]
    }
}

/// The value of `usage` in any format. A value that is no object, such as `null`, has no usage.
#[derive(Deserialize)]
#[serde(untagged)]
enum UsageValue {
    Object(Fields),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Fields {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<Created>,
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<Details>,
    #[serde(alias = "output_tokens_details")]
    completion_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Created {
    ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

impl UsageValue {
    fn usage(&self) -> Usage {
        let UsageValue::Object(fields) = self else {
            return Usage::default();
        };
        let details = fields.prompt_tokens_details.as_ref();
        // `input_tokens` excludes cached tokens in the messages format and includes them in the other two.
        let written = fields.cache_creation_input_tokens.unwrap_or(0);
        let cache = fields.cache_read_input_tokens.unwrap_or(0).saturating_add(written);
        Usage {
            input: fields.prompt_tokens.or(fields.input_tokens.map(|input| input.saturating_add(cache))),
            cached: fields.cache_read_input_tokens.or(details.and_then(|details| details.cached_tokens)),
            cache_write: fields.cache_creation_input_tokens,
            cache_write_1h: fields.cache_creation.as_ref().and_then(|created| created.ephemeral_1h_input_tokens),
            output: fields.completion_tokens.or(fields.output_tokens),
            reasoning: fields.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_of(pieces: &[&[u8]]) -> Usage {
        let mut watch = UsageWatch::default();
        for piece in pieces {
            watch.push(piece);
        }
        watch.usage()
    }

    const STREAMS: [(&str, Usage); 3] = [
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":9}\"}}],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\ndata: [DONE]\n\n",
            Usage {
                input: Some(12),
                cached: Some(8),
                cache_write: None,
                cache_write_1h: None,
                output: Some(3),
                reasoning: None,
            },
        ),
        (
            "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":2,\"cache_read_input_tokens\":10,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"usage\":{\"output_tokens\":7}}\n\n",
            Usage {
                input: Some(12),
                cached: Some(10),
                cache_write: None,
                cache_write_1h: None,
                output: Some(7),
                reasoning: None,
            },
        ),
        (
            "data: {\"response\":{\"usage\": {\"input_tokens\":12,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":2}}}}\n\n",
            Usage {
                input: Some(12),
                cached: Some(4),
                cache_write: None,
                cache_write_1h: None,
                output: Some(5),
                reasoning: Some(2),
            },
        ),
    ];

    #[test]
    fn usage_is_read_at_any_cut() {
        for (stream, expected) in STREAMS {
            for cut in 0..=stream.len() {
                let (first, second) = stream.as_bytes().split_at(cut);
                assert_eq!(usage_of(&[first, second]), expected, "cut at {cut}");
            }
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(usage_of(&bytes), expected);
        }
    }

    #[test]
    fn unterminated_objects_are_skipped() {
        let mut watch = UsageWatch::default();
        watch.push(b"\"usage\":{\"a\":\"");
        for _ in 0..100 {
            watch.push(&[b'x'; 1024]);
            assert!(watch.held.len() <= LONGEST + 2048);
        }
        watch.push(b"\"} \"usage\":{\"prompt_tokens\":1} ");
        assert_eq!(watch.usage().input, Some(1));
    }

    #[test]
    fn largest_counts_do_not_overflow() {
        let largest = u64::MAX;
        let text = format!(
            r#"{{"input_tokens":{largest},"cache_read_input_tokens":{largest},"cache_creation_input_tokens":1}}"#
        );
        let value: UsageValue = serde_json::from_str(&text).unwrap();
        assert_eq!(value.usage().input, Some(largest));
    }
}
