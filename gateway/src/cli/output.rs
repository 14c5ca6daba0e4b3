//! The two streams that a command writes to, and its log.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::env_vars;

/// Why stdout does not hold all that was written to it.
static CUT_SHORT: OnceLock<String> = OnceLock::new();

/// Writes to stdout. A reader that has left ends nothing; what else goes wrong, as on a full disk, ends the command badly.
///
/// On a terminal, characters that are not seen are replaced, whoever wrote them: see [`is_unseen`].
pub(crate) fn print(text: &str) {
    let text = visible(text, std::io::stdout().is_terminal());
    let mut out = anstream::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        CUT_SHORT.get_or_init(|| error.to_string());
    }
}

/// Why stdout does not hold all that was written to it; `None` where it does, or nobody reads it.
pub(crate) fn cut_short() -> Option<&'static str> {
    CUT_SHORT.get().map(String::as_str)
}

/// Writes a line to stdout.
pub(crate) fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// Writes JSON to stdout. Characters that are not seen are escaped, which says the same to whoever reads it.
pub(crate) fn json(value: &impl serde::Serialize) {
    line(&escaped(&serde_json::to_string(value).unwrap_or_default()));
}

/// Writes a line to stderr, like [`print`].
pub(crate) fn note(text: &str) {
    let text = visible(text, std::io::stderr().is_terminal());
    let _reader_left = writeln!(anstream::stderr().lock(), "{text}");
}

/// What strangers wrote must not speak to the terminal, nor turn what stands beside it around: control characters but for
/// line ends, and those that are not seen, are replaced.
pub(crate) fn tame(text: &str) -> String {
    text.replace(|c: char| c != '\n' && (c.is_control() || is_unseen(c)), "\u{fffd}")
}

/// The same in one line.
pub(crate) fn tame_line(text: &str) -> String {
    tame(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Text as a terminal gets it: what is not seen is replaced. The two joiners stay, which emoji and several scripts are
/// written with, and which turn nothing around.
fn visible(text: &str, is_terminal: bool) -> Cow<'_, str> {
    let hidden = |c: char| is_unseen(c) && !matches!(c, '\u{200c}' | '\u{200d}');
    if is_terminal && text.contains(hidden) {
        Cow::Owned(text.replace(hidden, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// JSON whose strings hold what is not seen as escapes.
fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(is_unseen) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_unseen(c) {
            let units = c
                .encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect::<String>();
            escaped.push_str(&units);
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Characters that take no place, and may change how what stands beside them is shown: marks of direction, joiners, blanks
/// without width, separators of lines, fillers, annotations, and tags.
fn is_unseen(c: char) -> bool {
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

/// Starts logging to stderr, at `default` unless the environment says otherwise.
pub(crate) fn log_to_stderr(default: &str) {
    let colours = std::io::stderr().is_terminal() && std::env::var_os(env_vars::NO_COLOR).is_none();
    start_log(default, colours, std::io::stderr);
}

/// Starts logging to a file, for commands whose terminal belongs to somebody else.
pub(crate) fn log_to_file(file: std::fs::File, default: &str) {
    start_log(default, false, std::sync::Mutex::new(file));
}

fn start_log(default: &str, colours: bool, writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(default))
        .with_target(false)
        .with_ansi(colours)
        .with_writer(writer);
    let format = std::env::var(env_vars::LOG_FORMAT).unwrap_or_default();
    // A second start in one process, as in tests, keeps the first.
    let _already_started = match format.as_str() {
        "json" => subscriber.json().flatten_event(true).try_init(),
        _ => subscriber.try_init(),
    };
    if !matches!(format.as_str(), "" | "text" | "json") {
        tracing::warn!(
            "{} is `{format}`, which is neither `text` nor `json`; this is text",
            env_vars::LOG_FORMAT
        );
    }
}

fn filter(default: &str) -> EnvFilter {
    EnvFilter::try_from_env(env_vars::LOG).unwrap_or_else(|_| EnvFilter::new(default))
}

/// A time of RFC 3339 by the clock on this machine's wall, to the second. What is no time is shown as it is.
pub(crate) fn local_time(at: &str) -> String {
    in_zone(at, jiff::tz::TimeZone::system())
}

fn in_zone(at: &str, zone: jiff::tz::TimeZone) -> String {
    at.parse::<jiff::Timestamp>().map_or_else(
        |_| tame_line(at),
        |at| at.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// A count with its word.
pub(crate) fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        format!("1 {word}")
    } else {
        format!("{count} {word}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_where_text_is_turned_around() {
        let wild = "a\u{202e}b\u{2066}c\u{61c}d\u{200e}e \u{1b}[31m";
        assert_eq!(visible(wild, true), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e \u{1b}[31m");
        assert_eq!(visible(wild, false), wild, "files and pipes get the bytes");
        let emoji = "\u{1f468}\u{200d}\u{1f467}";
        assert_eq!(visible(emoji, true), emoji);
    }

    #[test]
    fn json_escapes_what_is_not_seen_and_says_the_same() {
        let value = "a\u{202e}\u{e0041}\u{1f600}é";
        let json = escaped(&serde_json::to_string(value).unwrap()).into_owned();
        assert_eq!(json, "\"a\\u202e\\udb40\\udc41\u{1f600}é\"");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
    }

    #[test]
    fn times_have_one_width_and_are_local() {
        let zone = || jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(in_zone("2026-03-01T22:05:06Z", zone()), "2026-03-02 00:05:06");
        assert_eq!(in_zone("2026-03-01T22:05:06.5Z", zone()), "2026-03-02 00:05:06");
        assert_eq!(in_zone("yesterday", zone()), "yesterday");
    }

    #[test]
    fn what_strangers_wrote_is_tame() {
        let wild = "a\u{1b}[31m\u{9b}m\u{202e}b\nc\r\td\u{feff}";
        assert_eq!(
            tame(wild),
            "a\u{fffd}[31m\u{fffd}m\u{fffd}b\nc\u{fffd}\u{fffd}d\u{fffd}"
        );
        for unseen in [
            '\u{61c}',
            '\u{ad}',
            '\u{180e}',
            '\u{2069}',
            '\u{200f}',
            '\u{fff9}',
            '\u{e0041}',
        ] {
            assert_eq!(tame(&format!("a{unseen}b")), "a\u{fffd}b", "{unseen:?}");
        }
        assert_eq!(tame_line("one\n\n[right] two\u{2028}three"), "one [right] two three");
    }
}
