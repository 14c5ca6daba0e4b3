use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use muninn_backend::access::Door;
use muninn_base::{CancelFlag, Supervisor, Task};
use muninn_config::MemoryWrite;
use muninn_ledger::Store as Receipts;
use muninn_team::learn::budget::DailyBudget;
use parking_lot::Mutex;

use super::super::Workspace;
use super::answer::ObservedAnswer;
use super::conversations::Conversations;
use super::guard::MOST_BYTES;
use super::observe::ObservedRequest;
use super::summarizer::Summarizer;

/// The largest request body that is learned from, in bytes.
const LARGEST: usize = 8 << 20;

/// The time after a stop's deadline for writing records.
const CLOSING: Duration = Duration::from_secs(1);

/// The handle of the thread that learns.
pub struct Learner {
    thread: Mutex<Option<(Sender<ObservedRequest>, Task)>>,
    /// Bytes of requests in the queue, by [`ObservedRequest::queued_bytes`].
    queued: Arc<AtomicUsize>,
    /// Whether the last request did not fit into the queue.
    is_full: AtomicBool,
    /// Bytes of answers.
    answers: Arc<AtomicUsize>,
    /// Set when the gateway stops.
    stopping: CancelFlag,
    /// The deadline of the stop.
    stop_by: Arc<OnceLock<Instant>>,
}

impl Learner {
    /// Starts the thread. If it cannot start, nothing is learned. The thread first flushes what earlier processes left in
    /// the spool of the served worktree; other worktrees follow at their first request. Without `served`, it flushes only
    /// conversations that it sees end, as befits a process that answers one call.
    pub(crate) fn start(
        supervisor: &Supervisor,
        state_dir: &Path,
        receipts: Option<Arc<dyn Receipts>>,
        served: Option<Arc<Workspace>>,
    ) -> Learner {
        let (sender, requests) = channel();
        let (stopping, stop_by) = (CancelFlag::default(), Arc::new(OnceLock::new()));
        let queued = Arc::new(AtomicUsize::new(0));
        let summarizer = Summarizer::new(supervisor.clone(), DailyBudget::below(state_dir), stopping.clone());
        let mut conversations = Conversations::new(
            receipts,
            summarizer,
            served,
            stopping.clone(),
            Arc::clone(&stop_by),
            Arc::clone(&queued),
        );
        let thread = supervisor
            .keep("learn", move || conversations.learn(&requests))
            .inspect_err(
                |error| tracing::warn!(%error, "nothing is learned from conversations: the thread did not start"),
            )
            .ok();
        Learner {
            thread: Mutex::new(thread.map(|thread| (sender, thread))),
            queued,
            is_full: AtomicBool::default(),
            answers: Arc::default(),
            stopping,
            stop_by,
        }
    }

    /// The answer to a new request, for [`ObservedRequest`] and for the door that sends it.
    pub fn new_answer(&self) -> Arc<ObservedAnswer> {
        ObservedAnswer::new(&self.answers)
    }

    /// Queues a request to be learned from, if its caller may write. Never waits for the thread.
    pub fn observe(&self, observe: ObservedRequest) {
        let off = observe.workspace.settings().memory.write == MemoryWrite::Off;
        if off || observe.workspace.memory.is_none() || observe.body.len() > LARGEST {
            return;
        }
        // Last, because it may read the system's table of sockets.
        if observe.caller.may(Door::Learn).is_err() {
            return;
        }
        let thread = self.thread.lock();
        let Some((sender, _)) = &*thread else { return };
        let (bytes, answer) = (observe.queued_bytes(), Arc::clone(&observe.answer));
        let fits = self.queued.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST_BYTES;
        if fits && sender.send(observe).is_ok() {
            answer.want();
        } else {
            self.queued.fetch_sub(bytes, Ordering::Relaxed);
        }
        if self.is_full.swap(!fits, Ordering::Relaxed) == fits {
            if fits {
                tracing::info!("requests are learned from again");
            } else {
                tracing::warn!("requests are not learned from: the queue is full");
            }
        }
    }

    /// Learns from the open conversations and flushes the records until `stop_by`; the rest stays in the spool. Cancels
    /// summaries that are under way.
    pub(crate) fn close(&self, stop_by: Instant) {
        self.stop_by.set(stop_by).ok();
        self.stopping.cancel();
        let thread = self.thread.lock().take();
        if let Some((sender, task)) = thread {
            drop(sender);
            if !task.wait_until(stop_by + CLOSING) {
                tracing::warn!("the stop's deadline passed before all conversations were learned from");
            }
        }
    }
}
