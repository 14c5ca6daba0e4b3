use super::scripts::{word_end, word_start};

/// A word of a text: letters with their marks, digits and underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    pub text: &'a str,
    /// Byte offset in the text.
    pub start: usize,
}

/// The words of a text, in order.
pub fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + word_start(&text[rest..])?;
        rest = start + word_end(&text[start..]);
        Some(Word { text: &text[start..rest], start })
    })
}
