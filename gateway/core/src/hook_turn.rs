//! A turn that a client's hook reports instead of sending its requests through the gateway.
//!
//! A hook turn is a request: the client's transcript and the new prompt make a body in the client's wire format, which is
//! planned and learned from like a request that the client sends. So admission, budget, ledger, receipts and records are
//! the same. The block goes to the client as text; the client keeps it in the conversation, so nothing is replayed.
//!
//! Where the conversation goes through a gateway, the gateway does all this, and a hook does nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use muninn_backend::access::Caller;
use muninn_config::presence::{is_gateway, loopback_port};
use muninn_context_engine::value::Prices;
use muninn_context_engine::{IndexStatus, render};
use muninn_ledger::{Outcome, Receipt};
use muninn_session::transcript::{Client, Transcript};
use muninn_session::{identify, newest_human_turn};
use muninn_text::redact;
use muninn_wire::{Prompt, WireFormat};

use super::deep::{DeepLane, ProgressSender};
use super::hook_session::{HookSession, HookTurn};
use super::learn::{ObservedConversation, ObservedRequest, Observing};
use super::receipts::receipts_of;
use super::turn::{PlanRequest, millis, new_receipt, plan};
use super::worklog::{SessionWorklog, handover_text, logged};
use super::{App, Workspace};

/// The most characters of one block. Claude Code moves longer texts of hooks into a file.
const MOST_CHARACTERS: usize = 8_000;
/// The context window that a hook turn is planned for, in tokens: one turn gets at most a fifth of it, 1,600 tokens. Codex
/// truncates the text of a hook above 2,500.
const WINDOW: u32 = 8_000;
/// The format of a hook's receipt, beside those of requests.
pub(super) const FORMAT: &str = "hook";

impl App {
    /// The block for a prompt; `None` if nothing is added. The turns before it are learned from.
    pub(super) async fn hook_turn(self: &Arc<Self>, turn: &HookTurn) -> Option<String> {
        let session = &turn.session;
        if self.sees_requests_of(session).await {
            return None;
        }
        let handover = self.begin_in_worklog(turn).await;
        let block = self.hook_block(turn).await;
        match (handover.map(|text| render::block_after(&text, &[])), block) {
            (Some(handover), Some(block)) => Some(format!("{handover}\n{block}")),
            (handover, block) => handover.or(block),
        }
    }

    /// The block for a prompt; `None` if nothing is added.
    async fn hook_block(self: &Arc<Self>, turn: &HookTurn) -> Option<String> {
        let session = &turn.session;
        let started = Instant::now();
        let transcript = transcript_of(session);
        let format = transcript.format();
        let body = Bytes::from(body_with(&transcript, &turn.prompt));
        let prompt = Prompt::parse(format, &body)
            .inspect_err(|error| tracing::warn!(%error, "the transcript is not understood"))
            .ok()?;
        let headers = headers_of(session);
        let identity = identify(&headers, &prompt);
        let (progress, _) = ProgressSender::new();
        let caller = self.caller_at(&session.directory);
        let request = PlanRequest {
            caller: &caller,
            headers: &headers,
            prompt: &prompt,
            identity: &identity,
            window: Some(WINDOW),
            prices: Prices::default(),
            deep: DeepLane::Off,
            progress,
            with_preamble: false,
        };
        let receipt = self.hook_receipt(session, format);
        let mut planned = plan(self, request, receipt).await;
        let block = planned.block.take().filter(|block| {
            let fits = block.chars().count() <= MOST_CHARACTERS;
            if !fits {
                planned.receipt.outcome = Outcome::Failed;
                planned.receipt.reason = Some(format!("the block has more than {MOST_CHARACTERS} characters"));
            }
            fits
        });
        planned.receipt.ms = millis(started.elapsed());
        let is_conversation = planned.receipt.side_request.is_none();
        let worktree = planned.receipt.worktree.clone();
        if let Some(store) = &self.store {
            store.note_receipt(planned.receipt);
        }
        let conversation = ObservedConversation::of(&identity).filter(|_| is_conversation);
        if let Some(conversation) = conversation {
            self.observe_hook(Path::new(&worktree), body.clone(), (conversation, format), Observing::Transcript);
        }
        block
    }

    /// The worklog of a session's worktree, if it is in use there.
    pub(super) async fn worklog_of(self: &Arc<Self>, session: &HookSession) -> Option<SessionWorklog> {
        self.workspace_of(session).await?.worklog_in_use()
    }

    /// Begins a session in the worklog. Returns what others wrote before, if the session has not had it.
    async fn begin_in_worklog(self: &Arc<Self>, turn: &HookTurn) -> Option<String> {
        let worklog = self.worklog_of(&turn.session).await?;
        let (session, client, prompt) = (turn.session.session.clone(), turn.session.client, turn.prompt.clone());
        let begun = blocking(move || logged(worklog.begin(session.as_deref(), Some(client.name()), None, &prompt)));
        begun.await.flatten().map(|tail| handover_text(&tail))
    }

