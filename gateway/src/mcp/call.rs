//! One call of a tool: on a blocking thread, with progress, and stopped when the client cancels it or leaves.

use std::sync::Arc;
use std::time::Duration;

use muninn_context_engine::tools::Output;
use muninn_repo_tools::CancelFlag;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam};
use rmcp::service::RequestContext;
use tokio::time::{Instant, interval_at};

use super::result;
use crate::app::{ClientTool, ToolSession};

/// The pause between two notifications of progress.
const TICK: Duration = Duration::from_secs(1);

/// Cancels the work when the call's future is dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Calls a tool.
pub(super) async fn run(
    tool: &'static ClientTool,
    session: Arc<ToolSession>,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let cancelled = CancelFlag::default();
    let _guard = CancelOnDrop(cancelled.clone());
    let page = result::page_of(&arguments);
    let mut work = tokio::task::spawn_blocking(move || session.run(tool, &arguments, cancelled));
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    let mut seconds = 0.0;
    loop {
        tokio::select! {
            done = &mut work => {
                let output = done.unwrap_or_else(|_| Output::failed("the call failed inside Muninn"));
                return result::of(tool, &output, page);
            }
            () = context.ct.cancelled() => return CallToolResult::error(vec![ContentBlock::text("cancelled")]),
            _ = ticks.tick() => {
                seconds += TICK.as_secs_f64();
                if let Some(token) = context.meta.get_progress_token() {
                    let progress = ProgressNotificationParam::new(token, seconds).with_message(tool.name());
                    context.peer.notify_progress(progress).await.ok();
                }
            }
        }
    }
}
