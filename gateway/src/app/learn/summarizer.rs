//! Which conversations a model sums up, and the thread that has it do so.
//!
//! One after the other: a model may take minutes, and learning without one goes on meanwhile. The thread is started when
//! a conversation ends that is to be summed up, so that who has no model for it has no thread either. When the gateway
//! stops, whatever is under way is given up; what was learned without a model is written by then.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};

use http::HeaderMap;
use muninn_memory::learn::Turn;
use muninn_memory::learn::budget::DailyBudget;
use muninn_repo_tools::{CancelFlag, Supervisor, Task};

use super::work::Work;
use crate::access::Caller;
use crate::app::{App, Settings, Workspace};
use crate::backend::{Candidate, RemoteModel};
use crate::config::SummarizerConfig;

/// So many conversations wait to be summed up.
const QUEUE: usize = 16;
/// The longest prompt, in tokens: a day's default budget is then worth ten long conversations, or several times as many
/// short ones, and a small model still reads it to the end.
const MOST_PROMPT_TOKENS: u32 = 4_000;

/// Who sums up a request's conversation once it is over, and what it may cost: as it was configured when the request
/// came.
#[derive(Clone)]
pub(crate) struct Summarizing {
    candidate: Candidate,
    pub(super) config: SummarizerConfig,
    /// Not held: it holds what waits to be learned from.
    pub(super) app: Weak<App>,
}

impl Summarizing {
    /// Nobody, where no model is named or the caller's requests may not go to its backend.
    pub(crate) fn of(app: &Arc<App>, settings: &Settings, caller: &Caller) -> Option<Summarizing> {
        let config = settings.config.summarizer.clone()?;
        let candidate = settings.router.chosen(&config.model)?;
        caller.may_use_backend(&candidate.backend.name).then(|| Summarizing {
            candidate,
            config,
            app: Arc::downgrade(app),
        })
    }

    /// The model. It has its backend's own key: nobody's request asks for it.
    pub(super) fn model(&self) -> Option<RemoteModel> {
        let (app, name) = (self.app.upgrade()?, &self.config.model.model);
        Some(RemoteModel::new(
            app.courier()?,
            self.candidate.clone(),
            name,
            &HeaderMap::new(),
        ))
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

/// All of a conversation.
pub(super) struct Whole {
    pub(super) turns: Vec<Turn>,
    /// What the agent said in the end of each.
    pub(super) answers: Vec<String>,
    /// What names each, with all before it.
    pub(super) marks: Vec<String>,
}

/// A conversation that is over.
pub(super) struct Ended {
    /// What its client calls it.
    pub(super) name: String,
    pub(super) whole: Whole,
    pub(super) workspace: Arc<Workspace>,
    pub(super) summarizing: Summarizing,
}

/// Hands conversations to the thread that sums up. Dropping it ends the thread, which gives up at once where that is
/// said.
pub(super) struct Summarizer {
    supervisor: Supervisor,
    budget: DailyBudget,
    stopping: CancelFlag,
    thread: Option<(SyncSender<Ended>, Task)>,
}

impl Summarizer {
    pub(super) fn new(supervisor: Supervisor, budget: DailyBudget, stopping: CancelFlag) -> Summarizer {
        Summarizer {
            supervisor,
            budget,
            stopping,
            thread: None,
        }
    }

    /// Has a conversation summed up, sooner or later. Never waits.
    pub(super) fn sum_up(&mut self, ended: Ended) {
        if self.thread.is_none() {
            self.thread = self.start();
        }
        if let Some((sender, _)) = &self.thread
            && sender.try_send(ended).is_err()
        {
            tracing::warn!("a conversation is not summed up: too many wait");
        }
    }

    fn start(&self) -> Option<(SyncSender<Ended>, Task)> {
        let (sender, conversations) = sync_channel(QUEUE);
        let mut work = Work::new(self.budget.clone(), self.stopping.clone());
        let task = self.supervisor.keep("sum-up", move || work.all(&conversations));
        let task = task.inspect_err(|error| tracing::warn!(%error, "no conversation is summed up"));
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
