//! What an answer cost, read off bytes that are passed on untouched.
//!
//! All three formats write it as an object under the name `usage`, in whole answers and in events. Inside a string the
//! quotes would be escaped, so the name with its quotes and colon is never part of a text.

use serde::Deserialize;

use super::convert::answer::Usage;

const NAME: &[u8] = b"\"usage\":";
/// A usage object is never longer; one that claims to be is let go.
const LONGEST: usize = 16 << 10;

/// Watches the bytes of one answer. Holds what may be the beginning of a usage object, and no more.
#[derive(Default)]
pub struct UsageWatch {
    held: Vec<u8>,
    usage: Usage,
}

impl UsageWatch {
    /// Looks at the next bytes.
    pub fn see(&mut self, bytes: &[u8]) {
        if self.held.is_empty() {
            let rest = self.look(bytes);
            self.held.extend_from_slice(rest);
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(bytes);
            let rest = self.look(&joined).len();
            joined.drain(..joined.len() - rest);
            self.held = joined;
        }
    }

    /// What is known by now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes every usage object in `bytes`, and returns the end that may belong to one that is not complete.
    fn look<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        while let Some(at) = memchr::memmem::find(bytes, NAME) {
            let value = &bytes[at + NAME.len()..];
            let mut objects = serde_json::Deserializer::from_slice(value).into_iter::<Wire>();
            match objects.next() {
                Some(Ok(wire)) => self.usage.update(wire.usage()),
                Some(Err(error)) if error.is_eof() && value.len() < LONGEST => return &bytes[at..],
                None if value.len() < LONGEST => return &bytes[at..],
                Some(Err(_)) | None => {}
            }
            bytes = value;
        }
        &bytes[bytes.len() - (NAME.len() - 1).min(bytes.len())..]
    }
}

/// A usage object of any of the formats. `null` stands for none.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
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
    #[serde(alias = "input_tokens_details")]
    prompt_tokens_details: Option<Details>,
    #[serde(alias = "output_tokens_details")]
    completion_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

impl Wire {
    fn usage(&self) -> Usage {
        let Wire::Object(fields) = self else {
            return Usage::default();
        };
        let details = fields.prompt_tokens_details.as_ref();
        // Messages leave cached tokens out of `input_tokens`; the other two have them in.
        let beside = fields.cache_read_input_tokens.unwrap_or(0) + fields.cache_creation_input_tokens.unwrap_or(0);
        Usage {
            input: fields.prompt_tokens.or(fields.input_tokens.map(|input| input + beside)),
            cached: fields
                .cache_read_input_tokens
                .or(details.and_then(|details| details.cached_tokens)),
            cache_write: fields.cache_creation_input_tokens,
            output: fields.completion_tokens.or(fields.output_tokens),
            reasoning: fields
                .completion_tokens_details
                .as_ref()
                .and_then(|details| details.reasoning_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pieces: &[&[u8]]) -> Usage {
        let mut watch = UsageWatch::default();
        for piece in pieces {
            watch.see(piece);
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
                output: Some(5),
                reasoning: Some(2),
            },
        ),
    ];

    #[test]
    fn usage_is_read_wherever_the_bytes_are_cut() {
        for (stream, expected) in STREAMS {
            for cut in 0..=stream.len() {
                let (first, second) = stream.as_bytes().split_at(cut);
                assert_eq!(seen(&[first, second]), expected, "cut at {cut}");
            }
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(seen(&bytes), expected);
        }
    }

    #[test]
    fn an_object_without_an_end_is_let_go() {
        let mut watch = UsageWatch::default();
        watch.see(b"\"usage\":{\"a\":\"");
        for _ in 0..100 {
            watch.see(&[b'x'; 1024]);
            assert!(watch.held.len() <= LONGEST + 2048);
        }
        watch.see(b"\"} \"usage\":{\"prompt_tokens\":1} ");
        assert_eq!(watch.usage().input, Some(1));
    }
}
