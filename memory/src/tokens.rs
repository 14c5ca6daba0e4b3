//! Counting tokens, with tiktoken's `cl100k_base` encoding.
//!
//! A budget needs a number that holds for any model, within a few percent: other encodings (o200k, Claude's) differ by
//! about as much as prose differs from code. Of tiktoken's tables this is the smaller one, which matters because they
//! stay in memory.

/// How many tokens a text is. Special tokens are counted as the plain text that they are here.
#[must_use]
pub fn count(text: &str) -> u32 {
    u32::try_from(tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len()).unwrap_or(u32::MAX)
}

/// Loads the tables, which the first [`count`] otherwise does: a fraction of a second better spent at the start.
pub fn warm() {
    let _tokens = count("warm");
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
    fn a_monster_of_one_piece_is_counted_in_no_time() {
        let started = std::time::Instant::now();
        assert!(count(&"x".repeat(1 << 17)) > 0);
        assert!(started.elapsed().as_secs() < 20);
    }
}
