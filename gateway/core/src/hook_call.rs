//! A call of a tool that a client's hook reports, before it is made and after it.

use std::sync::Arc;
use std::time::Instant;

use muninn_context_engine::{Item, tokens};
use muninn_ledger::{Outcome, Receipt, ReceiptItem};
use muninn_session::last_human_turn;
use muninn_wire::Prompt;

use super::App;
use super::action_notes::ActionNotes;
use super::hook_session::HookTool;
use super::hook_turn::{blocking, transcript_of};
use super::local::LocalReply;
use super::turn::{is_held_out, millis};
use super::worklog::{ToolOutcome, logged};

impl App {
    /// The reason to hold a call of a tool, or the notes about what it touches.
    pub(super) async fn before_tool(self: &Arc<Self>, tool: HookTool) -> LocalReply {
        if let Some(worklog) = self.worklog_of(&tool.session).await {
            let (session, call) = (tool.session.session.clone(), tool.call.clone());
            let held = blocking(move || logged(worklog.hold(session.as_deref(), &call))).await;
            if let Some(reason) = held.flatten() {
                return LocalReply::Hold(reason);
            }
        }
        self.notes_before(&tool).await.into()
    }

    /// The text for the agent after a call of a tool; `None` without one.
    pub(super) async fn after_tool(self: &Arc<Self>, tool: HookTool, outcome: ToolOutcome) -> Option<String> {
        let worklog = self.worklog_of(&tool.session).await?;
        let told = blocking(move || {
            let (session, id) = (tool.session.session.as_deref(), tool.id.as_deref());
            logged(worklog.observe(session, &tool.call, (id, &outcome), true))
        });
        told.await.flatten()
    }

    /// The notes about the file or the command of a call, once for each session and note. None for a conversation that goes
    /// without context, that has no id, or that goes through a gateway.
    async fn notes_before(self: &Arc<Self>, tool: &HookTool) -> Option<String> {
        let started = Instant::now();
        let session = tool.session.session.clone()?;
        let share = self.settings().config.context.holdout;
        if is_held_out(&session, share) || self.sees_requests_of(&tool.session).await {
            return None;
        }
        let workspace = self.workspace_of(&tool.session).await?;
        if !workspace.settings().context.enabled {
            return None;
        }
        let store = self.store.as_ref()?;
        let directory = tool.session.directory.to_string_lossy();
        let notes = ActionNotes::before(&workspace, &tool.call, &directory).await?;
        let transcript = transcript_of(&tool.session);
        let conversation = String::from_utf8(transcript.body(None)).unwrap_or_default();
        let is_told = |note: &Item| conversation.contains(&note.source);
        let new = notes.new_to((&**store, Some(&session)), &is_told, "before").await?;
        let mut receipt = self.hook_receipt(&tool.session, transcript.format());
        let prompt = Prompt::parse(transcript.format(), conversation.as_bytes()).ok();
        let turn = prompt.as_ref().and_then(last_human_turn);
        receipt.first_words = turn.map(|turn| Receipt::first_words_of(&turn.question)).unwrap_or_default();
        receipt.worktree = workspace.root.display().to_string();
        receipt.outcome = Outcome::Injected;
        receipt.reason = Some(new.reason);
        receipt.items = new.notes.iter().map(ReceiptItem::from).collect();
        receipt.tokens = tokens::count(&new.block);
        receipt.ms = millis(started.elapsed());
        store.note_receipt(receipt);
        Some(new.block)
    }
}
