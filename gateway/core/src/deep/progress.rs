//! The progress of an exploration, shown to the client that waits for it.

use muninn_context_engine::explore::Observer;
use muninn_context_engine::render;
use muninn_text::redact;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Receives an exploration's progress: an empty line when it begins, then one line per tool call.
pub struct ProgressReceiver(UnboundedReceiver<String>);

/// Sends an exploration's progress. A dropped receiver makes no difference to the exploration.
#[derive(Clone)]
pub struct ProgressSender(UnboundedSender<String>);

impl ProgressSender {
    pub fn new() -> (ProgressSender, ProgressReceiver) {
        let (sender, receiver) = unbounded_channel();
        (ProgressSender(sender), ProgressReceiver(receiver))
    }

    /// Reports that an exploration begins.
    pub(crate) fn begins(&self) {
        self.0.send(String::new()).ok();
    }
}

impl Observer for ProgressSender {
    fn calls(&self, tool: &str, arguments: &str) {
        let line = format!("{tool} {arguments}").replace(['\n', '\r'], " ");
        self.0.send(render::heading(&redact(&line))).ok();
    }
}

impl ProgressReceiver {
    /// The next line; `None` when the exploration is over. Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }

    pub fn poll(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<String>> {
        self.0.poll_recv(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_line_has_no_line_breaks_and_no_secrets() {
        let (progress, mut receiver) = ProgressSender::new();
        progress.calls("grep", "pattern=\"a\nb\r\n\ndata: x\"");
        progress.calls("read", "path=\"sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEF\"");
        drop(progress);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let lines: Vec<String> = runtime.block_on(async {
            let mut lines = Vec::new();
            while let Some(line) = receiver.next().await {
                lines.push(line);
            }
            lines
        });
        assert!(!lines[1].contains("0123456789abcdef"));
    }
}
