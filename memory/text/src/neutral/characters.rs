//! Control characters and invisible characters.

use super::Change;

/// Escapes a control character of ASCII. Tabs and line ends stay; a carriage return only before a line feed, because alone
/// it overwrites the line that a person sees.
pub(super) fn control(text: &str, at: usize) -> Option<Change> {
    let byte = text.as_bytes()[at];
    let is_line_end = byte == b'\r' && text.as_bytes().get(at + 1) == Some(&b'\n');
    (!is_line_end).then(|| Change::escape(char::from(byte)))
}

/// Escapes a character that is invisible, reorders text or controls a terminal, unless it belongs to the writing `before` it.
pub(super) fn change(character: char, before: Option<char>) -> Option<Change> {
    let is_hidden = character.is_control() || is_invisible(character);
    (is_hidden && !is_part_of_writing(character, before)).then(|| Change::escape(character))
}

/// Whether a character has no width, or reorders or separates what is beside it: the default ignorable ones, annotations and
/// line separators. The fillers of old Hangul and the separators of Mongolian are letters.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns whether an invisible character joins, parts or varies the character before it: joiners in emoji and in Arabic and
/// Indic scripts, variation selectors behind emoji and digits.
fn is_part_of_writing(character: char, before: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match character {
        '\u{200c}' | '\u{200d}' => {
            before.is_alphabetic() && !before.is_ascii() || !before.is_alphanumeric() && before > '\u{ff}'
        }
        // The space between words of Thai, Lao, Myanmar and Khmer.
        '\u{200b}' => matches!(before, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'),
        '\u{fe00}'..='\u{fe0f}' => !before.is_ascii() || before.is_ascii_digit() || matches!(before, '#' | '*'),
        _ => false,
    }
}
