//! The open conversations, and the upkeep of worktrees whose spool holds older sessions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use muninn_base::{CancelFlag, Until};
use muninn_ledger::Store as Receipts;

use super::conversation::EndedConversation;
use super::flush::flush;
use super::observe::{LearnedConversation, ObservedRequest, Observing, TurnsToLearn};
use super::summarizer::Summarizer;
use super::{MOST_BYTES, guarded};
use crate::Workspace;

/// The longest pause between two checks for ended conversations: a reload may change the idle time.
const TICK: Duration = Duration::from_secs(30);
/// The most conversations whose last request and answer are kept. Beyond this number, or beyond [`MOST_BYTES`], the one with the
/// oldest request is learned from at once.
const MOST_CONVERSATIONS: usize = 64;
/// The time for finding a question's terms in the index.
const LOOKUP: Duration = Duration::from_secs(2);
/// How long requests are gathered before they are learned from, and the most of one gathering.
const GATHER: Duration = Duration::from_millis(20);
const BATCH: usize = 1_024;
/// The longest slice of upkeep between two requests.
const SLICE: Duration = Duration::from_millis(50);

/// The open conversations.
pub(super) struct Conversations {
    /// By session id or derived id.
    open: HashMap<String, Conversation>,
    /// The receipts on which the used items are marked.
    receipts: Option<Arc<dyn Receipts>>,
    summarizer: Summarizer,
    upkeep: Upkeep,
    stop_by: Arc<OnceLock<Instant>>,
    queued: Arc<AtomicUsize>,
}

/// The worktrees whose spool may hold records of earlier processes.
struct Upkeep {
    /// Whether there is any upkeep in this process.
    is_kept: bool,
    seen: HashSet<PathBuf>,
    open: VecDeque<Arc<Workspace>>,
    stopping: CancelFlag,
}

struct Conversation {
    last: ObservedRequest,
    seen: Instant,
}

impl Conversation {
    /// The time until it ends, if no request arrives. The idle time begins at the end of the answer, so it has not begun
    /// while the answer is under way.
    fn time_left(&self) -> Duration {
        let idle = self.last.workspace.settings().memory.idle;
        if self.last.answer.is_under_way() {
            return idle;
        }
        let since = self.last.answer.ended_at().unwrap_or(self.seen);
        idle.saturating_sub(since.elapsed())
    }

    /// The bytes of the last request and its answer.
    fn bytes(&self) -> usize {
        self.last.body.len() + self.last.answer.length()
    }
}

impl Conversations {
    pub(super) fn new(
        receipts: Option<Arc<dyn Receipts>>,
        summarizer: Summarizer,
        served: Option<Arc<Workspace>>,
        stopping: CancelFlag,
        stop_by: Arc<OnceLock<Instant>>,
        queued: Arc<AtomicUsize>,
    ) -> Conversations {
        Conversations {
            open: HashMap::new(),
            receipts,
            summarizer,
            upkeep: Upkeep::of(served, stopping),
            stop_by,
            queued,
        }
    }

