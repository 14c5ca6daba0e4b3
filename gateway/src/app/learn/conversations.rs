//! The conversations that go on, and the worktrees that sessions left something in.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use muninn_repo_tools::{CancelFlag, Until};

use super::observed::{Learned, Observed, Part};
use super::summarizer::{Ended, Summarizer};
use super::{MOST_BYTES, guarded};
use crate::app::Workspace;
use crate::store::Store as Receipts;

/// How often is looked for conversations that are over, at least: when that is may be configured anew.
const TICK: Duration = Duration::from_secs(30);
/// Conversations whose last request is kept; beyond this, or beyond [`MOST_BYTES`], the one that was quiet for longest is
/// learned from at once.
const MOST_CONVERSATIONS: usize = 64;
/// What finding a question's words in the index may take.
const LOOKUP: Duration = Duration::from_secs(2);
/// Longest piece of upkeep between two requests.
const SLICE: Duration = Duration::from_millis(50);

/// The conversations that go on.
pub(super) struct Conversations {
    /// By their client's name of each.
    open: HashMap<String, Conversation>,
    /// Where it is noted what of the additions was used.
    receipts: Option<Arc<dyn Receipts>>,
    summarizer: Summarizer,
    upkeep: Upkeep,
    stop_by: Arc<OnceLock<Instant>>,
    queued: Arc<AtomicUsize>,
}

/// The worktrees in which earlier processes may have left something.
struct Upkeep {
    seen: HashSet<PathBuf>,
    open: VecDeque<Arc<Workspace>>,
    stopping: CancelFlag,
}

struct Conversation {
    last: Observed,
    seen: Instant,
}

impl Conversation {
    /// How long until it is over, if nothing comes.
    fn left(&self) -> Duration {
        let idle = self.last.workspace.settings().memory.idle;
        idle.saturating_sub(self.seen.elapsed())
    }
}

impl Conversations {
    pub(super) fn new(
        receipts: Option<Arc<dyn Receipts>>,
        summarizer: Summarizer,
        served: Arc<Workspace>,
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

    /// Learns from requests until nobody can send one any more.
    pub(super) fn learn(&mut self, requests: &Receiver<Observed>) {
        loop {
            let next = self.open.values().map(Conversation::left).min();
            let patience = match self.upkeep.is_done() {
                true => next.unwrap_or(TICK).min(TICK),
                false => Duration::ZERO,
            };
            match requests.recv_timeout(patience) {
                Ok(observed) => {
                    self.queued.fetch_sub(observed.body.len(), Ordering::Relaxed);
                    self.observe(observed);
                }
                Err(RecvTimeoutError::Timeout) => self.upkeep.go_on(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            for ended in self.end(|conversation| conversation.left().is_zero()) {
                self.summarizer.sum_up(ended);
            }
        }
        let _no_time_for_models = self.end(|_| true);
    }

    fn observe(&mut self, observed: Observed) {
        self.upkeep.see(&observed.workspace);
        let learned = guarded(|| observed.learn_from(Part::Earlier, self.receipts.as_deref(), self.lookup())).flatten();
        let Some(learned) = learned else { return };
        let conversation = Conversation {
            last: observed,
            seen: Instant::now(),
        };
        self.open.insert(learned.name, conversation);
        while self.open.len() > MOST_CONVERSATIONS || self.bytes() > MOST_BYTES {
            let quietest = self.open.values().map(|conversation| conversation.seen).min();
            let _may_go_on = self.end(|conversation| Some(conversation.seen) == quietest);
        }
    }

    /// Bytes of the requests that are kept.
    fn bytes(&self) -> usize {
        self.open
            .values()
            .map(|conversation| conversation.last.body.len())
            .sum()
    }

    /// Learns from the last turn of conversations that are over, and makes segments of what was learned: one flush for
    /// each worktree. Returns those that somebody sums up.
    fn end(&mut self, is_over: impl Fn(&Conversation) -> bool) -> Vec<Ended> {
        let over: Vec<_> = self.open.extract_if(|_, conversation| is_over(conversation)).collect();
        let (mut flushes, mut to_sum_up): (Vec<(Arc<Workspace>, Vec<String>)>, _) = (Vec::new(), Vec::new());
        for (_, Conversation { last, .. }) in over {
            let receipts = self.receipts.as_deref();
            let learned = guarded(|| last.learn_from(Part::Last, receipts, self.lookup())).flatten();
            let Some(Learned { name, whole }) = learned else {
                continue;
            };
            match flushes
                .iter_mut()
                .find(|(other, _)| Arc::ptr_eq(other, &last.workspace))
            {
                Some((_, names)) => names.push(name.clone()),
                None => flushes.push((Arc::clone(&last.workspace), vec![name.clone()])),
            }
            if let (Some(whole), Some(summarizing)) = (whole, last.summarizing) {
                to_sum_up.push(Ended {
                    name,
                    whole,
                    workspace: last.workspace,
                    summarizing,
                });
            }
        }
        let until = self.stop_by.get().copied().map(Until::at);
        for (workspace, names) in flushes {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            guarded(|| flush(&workspace, &names, until.as_ref()));
        }
        to_sum_up
    }

    /// Until when a question's words are looked for.
    fn lookup(&self) -> Instant {
        let patient = Instant::now() + LOOKUP;
        self.stop_by.get().map_or(patient, |stop_by| patient.min(*stop_by))
    }
}

impl Upkeep {
    fn of(served: Arc<Workspace>, stopping: CancelFlag) -> Upkeep {
        Upkeep {
            seen: HashSet::from([served.root.clone()]),
            open: VecDeque::from([served]),
            stopping,
        }
    }

    fn see(&mut self, workspace: &Arc<Workspace>) {
        if self.seen.insert(workspace.root.clone()) {
            self.open.push_back(Arc::clone(workspace));
        }
    }

    fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// Does a piece of it: moves sessions' folders of earlier versions, then makes segments of what was left.
    fn go_on(&mut self) {
        let Some(workspace) = self.open.front() else { return };
        let until = Until::within(SLICE).or(self.stopping.clone());
        let is_done = guarded(|| {
            let Some(store) = &workspace.memory else { return true };
            match store.spool().compact(&until) {
                Ok(true) => flush(workspace, &[], Some(&until)),
                Ok(false) => false,
                Err(error) => {
                    tracing::warn!(%error, "what earlier versions kept of sessions stays as it is");
                    true
                }
            }
        });
        if is_done != Some(false) {
            self.open.pop_front();
        }
    }
}

/// Makes segments of what was learned in conversations of these names. Returns whether it was done with them in time.
pub(super) fn flush(workspace: &Workspace, names: &[&str], until: Option<&Until>) -> bool {
    let Some(store) = &workspace.memory else { return true };
    let Some(destination) = workspace.settings().memory.write.destination() else {
        return true;
    };
    match store.flush_ended(destination, names, until) {
        Ok(flushed) => {
            if flushed.records > 0 {
                tracing::info!(
                    records = flushed.records,
                    segments = flushed.segments.len(),
                    "what was learned was written"
                );
            }
            !flushed.is_cut
        }
        Err(error) => {
            tracing::warn!(%error, "what was learned waits");
            true
        }
    }
}
