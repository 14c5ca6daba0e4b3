//! The two streams that a command writes to, and its log.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;

use crate::config::env_vars;

/// Why stdout does not hold all that was written to it.
static CUT_SHORT: OnceLock<String> = OnceLock::new();

/// Writes to stdout. A reader that has left ends nothing; what else goes wrong, as on a full disk, ends the command badly.
pub(crate) fn print(text: &str) {
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

/// Writes JSON to stdout.
pub(crate) fn json(value: &impl serde::Serialize) {
    line(&serde_json::to_string(value).unwrap_or_default());
}

/// Writes a line to stderr.
pub(crate) fn note(text: &str) {
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

/// Marks of direction, joiners, blanks without width, separators of lines, and tags.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Starts logging to stderr, at `default` unless the environment says otherwise.
pub(crate) fn log_to_stderr(default: &str) {
    let colours = std::io::stderr().is_terminal() && std::env::var_os(env_vars::NO_COLOR).is_none();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(default))
        .with_target(false)
        .with_ansi(colours)
        .with_writer(std::io::stderr);
    // A second start in one process, as in tests, keeps the first.
    let _already_started = subscriber.try_init();
}

/// Starts logging to a file, for commands whose terminal belongs to somebody else.
pub(crate) fn log_to_file(file: std::fs::File, default: &str) {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(default))
        .with_target(false)
        .with_ansi(false)
        .with_writer(std::sync::Mutex::new(file));
    let _already_started = subscriber.try_init();
}

fn filter(default: &str) -> EnvFilter {
    EnvFilter::try_from_env(env_vars::LOG).unwrap_or_else(|_| EnvFilter::new(default))
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
    fn what_strangers_wrote_is_tame() {
        let wild = "a\u{1b}[31m\u{9b}m\u{202e}b\nc\r\td\u{feff}";
        assert_eq!(
            tame(wild),
            "a\u{fffd}[31m\u{fffd}m\u{fffd}b\nc\u{fffd}\u{fffd}d\u{fffd}"
        );
        assert_eq!(tame_line("one\n\n[right] two\u{2028}three"), "one [right] two three");
    }
}