    /// Learns from the last turn of a session, and writes its records.
    pub(super) async fn end_session(self: &Arc<Self>, session: &HookSession) {
        if let Some(workspace) = self.workspace_of(session).await {
            blocking(move || logged(workspace.remember_gossip(&workspace.worklog_in_use()?))).await;
        }
        if self.sees_requests_of(session).await {
            return;
        }
        let Some(workspace) = self.workspace_of(session).await else {
            return;
        };
        let transcript = transcript_of(session);
        let body = Bytes::from(transcript.body(None));
        let (headers, format) = (headers_of(session), transcript.format());
        let prompt = Prompt::parse(format, &body).ok();
        let conversation = prompt.and_then(|prompt| ObservedConversation::of(&identify(&headers, &prompt)));
        if let Some(conversation) = conversation {
            self.observe_hook(&workspace.root, body.clone(), (conversation, format), Observing::EndedTranscript);
        }
    }

    fn observe_hook(
        &self,
        root: &Path,
        body: Bytes,
        (conversation, format): (ObservedConversation, WireFormat),
        observing: Observing,
    ) {
        let Some(workspace) = self.workspaces.opened(root) else {
            return;
        };
        // Files are recognised by the index. Without one, the turn would be learned as one without files.
        let status = workspace.engine.as_ref().map(|engine| engine.status());
        if !matches!(status, Some(IndexStatus::Ready { .. })) {
            return tracing::debug!("nothing is learned: there is no index");
        }
        self.learner.observe(ObservedRequest {
            body,
            format,
            conversation,
            answer: self.learner.new_answer(),
            workspace,
            caller: Caller::local(None),
            // A summary is a request to a model, and a hook names no backend for it.
            summarizer: None,
            observing,
            personal: self.personal.clone(),
            signals: self.signals_of(&Caller::local(None)),
        });
    }

    pub(super) fn hook_receipt(&self, session: &HookSession, format: WireFormat) -> Receipt {
        let id = ulid::Ulid::generate().to_string();
        let model = session.model.as_deref().unwrap_or_default();
        Receipt {
            format: FORMAT.to_owned(),
            session: session.session.as_deref().map(|id| redact(id).into_owned()),
            ..new_receipt(self, &Caller::local(None), format, &id, model)
        }
    }

    /// The open workspace of a session's directory.
    pub(super) async fn workspace_of(self: &Arc<Self>, session: &HookSession) -> Option<Arc<Workspace>> {
        let claimed = [session.directory.to_string_lossy().into_owned()];
        let caller = self.caller_at(&session.directory);
        let location = self.workspaces.locate(&claimed, caller.own_root(), &|_| true);
        super::enter::enter(self, &caller, location, &claimed, self.workspaces.open_timeout())
            .await
            .inspect_err(|error| tracing::debug!(%error, "a hook outside of all repositories"))
            .ok()
    }

    /// Whether the requests of a session go through a gateway: the client's address is that of a running one, or a receipt
    /// tells of such a request. The receipt also tells of a gateway behind another proxy, from the second turn on.
    pub(super) async fn sees_requests_of(&self, session: &HookSession) -> bool {
        let own = self.settings().port();
        let is_own = |url: &String| loopback_port(url) == Some(own) || is_gateway(&self.state_dir, url);
        if session.addresses.iter().any(is_own) {
            return true;
        }
        // Claude Code passes its address to hooks. Without one, its requests go to the vendor, as in a session that was
        // begun behind a gateway and is continued without it.
        if session.client == Client::ClaudeCode && session.addresses.is_empty() {
            return false;
        }
        let (Some(store), Some(id)) = (&self.store, &session.session) else {
            return false;
        };
        let receipts = receipts_of(&**store, id, (None, Instant::now())).await.unwrap_or_default();
        let formats = [WireFormat::Chat, WireFormat::Messages, WireFormat::Responses].map(Receipt::format_name);
        receipts.iter().any(|receipt| formats.contains(&&*receipt.format))
    }
}

/// The result of work that uses files; `None` if it panics.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok().flatten()
}

/// The conversation so far. Without a readable transcript, the prompt stands alone.
pub(super) fn transcript_of(session: &HookSession) -> Transcript {
    match &session.transcript {
        Some(path) => Transcript::read(session.client, path).unwrap_or_else(|error| {
            tracing::warn!("{}", muninn_base::with_causes(&error));
            Transcript::empty(session.client)
        }),
        None => Transcript::of_messages(session.client, &session.messages),
    }
}

/// The body of a transcript with a new prompt, unless the client has written the prompt already.
fn body_with(transcript: &Transcript, prompt: &str) -> Vec<u8> {
    let written = transcript.body(None);
    let newest = Prompt::parse(transcript.format(), &written).ok().and_then(|view| newest_human_turn(&view));
    match newest {
        Some(turn) if turn.question == prompt.trim() => written,
        _ => transcript.body(Some(prompt)),
    }
}

/// The headers that name session and directory. An id or a path that no header can hold is left out.
fn headers_of(session: &HookSession) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let directory = session.directory.as_os_str().as_encoded_bytes();
    let id = session.session.as_deref().unwrap_or_default().as_bytes();
    for (name, value) in [("x-muninn-session", id), ("x-muninn-repo", directory)] {
        if let Ok(value) = HeaderValue::from_bytes(value)
            && !value.is_empty()
        {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}
