//! The characters of words, in any script.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The first and last characters of scripts that are written without spaces between words, or whose words take endings
/// without a space, as in Korean. Sorted.
const UNSPACED: &[(char, char)] = &[
    // Thai and Lao.
    ('\u{0e01}', '\u{0eff}'),
    // Myanmar.
    ('\u{1000}', '\u{109f}'),
    // Hangul letters.
    ('\u{1100}', '\u{11ff}'),
    // Khmer.
    ('\u{1780}', '\u{17ff}'),
    // Tai Le, New Tai Lue, Khmer symbols.
    ('\u{1950}', '\u{19ff}'),
    // Tai Tham.
    ('\u{1a20}', '\u{1aaf}'),
    // Balinese.
    ('\u{1b00}', '\u{1b7f}'),
    // Radicals; the marks of iteration, closing and zero of Han.
    ('\u{2e80}', '\u{2fdf}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3021}', '\u{3029}'),
    ('\u{3031}', '\u{303c}'),
    // Kana, Bopomofo, Hangul letters, and kana for Ainu.
    ('\u{3041}', '\u{318f}'),
    ('\u{31a0}', '\u{31ff}'),
    // Han.
    ('\u{3400}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    // Yi.
    ('\u{a000}', '\u{a4cf}'),
    // Hangul letters.
    ('\u{a960}', '\u{a97f}'),
    // Javanese, Myanmar, Cham, Tai Viet.
    ('\u{a980}', '\u{aadf}'),
    // Hangul.
    ('\u{ac00}', '\u{d7ff}'),
    // Han for compatibility.
    ('\u{f900}', '\u{faff}'),
    // Ahom.
    ('\u{11700}', '\u{1174f}'),
    // Tangut, Khitan, Nushu; historic kana.
    ('\u{17000}', '\u{18dff}'),
    ('\u{1aff0}', '\u{1b2ff}'),
    // Han, extensions B and later.
    ('\u{20000}', '\u{3ffff}'),
];

/// Returns whether a character belongs to a script without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    if c < UNSPACED[0].0 {
        return false;
    }
    let after = UNSPACED.partition_point(|(first, _)| *first <= c);
    after > 0 && c <= UNSPACED[after - 1].1
}

/// Returns whether one character alone is a usual word of its language: a Han character, or a Hangul syllable.
pub(super) fn is_single_word(c: char) -> bool {
    matches!(
        c,
        '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns whether a character is an emoji, or a pictograph that is used as one.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{2b50}'..='\u{2b55}' | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}

/// Returns whether a character changes the letter before it.
pub fn is_mark(c: char) -> bool {
    !c.is_ascii() && is_combining_mark(c)
}

/// Returns whether a character inside a word has no meaning for a search: it changes the form of letters, or tells where a
/// line may break.
pub(super) fn is_ignored(c: char) -> bool {
    matches!(
        c,
        // Soft hyphen, joiners, the Arabic and the Mongolian lengtheners, and variation selectors.
        '\u{ad}' | '\u{34f}' | '\u{640}' | '\u{180a}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

fn begins_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_sign_of_letters(c)
}

/// Returns whether a symbol is letters or digits in its normal form: `㌔`, `㈱`, `™`, the radicals of Han.
fn is_sign_of_letters(c: char) -> bool {
    let mut has_letter = false;
    if !c.is_ascii() {
        decompose_compatible(c, |part| has_letter |= part.is_alphanumeric());
    }
    has_letter
}

/// The offset of the first word of a text.
pub(super) fn word_start(text: &str) -> Option<usize> {
    text.find(begins_word)
}

/// The length of the word that a text begins with.
pub(super) fn word_end(text: &str) -> usize {
    let continues = |c: char| begins_word(c) || !c.is_ascii() && (is_combining_mark(c) || is_ignored(c));
    text.find(|c| !continues(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_no_overlap() {
        assert!(UNSPACED.iter().all(|(first, last)| first <= last));
        assert!(UNSPACED.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!("漢かカ한ไລខမ々〇ー𠮷".chars().all(is_unspaced));
        assert!(!"aéßжעعक0_-".chars().any(is_unspaced));
    }
}
