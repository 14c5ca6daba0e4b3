//! Counts tokens with tiktoken's `cl100k_base` encoding.
//!
//! A budget needs a number that fits any model within a few percent: other encodings (o200k, Claude's) differ by about
//! as much as prose differs from code. This is the smaller of tiktoken's tables, which stay in memory.

/// Number of tokens of a text. Special tokens count as plain text.
#[must_use]
pub fn count(text: &str) -> u32 {
    u32::try_from(tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len()).unwrap_or(u32::MAX)
}

/// Loads the tables at the start; otherwise the first [`count`] takes a fraction of a second for it.
pub fn warm() {
    let _ = count("warm");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_are_plain_text_here() {
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
