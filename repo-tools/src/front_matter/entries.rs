use std::ops::Range;

use super::yaml;

/// The front matter of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter<'t> {
    /// The entries in order. A key that is written twice has two entries.
    pub entries: Vec<Entry<'t>>,
    /// The numbers of lines that belong to no key, counted from 1.
    pub unparsed_lines: Vec<u32>,
    /// The number of the closing line, counted from 1.
    pub last_line: u32,
    /// The text below the front matter.
    pub body: &'t str,
    /// The lines between the first and the closing one.
    pub(crate) block: &'t str,
    /// Their first byte in the text.
    pub(crate) block_start: usize,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'t> {
    pub key: &'t str,
    /// The number of its line, counted from 1.
    pub line: u32,
    pub(crate) value: &'t str,
    /// The indented lines and list items below the key.
    pub(crate) below: Vec<&'t str>,
    /// The first byte of its first line, and the end of its last one, in the block.
    pub(crate) lines: Range<usize>,
    /// These lines.
    pub(crate) text: &'t str,
}

/// The front matter has no closing line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("front matter is never closed by a line of ---")]
pub struct UnclosedFrontMatter;

/// Writes a scalar so that [`FrontMatter`], and any YAML parser, reads the same text back.
pub fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/');
    let has_plain_start = value.starts_with(char::is_alphanumeric);
    let is_text = || yaml::plain(value).is_string() && !is_yaml_keyword(value);
    if has_plain_start && !value.ends_with(' ') && value.chars().all(plain) && is_text() {
        return value.to_owned();
    }
    let line = value.replace(char::is_control, " ");
    format!("\"{}\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns whether YAML 1.1 reads a plain value as null or a boolean instead of a text.
pub(crate) fn is_yaml_keyword(value: &str) -> bool {
    let word = value.to_ascii_lowercase();
    matches!(word.as_str(), "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n")
}

pub(crate) fn is_key(key: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let has_plain_start = key.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    has_plain_start && key.chars().all(part) && !key.ends_with(' ')
}
