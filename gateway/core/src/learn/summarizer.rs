//! The choice of a summarizer model, and the thread that summarises conversations with it.
//!
//! The thread takes one conversation after the other: a model may take minutes, and learning without a model must not wait
//! for it. The thread starts with the first conversation to summarise. When the gateway stops, a summary under way is
//! cancelled; the records that need no model are written by then.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};

use http::HeaderMap;
use muninn_backend::access::Caller;
use muninn_backend::{Candidate, RemoteModel};
use muninn_base::{CancelFlag, Supervisor, Task};
use muninn_config::SummarizerConfig;
use muninn_team::learn::Turn;
use muninn_team::learn::budget::DailyBudget;

use super::summarize::SummarizerWorker;
use crate::{App, Settings, Workspace};

/// The most conversations that wait to be summarised.
const QUEUE: usize = 16;
/// The longest prompt, in tokens. With it a day's default budget pays for ten long conversations, or several times as many
/// short ones, and a small model can still read the whole prompt.
const MOST_PROMPT_TOKENS: u32 = 4_000;

/// The summarizer of a request's conversation and its limits, as configured when the request arrived.
#[derive(Clone)]
pub struct SummarizerChoice {
    candidate: Candidate,
    pub(super) config: SummarizerConfig,
    /// Weak, because the application owns the queue that holds this value.
    pub(super) app: Weak<App>,
}

impl SummarizerChoice {
    /// `None` where no summarizer is configured, or the caller's key does not allow its backend.
    pub fn of(app: &Arc<App>, settings: &Settings, caller: &Caller) -> Option<SummarizerChoice> {
        let config = settings.config.summarizer.clone()?;
        let candidate = settings.router.chosen(&config.model)?;
        caller.may_use_backend(&candidate.backend.name).then(|| SummarizerChoice {
            candidate,
            config,
            app: Arc::downgrade(app),
        })
    }

    /// The model, with its backend's own key: no client's request asked for the summary.
    pub(super) fn model(&self) -> Option<RemoteModel> {
        let (app, name) = (self.app.upgrade()?, &self.config.model.model);
        Some(RemoteModel::new(app.blocking_client()?, self.candidate.clone(), name, &HeaderMap::new()))
    }

    /// The name of its backend.
    pub(super) fn backend(&self) -> &str {
        &self.candidate.backend.name
    }

    /// The longest prompt that leaves room for the answer.
    pub(super) fn most_prompt_tokens(&self) -> u32 {
        let window = self.candidate.backend.context_window.unwrap_or(u32::MAX);
        MOST_PROMPT_TOKENS.min(window.saturating_sub(self.config.max_answer_tokens))
    }
}

pub(super) struct ConversationTurns {
    pub(super) turns: Vec<Turn>,
    /// The agent's last answer in each turn.
    pub(super) answers: Vec<String>,
    pub(super) marks: Vec<String>,
}

pub(super) struct EndedConversation {
    /// Its session id or derived id.
    pub(super) name: String,
    pub(super) whole: ConversationTurns,
    pub(super) workspace: Arc<Workspace>,
    pub(super) summarizer: SummarizerChoice,
}

/// The handle of the summarizer thread. Dropping it ends the thread, at once if `stopping` is set.
pub(super) struct Summarizer {
    supervisor: Supervisor,
    budget: DailyBudget,
    stopping: CancelFlag,
    thread: Option<(SyncSender<EndedConversation>, Task)>,
}

impl Summarizer {
    pub(super) fn new(supervisor: Supervisor, budget: DailyBudget, stopping: CancelFlag) -> Summarizer {
        Summarizer { supervisor, budget, stopping, thread: None }
    }

    /// Queues a conversation to be summarised. Never blocks.
    pub(super) fn summarize(&mut self, ended: EndedConversation) {
        if self.thread.is_none() {
            self.thread = self.start();
        }
        if let Some((sender, _)) = &self.thread
            && sender.try_send(ended).is_err()
        {
            tracing::warn!("a conversation is not summarised: the queue is full");
        }
    }

    fn start(&self) -> Option<(SyncSender<EndedConversation>, Task)> {
        let (sender, conversations) = sync_channel(QUEUE);
        let mut work = SummarizerWorker::new(self.budget.clone(), self.stopping.clone());
        let task = self.supervisor.keep("sum-up", move || work.all(&conversations));
        let task = task
            .inspect_err(|error| tracing::warn!(%error, "conversations are not summarised: the thread did not start"));
        Some((sender, task.ok()?))
    }
}

impl Drop for Summarizer {
    fn drop(&mut self) {
        if let Some((sender, task)) = self.thread.take() {
            drop(sender);
            task.wait();
        }
    }
}
