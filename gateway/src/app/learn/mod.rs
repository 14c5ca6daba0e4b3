//! Learning from the conversations, beside them.
//!
//! A request that carries a person's next turn holds everything that the agent did for the one before; so that is
//! learned from then. The last turn of a conversation is learned from once nothing has come for a while, or when the
//! gateway stops. All of it is done by one thread, from bodies as they came in: nothing that we add is in them, and no
//! request waits. Where the thread falls behind, requests are let go of rather than kept. Where the user has a model for
//! it, a conversation that was left is also summed up, by another thread.

mod summarizer;
mod used;
mod work;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use muninn_memory::knowledge::metis::current_task;
use muninn_memory::learn::budget::DailyBudget;
use muninn_memory::learn::{Place, Turn, summary};
use muninn_memory::records::SpoolError;
use muninn_memory::store::Store;
use muninn_repo_tools::{Abandoned, Supervisor, Task, Until};

use super::Workspace;
use crate::config::MemoryWrite;
use crate::session::{Deeds, Identity, answer, deeds, human_turn, identify};
use crate::store::Store as Receipts;
use crate::wire::{Prompt, WireFormat};
use summarizer::{Ended, Summarizer, Whole};

pub(crate) use summarizer::Summarizing;

/// How often is looked for conversations that are over, at least: when that is may be configured anew.
const TICK: Duration = Duration::from_secs(30);
/// So many requests wait to be learned from.
const QUEUE: usize = 256;
/// Conversations whose last request is kept; beyond this, or beyond [`MOST_BYTES`], the one that was quiet for longest is learned from at once.
const MOST_CONVERSATIONS: usize = 64;
/// Larger requests are not kept, in bytes.
const LARGEST: usize = 8 << 20;
/// Bytes of requests in the queue, and bytes of conversations whose last request is kept.
const MOST_BYTES: usize = 64 << 20;
/// What finding a question's words in the index may take.
const LOOKUP: Duration = Duration::from_secs(2);
/// What writing down may take beyond a stop's time.
const CLOSING: Duration = Duration::from_secs(1);
/// Longest piece of upkeep between two requests.
const SLICE: Duration = Duration::from_millis(50);

/// A request of a conversation, as it came in.
pub(crate) struct Observed {
    pub(crate) body: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) format: WireFormat,
    pub(crate) workspace: Arc<Workspace>,
    /// Who sums the conversation up.
    pub(crate) summarizing: Option<Summarizing>,
}

/// Hands requests to the thread that learns.
pub(crate) struct Learner {
    thread: Mutex<Option<(SyncSender<Observed>, Task)>>,
    /// Bytes of requests in the queue.
    queued: Arc<AtomicUsize>,
    /// Said when the gateway stops.
    stopping: Abandoned,
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
        let (stopping, stop_by) = (Abandoned::default(), Arc::new(OnceLock::new()));
        let queued = Arc::new(AtomicUsize::new(0));
        let mut conversations = Conversations {
            open: HashMap::new(),
            receipts,
            summarizer: Summarizer::new(supervisor.clone(), DailyBudget::below(state_dir), stopping.clone()),
            upkeep: Upkeep::of(served, stopping.clone()),
            stop_by: Arc::clone(&stop_by),
            queued: Arc::clone(&queued),
        };
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
        self.stopping.say();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, task)) = thread {
            drop(sender);
            if !task.wait_until(stop_by + CLOSING) {
                tracing::warn!("not all is learned from the last conversations: there was no time");
            }
        }
    }
}

/// The conversations that go on.
struct Conversations {
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
    stopping: Abandoned,
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
    fn learn(&mut self, requests: &Receiver<Observed>) {
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
    fn of(served: Arc<Workspace>, stopping: Abandoned) -> Upkeep {
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

/// A fault of ours in one conversation must not end the learning from others.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    done.inspect_err(|_| tracing::error!("learning from a conversation panicked"))
        .ok()
}

/// Which turns of a conversation are learned from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The one before the newest, where the newest was not answered yet.
    Earlier,
    /// The newest, and the conversation as a whole.
    Last,
}

/// What a request tells of its conversation.
struct Learned {
    /// What its client calls it.
    name: String,
    /// All of it, where it is over.
    whole: Option<Whole>,
}

impl Observed {
    /// Learns; `None` where the conversation is none that can be told apart.
    fn learn_from(&self, part: Part, receipts: Option<&dyn Receipts>, lookup: Instant) -> Option<Learned> {
        let prompt = Prompt::parse(self.format, &self.body).ok()?;
        let identity = identify(&self.headers, &prompt);
        let name = identity
            .session
            .clone()
            .or_else(|| identity.derived().map(|id| id.to_string()))?;
        let turns = human_turns(&prompt);
        let newest = turns.len().checked_sub(1)?;
        let is_new = turns[newest].0 >= prompt.tail();
        let note_used = |turn: &Turn| {
            let noted = receipts.map_or(Ok(()), |receipts| used::note(receipts, &name, turn, part == Part::Last));
            if let Err(error) = noted {
                tracing::debug!(%error, "it is not noted which additions were used");
            }
        };
        let (kept, whole) = match part {
            Part::Earlier if is_new && newest > 0 => {
                let terms = self.terms(&turns[newest - 1].1, lookup);
                let mut turn = self.turn(&prompt, &identity, &turns, newest - 1);
                turn.terms = terms;
                note_used(&turn);
                (self.keep_turn(&name, &turn, &mark(&turns[..newest])), None)
            }
            Part::Earlier => (Ok(()), None),
            Part::Last => {
                let terms = self.terms(&turns[newest].1, lookup);
                let mut whole = self.whole(&prompt, &identity, &turns);
                if let Some(last) = whole.turns.last_mut() {
                    last.terms = terms;
                }
                whole.turns.last().into_iter().for_each(note_used);
                (self.keep_whole(&name, &whole), Some(whole))
            }
        };
        if let Err(error) = kept {
            tracing::warn!(%error, "what was learned could not be kept");
        }
        Some(Learned { name, whole })
    }

