//! Normal forms of words, so that spellings of the same word match.
//!
//! A word is brought into NFKC: composed and decomposed letters, full and half width, ligatures and presentation forms
//! become equal. Then its case is folded: `GRÖSSE` and `Größe`, both forms of sigma, and all four Turkish i.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use super::scripts::is_ignored;

/// A word in NFKC, without characters that have no meaning for a search. Its case is kept, because it separates the parts of
/// identifiers.
pub fn normalised(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    word.nfkc().filter(|c| !is_ignored(*c)).collect::<String>().into()
}

/// Appends a normalised word with its case folded.
pub(super) fn fold(word: &str, folded: &mut String) {
    if word.is_ascii() {
        folded.extend(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
        return;
    }
    // Lower case first, since the upper case of `ẞ` is itself; then upper case, which is `SS` for `ß` and `I` for `ı`.
    let cases = word.chars().flat_map(char::to_lowercase);
    let cases = cases.flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    for c in cases {
        // The lower case of `İ` is an `i` with a dot above.
        if c != '\u{307}' || !folded.ends_with('i') {
            folded.push(c);
        }
    }
}
