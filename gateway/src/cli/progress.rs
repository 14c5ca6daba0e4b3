//! Indexing, shown to whoever waits for it.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use muninn_context_engine::Progress;

const EVERY: Duration = Duration::from_millis(100);

/// A line on stderr that counts files; nothing where stderr is no terminal.
pub(crate) struct ProgressLine {
    shown: Option<Mutex<Instant>>,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine {
            shown: std::io::stderr().is_terminal().then(|| Mutex::new(Instant::now())),
        }
    }

    /// Clears the line.
    pub(crate) fn finish(&self) {
        if self.shown.is_some() {
            let _reader_left = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Progress for ProgressLine {
    fn advance(&self, done: usize, total: usize) {
        let Some(shown) = &self.shown else { return };
        let Ok(mut shown) = shown.try_lock() else {
            return;
        };
        if shown.elapsed() >= EVERY {
            *shown = Instant::now();
            let _reader_left = write!(std::io::stderr(), "\r\x1b[Kindexing: {done} of {total} files");
        }
    }
}