    fn keep_turn(&self, name: &str, turn: &Turn, mark: &str) -> Result<(), SpoolError> {
        if let (Some(store), false) = (&self.workspace.memory, turn.is_empty()) {
            let learn = |session: &str| turn.records(&place(&self.workspace, store, session));
            store.keep(name, Some(mark), learn)?;
        }
        Ok(())
    }

    /// Keeps what is left to learn of a conversation: its last turn, and what it touched.
    fn keep_whole(&self, name: &str, whole: &Whole) -> Result<(), SpoolError> {
        let (Some(store), Some(last), Some(mark)) = (&self.workspace.memory, whole.turns.last(), whole.marks.last())
        else {
            return Ok(());
        };
        self.keep_turn(name, last, mark)?;
        if whole.turns.iter().any(|turn| !turn.edited.is_empty()) {
            let learn = |session: &str| {
                let place = place(&self.workspace, store, session);
                summary(&whole.turns, &place).into_iter().collect()
            };
            store.keep(name, Some(&format!("summary {mark}")), learn)?;
        }
        Ok(())
    }

    fn whole(&self, prompt: &Prompt<'_>, identity: &Identity<'_>, turns: &[(usize, String)]) -> Whole {
        let all = 0..turns.len();
        Whole {
            turns: all.clone().map(|at| self.turn(prompt, identity, turns, at)).collect(),
            answers: all
                .clone()
                .map(|at| answer(prompt, done_for(prompt, turns, at)))
                .collect(),
            marks: all.map(|at| mark(&turns[..=at])).collect(),
        }
    }

    /// What the agent did for one turn of a person.
    fn turn(&self, prompt: &Prompt<'_>, identity: &Identity<'_>, turns: &[(usize, String)], at: usize) -> Turn {
        let (_, question) = &turns[at];
        let places = (self.workspace.root.as_path(), identity.workplace.now.as_slice());
        let is_there = |path: &muninn_repo_tools::RelPath| self.may_be_named(path);
        let Deeds {
            edited,
            cited,
            read,
            failures,
        } = deeds(prompt, done_for(prompt, turns, at), places, &is_there);
        Turn {
            question: question.clone(),
            terms: Vec::new(),
            edited,
            cited,
            read,
            failures,
        }
    }

    /// Whether a path is a file of the worktree that git would take.
    fn may_be_named(&self, path: &muninn_repo_tools::RelPath) -> bool {
        let Some(engine) = &self.workspace.engine else {
            return false;
        };
        engine.has_file(path)
    }

    /// The question's words that the repository contains. Asked before [`Self::turn`], because the index catches up with
    /// the disk for it.
    fn terms(&self, question: &str, until: Instant) -> Vec<String> {
        let engine = self.workspace.engine.as_ref();
        engine
            .map(|engine| engine.known_terms(question, until))
            .unwrap_or_default()
    }
}

/// Where something is learned now, in a session of this id.
fn place<'a>(workspace: &Workspace, store: &'a Store, session: &str) -> Place<'a> {
    Place {
        home: store.home(),
        clock: store.clock(),
        session: session.to_owned(),
        task: store.home().worktree().and_then(current_task),
        with_text: workspace.settings().memory.with_text,
    }
}

/// Makes segments of what was learned in conversations of these names. Returns whether it was done with them in time.
fn flush(workspace: &Workspace, names: &[&str], until: Option<&Until>) -> bool {
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

/// The messages between a person's turn and the next.
fn done_for(prompt: &Prompt<'_>, turns: &[(usize, String)], at: usize) -> Range<usize> {
    let end = turns.get(at + 1).map_or(prompt.messages.len(), |(next, _)| *next);
    turns[at].0 + 1..end
}

/// The turns that people took: the message of each, and what was asked.
fn human_turns(prompt: &Prompt<'_>) -> Vec<(usize, String)> {
    let messages = 0..prompt.messages.len();
    messages
        .filter_map(|index| Some((index, human_turn(prompt, index)?.question)))
        .collect()
}

/// Names the last of these turns, by all that was asked until then.
fn mark(turns: &[(usize, String)]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("muninn learned turn 1");
    for (_, question) in turns {
        hasher.update(&(question.len() as u64).to_le_bytes());
        hasher.update(question.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
