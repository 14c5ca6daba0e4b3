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

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use muninn_memory::knowledge::metis::current_task;
use muninn_memory::learn::budget::DailyBudget;
use muninn_memory::learn::{Place, Turn, summary};
use muninn_memory::records::{Record, SpoolError};
use muninn_memory::store::Store;
use muninn_repo_tools::Abandoned;

use super::Repository;
use crate::config::MemoryWrite;
use crate::session::{Deeds, Identity, answer, deeds, human_turn, identify};
use crate::store::Store as Receipts;
use crate::wire::{Prompt, WireFormat};
use summarizer::{Ended, Summarizer, Whole};

pub(super) use summarizer::Summarizing;

/// How often is looked for conversations that are over, at least: when that is may be configured anew.
const TICK: Duration = Duration::from_secs(30);
/// So many requests wait to be learned from.
const QUEUE: usize = 256;
/// Conversations whose last request is kept; beyond, the one that was quiet for longest is learned from at once.
const MOST_CONVERSATIONS: usize = 64;
/// Larger requests are not kept, in bytes.
const LARGEST: usize = 8 << 20;
/// What finding a question's words in the index may take.
const LOOKUP: Duration = Duration::from_secs(2);

/// A request of a conversation, as it came in.
pub(super) struct Observed {
    pub(super) body: Bytes,
    pub(super) headers: HeaderMap,
    pub(super) format: WireFormat,
    pub(super) repository: Arc<Repository>,
    /// Who sums the conversation up.
    pub(super) summarizing: Option<Summarizing>,
}

/// Hands requests to the thread that learns.
pub(super) struct Learner {
    thread: Mutex<Option<(SyncSender<Observed>, JoinHandle<()>)>>,
    /// Said when the gateway stops.
    stopping: Abandoned,
}

impl Learner {
    /// Starts the thread. Without one, nothing is learned.
    pub(super) fn start(state_dir: &Path, receipts: Option<Arc<dyn Receipts>>) -> Learner {
        let (sender, requests) = sync_channel(QUEUE);
        let stopping = Abandoned::default();
        let conversations = Conversations {
            open: HashMap::new(),
            receipts,
            summarizer: Summarizer::new(DailyBudget::below(state_dir), stopping.clone()),
        };
        let thread = std::thread::Builder::new()
            .name("muninn-learn".into())
            .spawn(move || conversations.learn(&requests))
            .inspect_err(|error| tracing::warn!(%error, "nothing is learned from conversations"))
            .ok();
        Learner {
            thread: Mutex::new(thread.map(|thread| (sender, thread))),
            stopping,
        }
    }

