//! Usage in this format. Here the input excludes the tokens read from a cache and written to one.

use serde::Serialize;

use super::super::answer::Usage;
use crate::Members;

/// The backend's counts. `input` excludes the tokens read from a cache and written to one.
#[derive(Default)]
pub(super) struct Counts {
    input: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
    written_1h: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl Counts {
    pub(super) fn update(&mut self, usage: &Members<'_>) {
        let details = usage.get("output_tokens_details").and_then(Members::of).unwrap_or_default();
        for (count, later) in [
            (&mut self.input, usage.parse("input_tokens")),
            (&mut self.read, usage.parse("cache_read_input_tokens")),
            (&mut self.written, usage.parse("cache_creation_input_tokens")),
            (&mut self.written_1h, usage.object("cache_creation").parse("ephemeral_1h_input_tokens")),
            (&mut self.output, usage.parse("output_tokens")),
            (&mut self.thinking, details.parse("thinking_tokens")),
        ] {
            // LiteLLM sends a zero for a count that it does not know. It must not replace an earlier count.
            if later.is_some_and(|later: u64| later > 0 || count.is_none()) {
                *count = later;
            }
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let cached = self.read.unwrap_or(0).saturating_add(self.written.unwrap_or(0));
        Usage {
            input: self.input.map(|input| input.saturating_add(cached)),
            cached: self.read,
            cache_write: self.written,
            cache_write_1h: self.written_1h,
            output: self.output,
            reasoning: self.thinking,
        }
    }
}

/// Serialized usage. Unknown counts are zero, because clients add them up without a check.
#[derive(Serialize)]
pub(super) struct WireUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_creation: Option<Creation>,
    cache_read_input_tokens: u64,
    output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens_details: Option<Details>,
}

#[derive(Serialize)]
struct Creation {
    ephemeral_5m_input_tokens: u64,
    ephemeral_1h_input_tokens: u64,
}

#[derive(Serialize)]
struct Details {
    thinking_tokens: u64,
}

impl From<Usage> for WireUsage {
    fn from(usage: Usage) -> WireUsage {
        let (read, written) = (usage.cached.unwrap_or(0), usage.cache_write.unwrap_or(0));
        let input = usage.input.unwrap_or(0);
        WireUsage {
            input_tokens: input.saturating_sub(read).saturating_sub(written),
            cache_creation_input_tokens: written,
            cache_creation: usage.cache_write_1h.map(|hour| Creation {
                ephemeral_5m_input_tokens: written.saturating_sub(hour),
                ephemeral_1h_input_tokens: hour,
            }),
            cache_read_input_tokens: read,
            output_tokens: usage.output.unwrap_or(0),
            output_tokens_details: usage.reasoning.map(|thinking_tokens| Details { thinking_tokens }),
        }
    }
}
