//! Notes for a call of a tool that a hook sees: those about exactly the file or the command.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muninn_base::RelPath;
use muninn_context_engine::{Action, render};
use muninn_ledger::{Outcome, ReceiptItem};
use muninn_session::transcript::Transcript;
use muninn_session::{named_file, named_files};
use muninn_text::redact;

use super::hook_session::HookTool;
use super::hook_turn::{RECENT, transcript_of};
use super::turn::{is_held_out, millis};
use super::worklog::ToolCall;
use super::{App, Workspace};

/// The most tokens of a block.
const MOST_TOKENS: u32 = 120;
/// The time for loading memory.
const LOADING: Duration = Duration::from_millis(200);
/// The most characters of a command that names the subject of a block.
const MOST_SUBJECT: usize = 60;

impl App {
    /// The notes about the file or the command of a call, once for each session and note. None for a conversation that goes
    /// without context, that has no id, or that goes through a gateway.
    pub(super) async fn notes_before(self: &Arc<Self>, tool: &HookTool) -> Option<String> {
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
        let (subject, action) = action_of(&workspace, &tool.call, &tool.session.directory.to_string_lossy())?;
        let receipts = self.store.as_ref()?.receipts_of(&redact(&session), RECENT).await.ok()?;
        // A note that was only named before comes in full.
        let given = receipts.into_iter().flat_map(|receipt| receipt.items).filter(|item| item.kind == "memory");
        let given: HashSet<String> = given.map(|item| item.source).collect();
        let (of_session, engine) = (tool.session.clone(), workspace.engine.clone()?);
        let about = subject.clone();
        let notes = tokio::task::spawn_blocking(move || {
            let is_given = |id: &str| given.contains(id);
            let limits = (MOST_TOKENS, Instant::now() + LOADING);
            let notes = engine.notes_about((&about, &action), &is_given, limits);
            if notes.is_empty() {
                return None;
            }
            // The conversation is read only where there is something to say.
            let conversation = String::from_utf8(transcript_of(&of_session).body(None)).unwrap_or_default();
            let is_known = |id: &str| is_given(id) || conversation.contains(id);
            Some(engine.notes_about((&about, &action), &is_known, limits)).filter(|notes| !notes.is_empty())
        });
        let notes = notes.await.ok()??;
        let block = render::note_block(&subject, &notes);
        let mut receipt = self.hook_receipt(&tool.session, Transcript::empty(tool.session.client).format());
        receipt.worktree = workspace.root.display().to_string();
        receipt.outcome = Outcome::Injected;
        receipt.reason = Some(format!("before a call: {subject}"));
        receipt.items = notes.iter().map(ReceiptItem::from).collect();
        receipt.tokens = muninn_context_engine::tokens::count(&block);
        receipt.ms = millis(started.elapsed());
        self.store.as_ref()?.note_receipt(receipt);
        Some(block)
    }
}

/// The file or the command that a call is about, in words and as an action; `None` if it names neither.
fn action_of(workspace: &Workspace, call: &ToolCall, directory: &str) -> Option<(String, Action)> {
    let engine = workspace.engine.as_ref()?;
    let claimed = [directory.to_owned()];
    let (places, is_there) = ((&*workspace.root, &claimed[..]), |path: &RelPath| engine.has_file(path));
    match call {
        ToolCall::Edit { file, .. } => {
            let file = named_file(file, places, &is_there)?;
            Some((file.to_string(), Action { files: vec![file], command: None }))
        }
        ToolCall::Command(line) => {
            let subject = line.split_whitespace().collect::<Vec<_>>().join(" ");
            let subject: String = redact(&subject).chars().take(MOST_SUBJECT).collect();
            Some((
                format!("`{subject}`"),
                Action { files: named_files(line, places, &is_there), command: Some(line.clone()) },
            ))
        }
    }
}
