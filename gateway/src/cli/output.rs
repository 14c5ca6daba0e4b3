//! The two streams that a command writes to.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use muninn_backend::Router;

/// The first error of writing to stdout.
static WRITE_ERROR: OnceLock<String> = OnceLock::new();

/// Writes to stdout. A closed pipe is ignored; any other error, such as a full disk, fails the command at its end.
///
/// On a terminal, control characters and invisible characters are replaced: see [`visible`].
pub(crate) fn print(text: &str) {
    let text = visible(text, std::io::stdout().is_terminal());
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        WRITE_ERROR.get_or_init(|| error.to_string());
    }
}

/// Returns the first error of writing to stdout, except for a closed pipe.
pub(crate) fn write_error() -> Option<&'static str> {
    WRITE_ERROR.get().map(String::as_str)
}

/// Writes a line to stdout.
pub(crate) fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// Writes JSON to stdout, with invisible characters escaped.
pub(crate) fn json(value: &(impl serde::Serialize + ?Sized)) {
    line(&escaped(&serde_json::to_string(value).unwrap_or_default()));
}

/// Writes a line to stderr, like [`print`].
pub(crate) fn note(text: &str) {
    let text = visible(text, std::io::stderr().is_terminal());
    writeln!(anstream::stderr().lock(), "{text}").ok();
}

/// Tells which model servers on loopback are used, and which are not.
pub(crate) async fn announce_servers(router: &Router) {
    for announcement in router.announcements().await {
        let label = if announcement.is_warning { "warning: " } else { "" };
        note(&format!("{label}{}", announcement.text));
    }
}

/// Makes text of unknown origin safe to print: replaces invisible characters, and control characters except line ends,
/// which could control the terminal or reverse the text beside them.
pub(crate) fn sanitize(text: &str) -> String {
    text.replace(|c: char| c != '\n' && (c.is_control() || is_invisible(c)), "\u{fffd}")
}

/// Sanitizes a name or another field, in which line ends are replaced too.
pub(crate) fn sanitize_field(text: &str) -> String {
    sanitize(text).replace('\n', "\u{fffd}")
}

/// Sanitizes text and joins its lines.
pub(crate) fn sanitize_line(text: &str) -> String {
    sanitize(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Replaces control characters and invisible characters if the text goes to a terminal, which texts of files could control.
/// Nothing of ours has colours. The two joiners stay: emoji and several scripts need them, and they do not reverse text.
fn visible(text: &str, is_terminal: bool) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let hidden = |c: char| is_control(c) || is_invisible(c) && !matches!(c, '\u{200c}' | '\u{200d}');
    if is_terminal && text.contains(hidden) {
        Cow::Owned(text.replace(hidden, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes invisible characters and control characters in JSON. The writer of JSON leaves those beyond ASCII.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_invisible(c) || c.is_control();
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_hidden(c) {
            let units = c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            escaped.push_str(&units);
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character has no width and may change how its neighbours are shown: direction marks, joiners, zero-width
/// spaces, line separators, fillers, annotations and tags.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Formats an RFC 3339 time in the local time zone, to the second. Text that is not a time is returned unchanged.
pub(crate) fn local_time(at: &str) -> String {
    format_time(at, jiff::tz::TimeZone::system())
}

fn format_time(at: &str, zone: jiff::tz::TimeZone) -> String {
    at.parse::<jiff::Timestamp>()
        .map_or_else(|_| sanitize_line(at), |at| at.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// Prints a value as JSON or as text.
pub(crate) fn value<T: serde::Serialize + ?Sized>(json: bool, value: &T, text: impl FnOnce(&T) -> String) {
    if json { self::json(value) } else { print(&sanitize(&text(value))) }
}

/// Formats rows in columns, two spaces apart, each as wide as its widest cell. `pad` aligns a cell in its column. The last
/// cell of a row stays as it is.
pub(crate) fn table<const CELLS: usize>(rows: &[[String; CELLS]], pad: fn(&str, usize) -> String) -> String {
    let mut text = String::new();
    let mut widths = [0; CELLS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    for row in rows {
        for (cell, width) in row[..CELLS - 1].iter().zip(widths) {
            text.push_str(&pad(cell, width));
            text.push_str("  ");
        }
        text.push_str(&row[CELLS - 1]);
        text.push('\n');
    }
    text
}

/// Formats a count with its noun: `1 file`, `2 files`.
pub(crate) fn plural(count: usize, word: &str) -> String {
    match word.strip_suffix("ry") {
        _ if count == 1 => format!("1 {word}"),
        Some(stem) => format!("{count} {stem}ries"),
        None => format!("{count} {word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_output_has_no_direction_marks_and_no_escapes() {
        let wild = "a\u{202e}b\u{2066}c\u{61c}d\u{200e}e \u{1b}[31m";
        assert_eq!(visible(wild, true), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e \u{fffd}[31m");
        assert_eq!(visible("a\tb\nc\r\u{9b}2J\u{7}", true), "a\tb\nc\u{fffd}\u{fffd}2J\u{fffd}");
        assert_eq!(visible(wild, false), wild, "files and pipes get the bytes");
        let emoji = "\u{1f468}\u{200d}\u{1f467}";
        assert_eq!(visible(emoji, true), emoji);
    }

    #[test]
    fn json_escapes_invisible_characters_and_keeps_its_value() {
        let value = "a\u{202e}\u{e0041}\u{1f600}é\u{9b}";
        let json = escaped(&serde_json::to_string(value).unwrap()).into_owned();
        assert_eq!(json, "\"a\\u202e\\udb40\\udc41\u{1f600}é\\u009b\"");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
    }

    #[test]
    fn times_are_local_and_of_one_width() {
        let zone = || jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(format_time("2026-03-01T22:05:06Z", zone()), "2026-03-02 00:05:06");
        assert_eq!(format_time("2026-03-01T22:05:06.5Z", zone()), "2026-03-02 00:05:06");
        assert_eq!(format_time("yesterday", zone()), "yesterday");
    }

    #[test]
    fn sanitized_text_has_no_control_characters() {
        let wild = "a\u{1b}[31m\u{9b}m\u{202e}b\nc\r\td\u{feff}";
        assert_eq!(sanitize(wild), "a\u{fffd}[31m\u{fffd}m\u{fffd}b\nc\u{fffd}\u{fffd}d\u{fffd}");
        for invisible in ['\u{61c}', '\u{ad}', '\u{180e}', '\u{2069}', '\u{200f}', '\u{fff9}', '\u{e0041}'] {
            assert_eq!(sanitize(&format!("a{invisible}b")), "a\u{fffd}b", "{invisible:?}");
        }
        assert_eq!(sanitize_line("one\n\n[right] two\u{2028}three"), "one [right] two three");
    }
}
