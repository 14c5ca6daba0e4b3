//! The tools of the worklog: its last lines, a line, and the declaration of a mutation.

use muninn_context_engine::tools::{Effect, Output, Parameter, ToolError};
use muninn_notebooks::worklog::{Appended, HANDOVER_LINES, Mutation, MutationKind, Tail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ToolSession;
use super::tool::{SessionTool, failed};
use crate::SessionWorklog;

fn worklog(session: &ToolSession) -> Result<SessionWorklog, ToolError> {
    session.workspace.worklog().map_err(failed)
}

/// Reads the last lines.
pub(super) struct WorklogRead;

/// The arguments of [`WorklogRead`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct ReadArguments {
    /// so many lines, 50 if absent
    lines: Option<u32>,
}

/// The last lines; `None` if there are none.
#[derive(Debug, Serialize)]
pub(super) struct LastLines {
    tail: Option<Tail>,
}

impl SessionTool for WorklogRead {
    type Arguments = ReadArguments;
    type Answer = LastLines;

    const NAME: &'static str = "worklog_read";
    const HINT: &'static str = "worklog journal handover last lines";
    const DESCRIPTION: &'static str =
        "The last lines of this worktree's worklog: what others did, decided and failed at.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::described("lines", &["count", "length"])];

    fn answer(session: &ToolSession, arguments: &ReadArguments) -> Result<LastLines, ToolError> {
        let worklog = worklog(session)?;
        let session = session.session.as_deref();
        // Reading is the handover, too.
        let tail = match arguments.lines {
            Some(lines) if lines as usize != HANDOVER_LINES => worklog.tail(lines as usize),
            _ => worklog.deliver(session),
        };
        Ok(LastLines { tail: tail.map_err(failed)? })
    }

    fn output(_: &ReadArguments, lines: &LastLines) -> Output {
        let text = lines.tail.as_ref().map(|tail| tail.text.clone());
        Output::from_text(text.unwrap_or_else(|| "nothing is written yet".to_owned()))
    }
}

/// Appends a text.
pub(super) struct WorklogAppend;

/// The arguments of [`WorklogAppend`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct AppendArguments {
    /// one or two lines, such as: Decision: session token, not JWT
    text: String,
}

/// An appended text.
#[derive(Debug, Serialize)]
pub(super) struct Added(Appended);

impl SessionTool for WorklogAppend {
    type Arguments = AppendArguments;
    type Answer = Added;

    const NAME: &'static str = "worklog_append";
    const HINT: &'static str = "worklog journal note decision failure finding";
    const DESCRIPTION: &'static str = "Add one or two lines to the worklog after a decision, a failed attempt or a finding. Begin \
        with Decision:, ❌ Failed:, Found:, ✅, →, or GOSSIP: for what the whole team should know.";
    const PARAMETERS: &'static [Parameter] = &[Parameter::document("text", &["entry", "line", "content"])];
    const EFFECT: Effect = Effect::Writes;

    fn answer(session: &ToolSession, arguments: &AppendArguments) -> Result<Added, ToolError> {
        let appended = worklog(session)?.append(session.session.as_deref(), Some(&session.client), &arguments.text);
        Ok(Added(appended.map_err(failed)?))
    }

    fn output(_: &AppendArguments, added: &Added) -> Output {
        Output::from_text(if added.0.redacted { "added; a secret was removed" } else { "added" })
    }
}

/// Declares a mutation.
pub(super) struct WorklogMutate;

/// The arguments of [`WorklogMutate`].
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct MutateArguments {
    /// M1 Reproduce First, M2 Observe, M3 Bisect, M4 Change One Thing, M5 Reduce Scope, M6 Check Assumptions or M7 Change Approach
    kind: String,
    /// what failed
    failed_on: String,
    /// what you do instead
    switching_to: String,
    /// why
    rationale: String,
}

/// A declared mutation.
#[derive(Debug, Serialize)]
pub(super) struct Declared(Mutation);

impl SessionTool for WorklogMutate {
    type Arguments = MutateArguments;
    type Answer = Declared;

    const NAME: &'static str = "worklog_mutate";
    const HINT: &'static str = "worklog journal mutation change strategy after failures";
    const DESCRIPTION: &'static str = "Declare what you do differently after three failures of the same approach.";
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::described("kind", &["type"]),
        Parameter::document("failed_on", &["failed"]),
        Parameter::document("switching_to", &["switch_to"]),
        Parameter::document("rationale", &["reason", "why"]),
    ];
    const EFFECT: Effect = Effect::Writes;

    fn answer(session: &ToolSession, arguments: &MutateArguments) -> Result<Declared, ToolError> {
        let kind: MutationKind = arguments.kind.parse().map_err(failed)?;
        let mutation = Mutation {
            kind,
            failed_on: arguments.failed_on.clone(),
            switching_to: arguments.switching_to.clone(),
            rationale: arguments.rationale.clone(),
        };
        let declared = worklog(session)?.mutate(session.session.as_deref(), &mutation);
        declared.map_err(failed)?;
        Ok(Declared(mutation))
    }

    fn output(_: &MutateArguments, declared: &Declared) -> Output {
        Output::from_text(format!("declared {} ({})", declared.0.kind, declared.0.kind.words()))
    }
}
