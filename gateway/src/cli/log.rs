//! The log of a command.

use std::io::{BufWriter, IsTerminal, Write};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use muninn_base::private_file;
use muninn_config::{env_vars, paths};
use muninn_text::redact::redact;
use parking_lot::{Condvar, Mutex};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The size of a log from which it begins anew, in bytes.
const MOST_LOG: u64 = 1 << 20;
/// The most bytes of events that wait for the log's thread. If the log is slower than the events, the rest is lost and counted.
const MOST_QUEUED: usize = 4 << 20;
/// The time in which the log's thread gathers events before it writes them.
const GATHER: Duration = Duration::from_millis(20);

/// Starts logging to stderr, at `default` unless the environment says otherwise.
pub(crate) fn to_stderr(default: &str) {
    start(default, colours(), Redacting(std::io::stderr));
}

/// The same for a server, whose requests do not wait for the log: a thread of its own writes it, until the queue is dropped.
pub(crate) fn to_stderr_later(default: &str) -> LogQueue {
    let queue = LogQueue::start(std::io::stderr());
    start(default, colours(), queue.writer());
    queue
}

/// Starts logging to a file of the state directory. If it cannot be written, nothing is logged; if others control the
/// directory, the log goes to stderr.
pub(crate) fn to_state(name: &str, default: &str) {
    let state = match paths::closed_state_dir() {
        Ok(state) => state,
        // Nothing in it is used, so a log must be elsewhere for the user to learn why.
        Err(_) => return to_stderr(default),
    };
    let open = || -> std::io::Result<std::fs::File> {
        private_file::dir(&state.path)?;
        let file = private_file::append(&state.path.join(name))?;
        if file.metadata()?.len() > MOST_LOG {
            file.set_len(0)?;
        }
        Ok(file)
    };
    if let Ok(file) = open() {
        start(default, false, Redacting(Arc::new(file)));
    }
    if let Some(notice) = state.notice {
        tracing::warn!("{notice}");
    }
}

fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os(env_vars::NO_COLOR).is_none()
}

fn start(default: &str, colours: bool, writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter(default))
        .with_target(false)
        .with_ansi(colours)
        // A log on a full disk must not be reported on stderr, which clients show.
        .log_internal_errors(false)
        .with_writer(writer);
    let format = std::env::var(env_vars::LOG_FORMAT).unwrap_or_default();
    // A second start in one process, as in tests, has no effect.
    match format.as_str() {
        "json" => subscriber.json().flatten_event(true).try_init(),
        _ => subscriber.try_init(),
    }
    .ok();
    if !matches!(format.as_str(), "" | "text" | "json") {
        tracing::warn!("{} is `{format}`, which is neither `text` nor `json`; using text", env_vars::LOG_FORMAT);
    }
}

fn filter(default: &str) -> EnvFilter {
    EnvFilter::try_from_env(env_vars::LOG).unwrap_or_else(|_| EnvFilter::new(default))
}

/// Removes secrets from every event. The libraries below log parts of requests, such as the name of an unknown tool.
struct Redacting<W>(W);

impl<'w, M: MakeWriter<'w>> MakeWriter<'w> for Redacting<M> {
    type Writer = Redacting<M::Writer>;

    fn make_writer(&'w self) -> Self::Writer {
        Redacting(self.0.make_writer())
    }
}

impl<W: Write> Write for Redacting<W> {
    /// Writes an event, which the formatter hands over whole.
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        match std::str::from_utf8(event) {
            Ok(text) => self.0.write_all(redact(text).as_bytes())?,
            Err(_) => self.0.write_all(event)?,
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// The queue of the log's thread. Dropping it writes what is left.
pub(crate) struct LogQueue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    events: Mutex<Events>,
    /// Notified at the first event after a write, and at the end.
    changed: Condvar,
}

/// The events that are not written yet.
#[derive(Default)]
struct Events {
    text: Vec<u8>,
    /// The ends of the events in the text. Each is redacted by itself.
    ends: Vec<usize>,
    lost: usize,
    is_closed: bool,
}

impl LogQueue {
    fn start(out: impl Write + Send + 'static) -> LogQueue {
        let shared: Arc<Shared> = Arc::default();
        let events = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("muninn-log".to_owned()).spawn(move || events.write_to(out));
        LogQueue { shared, thread: thread.ok() }
    }

