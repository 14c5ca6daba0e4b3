//! Counts tokens with tiktoken's `cl100k_base` encoding.
//!
//! A budget needs a count that is right for any model within a few percent. Other encodings (o200k, Claude's) differ by
//! about as much as prose differs from code. The tables stay in memory, and these are the smaller of tiktoken's tables.

use crate::known::KnownTexts;

/// The length from which a text is worth a hash, in bytes.
const LONG: usize = 128;

/// The counts of long texts.
static COUNTS: KnownTexts<u32> = KnownTexts::new();

/// Number of tokens of a text. Special tokens count as plain text.
pub fn count(text: &str) -> u32 {
    if text.len() < LONG {
        return counted(text);
    }
    COUNTS.get(text, || Some(counted(text))).unwrap_or_default()
}

fn counted(text: &str) -> u32 {
    u32::try_from(tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len()).unwrap_or(u32::MAX)
}

/// Loads the tables, so that the first [`count`] does not take a fraction of a second for it.
pub fn warm() {
    let _ignored = count("warm");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_count_as_plain_text() {
        assert!(count("<|endoftext|>") > 1);
        assert_eq!(count(""), 0);
    }

    #[test]
    fn text_of_one_piece_is_counted_quickly() {
        let started = std::time::Instant::now();
        assert!(count(&"x".repeat(1 << 17)) > 0);
        assert!(started.elapsed().as_secs() < 20);
    }
}
