//! The tools of the worklog: its last lines, a line, and the declaration of a mutation.

use muninn_context_engine::tools::{Effect, ToolError};
use muninn_notebooks::worklog::{HANDOVER_LINES, Mutation};
use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{failed, named, tool};
use super::{ClientTool, ToolSession, ToolSet};
use crate::SessionWorklog;

fn worklog(session: &ToolSession) -> Result<SessionWorklog, ToolError> {
    session.workspace.worklog().map_err(failed)
}

#[derive(Deserialize, JsonSchema)]
struct ReadArguments {
    /// so many lines, 50 if absent
    lines: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct AppendArguments {
    /// one or two lines, such as: Decision: session token, not JWT
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct MutateArguments {
    /// M1 Reproduce First, M2 Observe, M3 Bisect, M4 Change One Thing, M5 Reduce Scope, M6 Check Assumptions or M7 Change Approach
    kind: String,
    /// what failed
    failed_on: String,
    /// what you do instead
    switching_to: String,
    /// why
    rationale: String,
}

pub(super) fn tools() -> [ClientTool; 3] {
    use Effect::{Reads, Writes};
    use ToolSet::Worklog;
    [
        tool("worklog_read", Worklog, Reads, "worklog journal handover last lines")
            .about("The last lines of this worktree's worklog: what others did, decided and failed at.")
            .parameter("lines", &["count", "length"])
            .answered(|session, arguments: ReadArguments| {
                let worklog = worklog(session)?;
                // Reading is the handover, too.
                let tail = match arguments.lines {
                    Some(lines) if lines as usize != HANDOVER_LINES => worklog.tail(lines as usize),
                    _ => worklog.deliver(session.session.as_deref()),
                };
                Ok(named("tail", tail.map_err(failed)?))
            }),
        tool("worklog_append", Worklog, Writes, "worklog journal note decision failure finding")
            .about(
                "Add one or two lines to the worklog after a decision, a failed attempt or a finding. Begin with Decision:, \
                 ❌ Failed:, Found:, ✅, →, or GOSSIP: for what the whole team should know.",
            )
            .document("text", &["entry", "line", "content"])
            .answered(|session, arguments: AppendArguments| {
                let worklog = worklog(session)?;
                worklog.append(session.session.as_deref(), Some(&session.client), &arguments.text).map_err(failed)
            }),
        tool("worklog_mutate", Worklog, Writes, "worklog journal mutation change strategy after failures")
            .about("Declare what you do differently after three failures of the same approach.")
            .parameter("kind", &["type"])
            .document("failed_on", &["failed"])
            .document("switching_to", &["switch_to"])
            .document("rationale", &["reason", "why"])
            .answered(|session, arguments: MutateArguments| {
                let mutation = Mutation {
                    kind: arguments.kind.parse().map_err(failed)?,
                    failed_on: arguments.failed_on,
                    switching_to: arguments.switching_to,
                    rationale: arguments.rationale,
                };
                worklog(session)?.mutate(session.session.as_deref(), &mutation).map_err(failed)?;
                Ok(mutation)
            }),
    ]
}