    fn writer(&self) -> impl for<'w> MakeWriter<'w> + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || Queued(Arc::clone(&shared))
    }
}

impl Drop for LogQueue {
    fn drop(&mut self) {
        self.shared.events.lock().is_closed = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Shared {
    /// Writes the events to a stream until the queue is closed and empty.
    fn write_to(&self, out: impl Write) {
        let mut out = Redacting(BufWriter::new(out));
        loop {
            let mut events = self.events.lock();
            while events.ends.is_empty() && !events.is_closed {
                self.changed.wait(&mut events);
            }
            if !events.is_closed {
                self.changed.wait_for(&mut events, GATHER);
            }
            if events.ends.is_empty() {
                return;
            }
            let is_closed = events.is_closed;
            let Events { text, ends, lost, .. } =
                std::mem::replace(&mut *events, Events { is_closed, ..Events::default() });
            drop(events);
            let mut start = 0;
            for end in ends {
                // A log on a full disk loses events.
                out.write_all(&text[start..end]).ok();
                start = end;
            }
            out.flush().ok();
            if lost > 0 {
                tracing::warn!("{lost} lines of the log were lost: they came faster than it was written");
            }
        }
    }
}

/// Puts an event into the queue.
struct Queued(Arc<Shared>);

impl Write for Queued {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let mut events = self.0.events.lock();
        if events.text.len() + event.len() > MOST_QUEUED {
            events.lost += 1;
            return Ok(event.len());
        }
        events.text.extend_from_slice(event);
        let end = events.text.len();
        events.ends.push(end);
        let is_first = events.ends.len() == 1;
        drop(events);
        if is_first {
            self.0.changed.notify_one();
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log in memory. While it is held, writes wait.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Memory {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The log of an event with a key, as text with colours or as JSON.
    fn logged(is_json: bool, writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) {
        let key = format!("muninn-{}", "1b40".repeat(16));
        let subscriber = tracing_subscriber::fmt().with_ansi(!is_json).with_writer(writer);
        let warn = || tracing::warn!(tool = %key, "response error: tool not found: {key}");
        if is_json {
            tracing::subscriber::with_default(subscriber.json().flatten_event(true).finish(), warn);
        } else {
            tracing::subscriber::with_default(subscriber.finish(), warn);
        }
    }

    #[test]
    fn log_lines_of_any_library_have_no_secrets() {
        for (is_json, is_queued) in [(false, false), (false, true), (true, false), (true, true)] {
            let log = Memory::default();
            if is_queued {
                let queue = LogQueue::start(log.clone());
                logged(is_json, queue.writer());
            } else {
                let log = log.clone();
                logged(is_json, Redacting(move || log.clone()));
            }
            let text = log.text();
            assert!(text.contains("tool not found") && !text.contains("1b401b40"), "{text}");
            assert!(!is_json || serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn queued_events_are_written_in_order_each_redacted_by_itself() {
        let log = Memory::default();
        let queue = LogQueue::start(log.clone());
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let events: Vec<String> = (0..1000).map(|number| format!("{number} {begin}\n")).collect();
        for event in &events {
            assert_eq!(Queued(Arc::clone(&queue.shared)).write(event.as_bytes()).unwrap(), event.len());
        }
        drop(queue);
        let numbers: Vec<String> = log.text().lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(numbers, (0..1000).map(|number| number.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_log_that_stands_still_loses_events_and_blocks_nobody() {
        let log = Memory::default();
        let held = log.0.lock();
        let queue = LogQueue::start(log.clone());
        let event = format!("{}\n", "x".repeat(1 << 10));
        for _ in 0..3 * (MOST_QUEUED >> 10) {
            Queued(Arc::clone(&queue.shared)).write_all(event.as_bytes()).unwrap();
        }
        let lost = queue.shared.events.lock().lost;
        assert!(lost > 0);
        drop(held);
        drop(queue);
        assert_eq!(log.text().lines().count() + lost, 3 * (MOST_QUEUED >> 10));
    }
}