    /// Learns from requests until the sender is dropped.
    pub(super) fn learn(&mut self, requests: &Receiver<ObservedRequest>) {
        loop {
            let next = self.open.values().map(Conversation::time_left).min();
            let timeout = match (self.upkeep.is_done(), next) {
                (false, _) => Duration::ZERO,
                (true, Some(left)) => left.min(TICK),
                // An idle process does not wake.
                (true, None) => Duration::MAX,
            };
            match requests.recv_timeout(timeout) {
                Ok(first) => {
                    // The thread sleeps instead of waiting for each request: a wake-up per request would cost as much as
                    // the learning. A process that answers one call waits for it.
                    if self.upkeep.is_kept {
                        std::thread::sleep(GATHER);
                    }
                    let gathered_at = Instant::now();
                    for observed in std::iter::once(first).chain(requests.try_iter().take(BATCH)) {
                        self.queued.fetch_sub(observed.queued_bytes(), Ordering::Relaxed);
                        self.observe(observed, gathered_at);
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.upkeep.go_on(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            for ended in self.end(|conversation| conversation.time_left().is_zero()) {
                self.summarizer.summarize(ended);
            }
        }
        // A stop leaves no time for summaries.
        self.end(|_| true);
    }

    fn observe(&mut self, observed: ObservedRequest, as_of: Instant) {
        self.upkeep.see(&observed.workspace);
        self.load_balance(&observed.workspace);
        let receipts = (self.receipts.as_deref(), as_of);
        let learned = guarded(|| observed.learn_from(TurnsToLearn::Earlier, receipts, self.lookup())).flatten();
        let Some(learned) = learned else { return };
        let conversation = Conversation { last: observed, seen: Instant::now() };
        match conversation.last.observing {
            Observing::Request => {
                self.open.insert(learned.name, conversation);
            }
            // The transcript grows without the learner's knowledge. Its next hook brings the whole of it.
            Observing::Transcript => return,
            Observing::EndedTranscript => {
                self.conclude(vec![conversation]);
                return;
            }
        }
        while self.open.len() > MOST_CONVERSATIONS || self.bytes() > MOST_BYTES {
            let quietest = self.open.values().map(|conversation| conversation.seen).min();
            self.end(|conversation| Some(conversation.seen) == quietest);
        }
    }

    /// Reads the balance of a worktree's maps, unless it is known. A gateway without requests leaves the store closed.
    fn load_balance(&self, workspace: &Workspace) {
        let loaded = self.receipts.as_deref().map(|receipts| workspace.load_balance(receipts));
        if let Some(Err(error)) = loaded {
            tracing::debug!(%error, "the balance of maps is unknown");
        }
    }

    fn bytes(&self) -> usize {
        self.open.values().map(Conversation::bytes).sum()
    }

    /// Learns from the last turn of ended conversations and writes the records as segments, with one flush per worktree.
    /// Returns the conversations to summarise.
    fn end(&mut self, is_over: impl Fn(&Conversation) -> bool) -> Vec<EndedConversation> {
        let over = self.open.extract_if(|_, conversation| is_over(conversation));
        let over = over.map(|(_, conversation)| conversation).collect();
        self.conclude(over)
    }

    fn conclude(&self, over: Vec<Conversation>) -> Vec<EndedConversation> {
        let (mut flushes, mut to_sum_up): (Vec<(Arc<Workspace>, Vec<String>)>, _) = (Vec::new(), Vec::new());
        for Conversation { last, .. } in over {
            let receipts = (self.receipts.as_deref(), Instant::now());
            let learned = guarded(|| last.learn_from(TurnsToLearn::Last, receipts, self.lookup())).flatten();
            let Some(LearnedConversation { name, whole }) = learned else {
                continue;
            };
            match flushes.iter_mut().find(|(other, _)| Arc::ptr_eq(other, &last.workspace)) {
                Some((_, names)) => names.push(name.clone()),
                None => flushes.push((Arc::clone(&last.workspace), vec![name.clone()])),
            }
            if let (Some(whole), Some(summarizer)) = (whole, last.summarizer) {
                to_sum_up.push(EndedConversation { name, whole, workspace: last.workspace, summarizer });
            }
        }
        let until = self.stop_by.get().copied().map(Until::at);
        for (workspace, names) in flushes {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            guarded(|| flush(&workspace, &names, until.as_ref()));
        }
        to_sum_up
    }

    /// The deadline for finding a question's terms.
    fn lookup(&self) -> Instant {
        let patient = Instant::now() + LOOKUP;
        self.stop_by.get().map_or(patient, |stop_by| patient.min(*stop_by))
    }
}

impl Upkeep {
    fn of(served: Option<Arc<Workspace>>, stopping: CancelFlag) -> Upkeep {
        let mut upkeep = Upkeep { is_kept: served.is_some(), seen: HashSet::new(), open: VecDeque::new(), stopping };
        served.iter().for_each(|served| upkeep.see(served));
        upkeep
    }

    fn see(&mut self, workspace: &Arc<Workspace>) {
        if self.is_kept && self.seen.insert(workspace.root.clone()) {
            self.open.push_back(Arc::clone(workspace));
        }
    }

    fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Does one slice: moves the session folders of earlier versions, then flushes the spool.
    fn go_on(&mut self) {
        let Some(workspace) = self.open.front() else { return };
        let until = Until::within(SLICE).or(self.stopping.clone());
        let is_done = guarded(|| {
            let Some(store) = &workspace.memory else { return true };
            match store.spool().compact(&until) {
                Ok(true) => flush(workspace, &[], Some(&until)),
                Ok(false) => false,
                Err(error) => {
                    tracing::warn!(%error, "cannot move the sessions of an earlier version");
                    true
                }
            }
        });
        if is_done != Some(false) {
            self.open.pop_front();
        }
    }
}
