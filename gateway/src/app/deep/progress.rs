//! Showing what is being read while a client waits for an exploration.

use muninn_context_engine::explore::Observer;
use muninn_memory::redact;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What an exploration says of itself: an empty line when it begins, then one for each call.
pub(crate) struct Watching(UnboundedReceiver<String>);

/// The other end: where an exploration says it. Whether somebody listens makes no difference to it.
#[derive(Clone)]
pub(crate) struct Progress(UnboundedSender<String>);

impl Progress {
    /// Both ends.
    pub(crate) fn new() -> (Progress, Watching) {
        let (sender, receiver) = unbounded_channel();
        (Progress(sender), Watching(receiver))
    }

    /// Says that an exploration begins.
    pub(crate) fn begins(&self) {
        let _nobody_listens = self.0.send(String::new());
    }
}

impl Observer for Progress {
    fn calls(&self, tool: &str, arguments: &str) {
        let line = format!("{tool} {arguments}").replace(['\n', '\r'], " ");
        let _nobody_listens = self.0.send(redact(&line).into_owned());
    }
}

impl Watching {
    /// The next line; `None` when the exploration is over. Safe to be dropped and called again.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }

    pub(crate) fn poll(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<String>> {
        self.0.poll_recv(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_event_whatever_it_holds() {
        let (progress, mut watching) = Progress::new();
        progress.calls("grep", "pattern=\"a\nb\r\n\ndata: x\"");
        progress.calls(
            "read",
            "path=\"sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEF\"",
        );
        drop(progress);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lines: Vec<String> = runtime.block_on(async {
            let mut lines = Vec::new();
            while let Some(line) = watching.next().await {
                lines.push(line);
            }
            lines
        });
        assert!(!lines[1].contains("0123456789abcdef"));
    }
}
