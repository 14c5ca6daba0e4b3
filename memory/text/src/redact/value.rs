//! Classifies values: random, or written by a person as a name, a filler or a reference.

use super::text::{distinct, holds};

/// Words of placeholder values.
const FILLERS: &[&str] = &[
    "example", "your", "changeme", "change-me", "change_me", "placeholder", "replace", "dummy", "fake", "sample",
    "redact", "todo", "insert", "xxxx", "****", "....", "...", "\u{2026}", "[redacted", "secret-here", "removed",
    "hidden", "undefined",
];

/// Log-likelihood of a letter (row) followed by another (column) in words: 1.5 times the binary logarithm of the ratio
/// to chance, plus six, rounded to a digit. Counted over the 13,000 words that at least three files use, of nine
/// projects in six languages.
const FOLLOWS: [&[u8; 26]; 26] = [
    b"16760350604868060879542140",
    b"94549400840931830774810050",
    b"81529208607721910648600030",
    b"83369330910523800573630030",
    b"63795540300768152997143610",
    b"83448820900713900756700050",
    b"70209267800647720873700020",
    b"92029000900443910647600040",
    b"64766560001769850578050305",
    b"91139220604005951393911123",
    b"73249341902625641495505040",
    b"81259200901812830065630080",
    b"96039010901461890152600040",
    b"70788591714325720189441120",
    b"45762350404779660976756210",
    b"90139216701811870967500050",
    b"30114010300604200444905011",
    b"91559240804455830577531050",
    b"60719207803442670189712040",
    b"80529207900422730875602060",
    b"67656360600879470988000100",
    b"91109020900101700020220010",
    b"92439008900407820873002000",
    b"62858505800440490249400440",
    b"65647540701777690488324134",
    b"82219002900312720053402055",
];
/// The digit of a pair that is as frequent as by chance.
const CHANCE: i32 = 6;
/// Penalty of a change between letters and digits, or of a run of one or two letters.
const BREAK: i32 = 2;

/// Returns whether a value is a reference to a secret: a variable, a template, a call, an address, or a placeholder.
pub(super) fn is_reference(value: &str) -> bool {
    let first = value.as_bytes().first();
    let has = |part: &str| value.contains(part);
    matches!(first, Some(b'$' | b'<' | b'%' | b'!' | b'&' | b'{' | b'[')) && !has("#")
        || ["${", "$(", "{{", "#{", "<%", "%(", "://", "arn:", "::", "->"].iter().any(|part| has(part))
        || ["./", "../", "~/"].iter().any(|start| value.starts_with(start))
        || value.get(1..3).is_some_and(|drive| drive == ":\\")
        || is_braced(value)
        || (has("<") && has(">"))
        || FILLERS.iter().any(|filler| holds(value, filler))
        || value.bytes().all(|byte| byte == value.as_bytes()[0])
}

/// Returns whether a value contains a placeholder of a template: a name in braces, such as `{path}`.
fn is_braced(value: &str) -> bool {
    value.split_once('{').is_some_and(|(_, rest)| rest.contains('}'))
}

/// Returns whether a value looks random.
///
/// People write words. A random value is not made of words, even if all its letters are hexadecimal, because digits
/// separate them.
pub(super) fn is_random(value: &str) -> bool {
    let letters = value.chars().filter(|c| c.is_alphabetic()).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if distinct(value) < value.len().min(16) / 2 || is_sequence(value) {
        return false;
    }
    // Numbers, dates and versions.
    if letters * 6 < digits && runs_of_letters(value).count() < 3 {
        return false;
    }
    if is_wordy(value) {
        return false;
    }
    if digits > 0 {
        return true;
    }
    // Letters only: abbreviations are short.
    let longest = value.split(|c: char| !c.is_ascii_alphabetic()).map(str::len).max().unwrap_or(0);
    let is_camel = value.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    longest >= 16 || (letters >= 12 && is_camel)
}

/// Returns whether a value satisfies a typical password policy: both cases, a digit, and a symbol that no name has.
pub(super) fn is_made_by_policy(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
        && has(|byte| b"!@#$%^&*+=?~".contains(byte))
}

/// Returns whether this is the text form of a UUID.
pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns whether most characters follow or repeat the one before: `abc123`, `0123456789abcdef`, `aaaa`.
fn is_sequence(value: &str) -> bool {
    let steps = value.as_bytes().windows(2).filter(|pair| pair[1].wrapping_sub(pair[0]) < 2).count();
    steps * 2 > value.len()
}

/// Splits a value into words: runs of letters, cut before each capital that starts a word.
fn runs_of_letters(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphabetic());
        let first = rest.chars().next()?;
        let bytes = rest.as_bytes();
        let mut end = first.len_utf8();
        let is_capital = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_uppercase);
        let whole_upper = is_capital(0) && is_capital(1);
        for (at, c) in rest.char_indices().skip(1) {
            if !c.is_alphabetic() || (c.is_ascii_uppercase() != whole_upper && !(c.is_ascii_lowercase() && at == 1)) {
                break;
            }
            end = at + c.len_utf8();
        }
        let (run, after) = rest.split_at(end);
        rest = after;
        Some(run)
    })
}

/// Returns whether a value is more likely made of words than random.
///
/// The likelihoods are compared per pair of letters. Alphabets other than Latin count as words.
pub(crate) fn is_wordy(value: &str) -> bool {
    let words: i32 = runs_of_letters(value)
        .map(|run| match run.len() {
            _ if !run.is_ascii() => CHANCE,
            ..3 => -BREAK,
            _ => run.as_bytes().windows(2).map(|pair| pair_score(pair[0], pair[1]) - CHANCE).sum(),
        })
        .sum();
    let numbers = value.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty()).count();
    words >= BREAK * i32::try_from(numbers).unwrap_or(i32::MAX / BREAK)
}

fn pair_score(first: u8, second: u8) -> i32 {
    let place = |letter: u8| usize::from(letter.to_ascii_lowercase().wrapping_sub(b'a'));
    let digit = FOLLOWS.get(place(first)).and_then(|row| row.get(place(second)));
    digit.map_or(0, |digit| i32::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_names_are() {
        let words = |value| runs_of_letters(value).collect::<Vec<_>>();
        assert_eq!(words("getTokenFrom2Db"), ["get", "Token", "From", "Db"]);
        assert_eq!(words("AES256_KEY-one"), ["AES", "KEY", "one"]);
        assert_eq!(words("пароль1x"), ["пароль", "x"]);
    }
}
