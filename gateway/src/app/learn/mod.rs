//! Learning from the conversations, beside them.
//!
//! A request that carries a person's next turn holds everything that the agent did for the one before; so that is
//! learned from then. The last turn of a conversation is learned from once nothing has come for a while, or when the
//! gateway stops. All of it is done by one thread, from bodies as they came in: nothing that we add is in them, and no
//! request waits. Where the thread falls behind, requests are let go of rather than kept. Where the user has a model for
//! it, a conversation that was left is also summed up, by another thread.

mod conversations;
mod observed;
mod summarizer;
mod used;
mod work;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use muninn_memory::learn::budget::DailyBudget;
use muninn_repo_tools::{CancelFlag, Supervisor, Task};

use super::Workspace;
use crate::config::MemoryWrite;
use crate::store::Store as Receipts;
use conversations::{Conversations, flush};
use observed::place;
use summarizer::Summarizer;

pub(crate) use observed::Observed;
pub(crate) use summarizer::Summarizing;

/// So many requests wait to be learned from.
const QUEUE: usize = 256;
/// Larger requests are not kept, in bytes.
const LARGEST: usize = 8 << 20;
/// Bytes of requests in the queue, and bytes of conversations whose last request is kept.
const MOST_BYTES: usize = 64 << 20;
/// What writing down may take beyond a stop's time.
const CLOSING: Duration = Duration::from_secs(1);

/// Hands requests to the thread that learns.
pub(crate) struct Learner {
    thread: Mutex<Option<(SyncSender<Observed>, Task)>>,
    /// Bytes of requests in the queue.
    queued: Arc<AtomicUsize>,
    /// Said when the gateway stops.
    stopping: CancelFlag,
    /// When a stop is to be over.
    stop_by: Arc<OnceLock<Instant>>,
}

impl Learner {
    /// Starts the thread. Without one, nothing is learned. What earlier processes left of the served worktree's sessions
    /// is attended to at once, that of others when a first request works there.
    pub(super) fn start(
        supervisor: &Supervisor,
        state_dir: &Path,
        receipts: Option<Arc<dyn Receipts>>,
        served: Arc<Workspace>,
    ) -> Learner {
        let (sender, requests) = sync_channel(QUEUE);
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
            .inspect_err(|error| tracing::warn!(%error, "nothing is learned from conversations"))
            .ok();
        Learner {
            thread: Mutex::new(thread.map(|thread| (sender, thread))),
            queued,
            stopping,
            stop_by,
        }
    }

    /// Has a request learned from, sooner or later. Never waits.
    pub(crate) fn observe(&self, observed: Observed) {
        let off = observed.workspace.settings().memory.write == MemoryWrite::Off;
        if off || observed.workspace.memory.is_none() || observed.body.len() > LARGEST {
            return;
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((sender, _)) = &*thread else { return };
        let bytes = observed.body.len();
        let fits = self.queued.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST_BYTES;
        let sent = if fits {
            sender.try_send(observed)
        } else {
            Err(TrySendError::Full(observed))
        };
        if let Err(error) = sent {
            self.queued.fetch_sub(bytes, Ordering::Relaxed);
            if matches!(error, TrySendError::Full(_)) {
                tracing::debug!("a request is not learned from: too many wait");
            }
        }
    }

    /// Learns from what is left, and writes it where it belongs, as far as there is time: the rest waits in the spool. No
    /// model is waited for.
    pub(crate) fn close(&self, stop_by: Instant) {
        let _first_one_counts = self.stop_by.set(stop_by);
        self.stopping.cancel();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, task)) = thread {
            drop(sender);
            if !task.wait_until(stop_by + CLOSING) {
                tracing::warn!("not all is learned from the last conversations: there was no time");
            }
        }
    }
}

/// A fault of ours in one conversation must not end the learning from others.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.inspect_err(|_| tracing::error!("learning from a conversation panicked"))
        .ok()
}