    /// Has a request learned from, sooner or later. Never waits.
    pub(super) fn observe(&self, observed: Observed) {
        let off = observed.repository.settings().memory.write == MemoryWrite::Off;
        if off || observed.repository.memory.is_none() || observed.body.len() > LARGEST {
            return;
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((sender, _)) = &*thread
            && let Err(TrySendError::Full(_)) = sender.try_send(observed)
        {
            tracing::debug!("a request is not learned from: too many wait");
        }
    }

    /// Learns from what is left, and writes it where it belongs. No model is waited for.
    pub(super) fn close(&self) {
        self.stopping.say();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = thread {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("learning panicked");
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
}

struct Conversation {
    last: Observed,
    seen: Instant,
}

impl Conversation {
    /// How long until it is over, if nothing comes.
    fn left(&self) -> Duration {
        let idle = self.last.repository.settings().memory.idle;
        idle.saturating_sub(self.seen.elapsed())
    }
}

impl Conversations {
    fn learn(mut self, requests: &Receiver<Observed>) {
        loop {
            let next = self.open.values().map(Conversation::left).min();
            match requests.recv_timeout(next.unwrap_or(TICK).min(TICK)) {
                Ok(observed) => self.observe(observed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            for ended in self.end(|conversation| conversation.left().is_zero()) {
                self.summarizer.sum_up(ended);
            }
        }
        let _no_time_for_models = self.end(|_| true);
    }

    fn observe(&mut self, observed: Observed) {
        let Some(learned) = guarded(|| observed.learn_from(Part::Earlier, self.receipts.as_deref())).flatten() else {
            return;
        };
        let conversation = Conversation {
            last: observed,
            seen: Instant::now(),
        };
        self.open.insert(learned.name, conversation);
        if self.open.len() > MOST_CONVERSATIONS {
            let quietest = self.open.values().map(|conversation| conversation.seen).min();
            let _may_go_on = self.end(|conversation| Some(conversation.seen) == quietest);
        }
    }

    /// Learns from the last turn of conversations that are over, and makes segments of what was learned. Returns those
    /// that somebody sums up.
    fn end(&mut self, is_over: impl Fn(&Conversation) -> bool) -> Vec<Ended> {
        let over: Vec<_> = self.open.extract_if(|_, conversation| is_over(conversation)).collect();
        let receipts = self.receipts.as_deref();
        let end = |Conversation { last, .. }| {
            let learned = guarded(|| last.learn_from(Part::Last, receipts)).flatten();
            guarded(|| flush(&last.repository));
            let Learned { name, whole } = learned?;
            Some(Ended {
                name,
                whole: whole?,
                repository: last.repository,
                summarizing: last.summarizing?,
            })
        };
        over.into_iter().filter_map(|(_, over)| end(over)).collect()
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
    fn learn_from(&self, part: Part, receipts: Option<&dyn Receipts>) -> Option<Learned> {
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
                let turn = self.turn(&prompt, &identity, &turns, newest - 1);
                note_used(&turn);
                (self.keep_turn(&name, &turn, &mark(&turns[..newest])), None)
            }
            Part::Earlier => (Ok(()), None),
            Part::Last => {
                let whole = self.whole(&prompt, &identity, &turns);
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
        if let (Some(store), false) = (&self.repository.memory, turn.is_empty()) {
            let place = place(&self.repository, store, name)?;
            store.keep(name, Some(mark), &turn.records(&place))?;
        }
        Ok(())
    }

    /// Keeps what is left to learn of a conversation: its last turn, and what it touched.
    fn keep_whole(&self, name: &str, whole: &Whole) -> Result<(), SpoolError> {
        let (Some(store), Some(last), Some(mark)) = (&self.repository.memory, whole.turns.last(), whole.marks.last())
        else {
            return Ok(());
        };
        self.keep_turn(name, last, mark)?;
        let touched = summary(&whole.turns, &place(&self.repository, store, name)?);
        let touched: Vec<Record> = touched.into_iter().collect();
        store.keep(name, Some(&format!("summary {mark}")), &touched)?;
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
        let places = (self.repository.root.as_path(), identity.workplace.now.as_slice());
        let is_there = |path: &muninn_repo_tools::RelPath| self.may_be_named(path);
        // First, because the index catches up with the disk for it.
        let terms = self.terms(question);
        let Deeds {
            edited,
            cited,
            read,
            failures,
        } = deeds(prompt, done_for(prompt, turns, at), places, &is_there);
        Turn {
            question: question.clone(),
            terms,
            edited,
            cited,
            read,
            failures,
        }
    }

    /// Whether a path is a file of the worktree that git would take.
    fn may_be_named(&self, path: &muninn_repo_tools::RelPath) -> bool {
        let Some(engine) = &self.repository.engine else {
            return false;
        };
        engine.has_file(path)
    }

    /// The question's words that the repository contains.
    fn terms(&self, question: &str) -> Vec<String> {
        let engine = self.repository.engine.as_ref();
        engine
            .map(|engine| engine.known_terms(question, Instant::now() + LOOKUP))
            .unwrap_or_default()
    }
}

/// Where something is learned now, in a conversation of this name.
fn place<'a>(repository: &Repository, store: &'a Store, name: &str) -> Result<Place<'a>, SpoolError> {
    Ok(Place {
        worktree: store.worktree(),
        session: store.spool().session(name)?,
        task: current_task(store.worktree()),
        with_text: repository.settings().memory.with_text,
    })
}

/// Makes segments of what was learned.
fn flush(repository: &Repository) {
    let Some(store) = &repository.memory else { return };
    let Some(destination) = repository.settings().memory.write.destination() else {
        return;
    };
    match store.flush(destination) {
        Ok(flushed) if flushed.records > 0 => {
            tracing::info!(
                records = flushed.records,
                segments = flushed.segments.len(),
                "what was learned was written"
            );
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "what was learned waits"),
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
