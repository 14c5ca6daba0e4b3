//! One call of a tool, with progress.

use std::time::Duration;

use muninn_core::{ToolReply, ToolResult};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam};
use rmcp::service::RequestContext;
use tokio::time::{Instant, interval_at};

/// The pause between two notifications of progress.
const TICK: Duration = Duration::from_secs(1);

/// Waits for the reply to a call. A client that cancels it or leaves drops the future, and with it the call.
pub(super) async fn wait(
    tool: &str,
    reply: impl Future<Output = ToolReply>,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    tokio::pin!(reply);
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    let mut seconds = 0.0;
    loop {
        tokio::select! {
            reply = &mut reply => return result(reply),
            () = context.ct.cancelled() => return failed("cancelled"),
            _ = ticks.tick() => {
                seconds += TICK.as_secs_f64();
                if let Some(token) = context.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, seconds).with_message(tool);
                    context.peer.notify_progress(progress).await.ok();
                }
            }
        }
    }
}

/// A reply in the protocol's form. Prose and code are text only; of the other tools the text is the same JSON.
fn result(reply: ToolReply) -> CallToolResult {
    match reply {
        ToolReply::Result(ToolResult::Text(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
        ToolReply::Result(ToolResult::Structured(value)) => CallToolResult::structured(value),
        ToolReply::Result(ToolResult::Failed(reason)) | ToolReply::Refused(reason) => failed(reason),
        ToolReply::Resources(_) | ToolReply::Resource(_) => failed("the call failed inside Muninn"),
    }
}

fn failed(reason: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(reason)])
}
