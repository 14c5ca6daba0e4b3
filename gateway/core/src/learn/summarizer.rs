//! The choice of a summarizer model, and the thread that summarises conversations with it.
//!
//! The thread takes one conversation after the other: a model may take minutes, and learning without a model must not wait
//! for it. The thread starts with the first conversation to summarise. When the gateway stops, a summary under way is
//! cancelled; the records that need no model are written by then.

use std::sync::mpsc::{SyncSender, sync_channel};

use muninn_base::{CancelFlag, Supervisor, Task};
use muninn_team::learn::budget::DailyBudget;

use super::conversation::EndedConversation;
use super::summarize::SummarizerWorker;

/// The most conversations that wait to be summarised.
const QUEUE: usize = 16;

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
