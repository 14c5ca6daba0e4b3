//! Progress of long work, as one line on the terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use muninn_base::Progress;
use parking_lot::Mutex;

/// The shortest time between two updates of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// A line on stderr that each update overwrites. Writes nothing if stderr is not a terminal.
pub(crate) struct ProgressLine {
    shown: Option<Mutex<Instant>>,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine { shown: std::io::stderr().is_terminal().then(|| Mutex::new(Instant::now())) }
    }

    /// Clears the line.
    pub(crate) fn finish(&self) {
        if self.shown.is_some() {
            write!(std::io::stderr(), "\r\x1b[K").ok();
        }
    }

    fn show(&self, text: impl FnOnce() -> String) {
        let Some(shown) = &self.shown else { return };
        let Some(mut shown) = shown.try_lock() else { return };
        if shown.elapsed() >= INTERVAL {
            *shown = Instant::now();
            write!(std::io::stderr(), "\r\x1b[K{}", text()).ok();
        }
    }

    /// Shows a count: `comparing 12 of 40`.
    pub(crate) fn counted(&self, what: &str, done: usize, total: usize) {
        self.show(|| format!("{what} {done} of {total}"));
    }

    /// Shows how many bytes were fetched.
    pub(crate) fn bytes(&self, done: u64, total: u64) {
        self.show(|| bar(done, total));
    }
}

impl Progress for ProgressLine {
    fn advance(&self, done: usize, total: usize) {
        self.show(|| format!("indexing: {done} of {total} files"));
    }
}

/// A bar of 30 characters, the share, and the megabytes.
fn bar(done: u64, total: u64) -> String {
    let tenths = |bytes: u64| format!("{}.{}", bytes / 1_000_000, bytes / 100_000 % 10);
    let percent = (done * 100).checked_div(total).unwrap_or(100).min(100);
    let filled = usize::try_from(percent * 30 / 100).unwrap_or(0);
    format!(
        "fetching: [{}{}] {percent:3} %, {} of {} MB",
        "#".repeat(filled),
        ".".repeat(30 - filled),
        tenths(done),
        tenths(total)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_a_fixed_width() {
        for (done, total, expected) in [
            (0, 83_506_384, "fetching: [..............................]   0 %, 0.0 of 83.5 MB"),
            (41_753_192, 83_506_384, "fetching: [###############...............]  50 %, 41.7 of 83.5 MB"),
            (83_506_384, 83_506_384, "fetching: [##############################] 100 %, 83.5 of 83.5 MB"),
            (0, 0, "fetching: [##############################] 100 %, 0.0 of 0.0 MB"),
        ] {
            assert_eq!(bar(done, total), expected);
        }
    }
}
