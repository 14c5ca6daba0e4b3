//! Characters that look like those of markers.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use super::characters::is_invisible;

/// Opening brackets that a model may read as `<`: the compatibility forms, and those that resemble it.
const BRACKETS: [char; 16] = ['＜', '﹤', '〈', '〈', '⟨', '‹', '❬', '❮', '❰', '⧼', '◁', '◀', 'ᐸ', '˂', '≺', '⟪'];
/// Bars that a model may read as `|`.
const BARS: [char; 12] = ['|', '｜', '￨', '¦', '∣', '│', '┃', 'ǀ', '❘', '⏐', '‖', '∥'];

/// Whether a character is an opening bracket other than `<`.
pub(super) fn is_bracket(character: char) -> bool {
    BRACKETS.contains(&character)
}

/// Whether a character is the wide or the small form of `<`, which code does not contain.
pub(super) fn is_wide_bracket(character: char) -> bool {
    matches!(character, '＜' | '﹤')
}

pub(super) fn is_bar(character: char) -> bool {
    BARS.contains(&character)
}

/// A name in lower case, with ASCII letters for their compatibility forms (`ｓ`, `𝐬`, `ⓢ`) and without invisible characters.
pub(super) fn folded(name: &str) -> Cow<'_, str> {
    if !name.is_ascii() {
        let shown = name.chars().filter(|c| !is_invisible(*c));
        return shown.nfkc().flat_map(char::to_lowercase).collect();
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
