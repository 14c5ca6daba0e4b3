//! Showing what is being read while a client waits for an exploration.

use muninn_context_engine::explore::Observer;
use muninn_memory::redact;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::wire::WireFormat;

/// What an exploration says of itself: an empty line when it begins, then one for each call.
pub(in crate::server) struct Watching(UnboundedReceiver<String>);

/// The other end: where an exploration says it. Whether somebody listens makes no difference to it.
#[derive(Clone)]
pub(in crate::server) struct Progress(UnboundedSender<String>);

impl Progress {
    /// Both ends.
    pub(in crate::server) fn new() -> (Progress, Watching) {
        let (sender, receiver) = unbounded_channel();
        (Progress(sender), Watching(receiver))
    }

    /// Says that an exploration begins.
    pub(in crate::server) fn begins(&self) {
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
    pub(in crate::server) async fn next(&mut self) -> Option<String> {
        self.0.recv().await
    }

    pub(in crate::server) fn poll(&mut self, context: &mut std::task::Context<'_>) -> std::task::Poll<Option<String>> {
        self.0.poll_recv(context)
    }
}

/// A line as an event of the client's stream: thinking where the format has a place for it that changes nothing of what
/// follows, a comment elsewhere.
pub(in crate::server) fn event(format: WireFormat, id: &str, model: &str, line: &str) -> String {
    match format {
        WireFormat::Chat => {
            let chunk = json!({
                "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk",
                "created": jiff::Timestamp::now().as_second(), "model": model,
                "choices": [{"index": 0, "finish_reason": null, "delta": {"role": "assistant", "content": null,
                             "reasoning_content": format!("{line}\n")}}],
            });
            format!("data: {chunk}\n\n")
        }
        WireFormat::Messages | WireFormat::Responses => format!(": muninn explores: {line}\n\n"),
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
        for format in [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses] {
            let event = event(format, "01", "m", &lines[0]);
            assert!(event.ends_with("\n\n") && event.matches('\n').count() == 2, "{event}");
        }
        assert!(event(WireFormat::Chat, "01", "m", "x").contains(r#""reasoning_content":"x\n""#));
    }
}
