//! Counting tokens as the `cl100k_base` encoding does.
//!
//! A budget needs the number of tokens and never the tokens, and it needs it on the path of every request. The counter
//! here keeps one flat table of 3 MB and no regular expression; the `tiktoken-rs` crate, whose answers the tests compare
//! it with, keeps two maps of 100,000 vectors. Other encodings (o200k, Claude's) differ by a few percent, which a
//! budget does not feel.

mod split;
mod vocabulary;

use std::sync::LazyLock;

use split::pieces;
use vocabulary::Vocabulary;

/// Longer pieces are counted in parts: merging is quadratic, and only data has such runs.
const MAX_PIECE_BYTES: usize = 256;

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::load);

/// How many tokens a text is. Special tokens are counted as the plain text that they are here.
pub fn count(text: &str) -> u32 {
    let vocabulary = &*VOCABULARY;
    pieces(text)
        .flat_map(|piece| piece.as_bytes().chunks(MAX_PIECE_BYTES))
        .map(|piece| vocabulary.count(piece))
        .fold(0, u32::saturating_add)
}

/// Loads the table, which the first [`count`] otherwise does: some milliseconds better spent at the start.
pub fn warm() {
    LazyLock::force(&VOCABULARY);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(text: &str) -> u32 {
        u32::try_from(tiktoken_rs::cl100k_base_singleton().encode_ordinary(text).len()).unwrap()
    }

    #[test]
    fn agrees_with_tiktoken_on_code_and_prose() {
        let sources = [
            include_str!("mod.rs"),
            include_str!("split.rs"),
            include_str!("vocabulary.rs"),
            include_str!("../item.rs"),
            include_str!("../../Cargo.toml"),
            "",
            " ",
            "\n",
            "   \n\n  \t\n  trailing   ",
            "I'm sure we'LL don't they've it's 'quoted'",
            "a\r\n\r\nb\r\n",
            "1234567 3.14159 0x1F",
            "größe naïve Übung, Ελληνικά, русский текст",
            "日本語のテキスト 和 中文",
            "emoji 🎉🎉 and 👩‍👩‍👧",
            "==========----------//////////\n\t\t\t\tdeep",
            "x  y   z    \u{a0} nbsp",
            "<|endoftext|> <muninn-context>",
        ];
        for source in sources {
            assert_eq!(count(source), expected(source), "{source:?}");
        }
    }

    #[test]
    fn agrees_on_every_short_mix_of_classes() {
        let atoms = ["a", "é", "7", " ", "\n", "\r", "\t", "'", "s", ".", "{"];
        for a in atoms {
            for b in atoms {
                for c in atoms {
                    for d in atoms {
                        let text = [a, b, c, d].concat();
                        assert_eq!(count(&text), expected(&text), "{text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_monster_of_one_piece_is_counted_in_no_time() {
        let started = std::time::Instant::now();
        let tokens = count(&"x".repeat(1 << 17));
        assert!((1 << 12..1 << 17).contains(&tokens), "{tokens}");
        assert!(started.elapsed().as_secs() < 20);
    }
}
