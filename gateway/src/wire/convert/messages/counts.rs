//! What an answer costs, in the numbers of a backend.

use super::super::answer::Usage;
use super::object;
use crate::wire::Members;

/// Tokens as the format counts them.
#[derive(Default)]
pub(super) struct Counts {
    input: u64,
    read: Option<u64>,
    written: Option<u64>,
    output: u64,
    thinking: Option<u64>,
}

impl Counts {
    /// Takes later numbers. Servers fill places in for which they have no number with zeros.
    pub(super) fn update(&mut self, usage: &Members<'_>) {
        let known = |key: &str| usage.parse::<u64>(key);
        let some = |key: &str| known(key).filter(|count| *count > 0);
        self.input = some("input_tokens").unwrap_or(self.input);
        self.output = some("output_tokens").unwrap_or(self.output);
        self.read = some("cache_read_input_tokens")
            .or(self.read)
            .or(known("cache_read_input_tokens"));
        self.written = some("cache_creation_input_tokens")
            .or(self.written)
            .or(known("cache_creation_input_tokens"));
        let details = object(usage, "output_tokens_details");
        self.thinking = details
            .parse("thinking_tokens")
            .or_else(|| details.parse("reasoning_tokens"))
            .or(self.thinking);
    }

    pub(super) fn neutral(&self) -> Usage {
        let beside = self.read.unwrap_or(0).saturating_add(self.written.unwrap_or(0));
        Usage {
            input: Some(self.input.saturating_add(beside)),
            cached: self.read,
            cache_write: self.written,
            output: Some(self.output),
            reasoning: self.thinking,
        }
    }
}
