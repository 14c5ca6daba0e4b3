//! Learning from the conversations, beside them.
//!
//! A request that carries a person's next turn holds everything that the agent did for the one before; so that is
//! learned from then. The last turn of a conversation is learned from once nothing has come for a while, or when the
//! gateway stops. All of it is done by one thread, from bodies as they came in: nothing that we add is in them, and no
//! request waits. Where the thread falls behind, requests are let go of rather than kept.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use muninn_memory::knowledge::metis::current_task;
use muninn_memory::learn::{Place, Turn, summary};
use muninn_memory::records::Record;
use muninn_memory::store::Store;

use super::Repository;
use crate::config::MemoryWrite;
use crate::session::{Deeds, Identity, deeds, human_turn, identify};
use crate::wire::{Prompt, WireFormat};

/// A conversation that nothing has come of for so long is over, until something does.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// How often is looked for such.
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
}

/// Hands requests to the thread that learns.
pub(super) struct Learner {
    thread: Mutex<Option<(SyncSender<Observed>, JoinHandle<()>)>>,
}

impl Learner {
    /// Starts the thread. Without one, nothing is learned.
    pub(super) fn start() -> Learner {
        let (sender, requests) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("muninn-learn".into())
            .spawn(move || Conversations::default().learn(&requests))
            .inspect_err(|error| tracing::warn!(%error, "nothing is learned from conversations"))
            .ok();
        Learner {
            thread: Mutex::new(thread.map(|thread| (sender, thread))),
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

    /// Learns from what is left, and writes it where it belongs.
    pub(super) fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = thread {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("learning panicked");
            }
        }
    }
}

/// The conversations that go on, by their client's name of each.
#[derive(Default)]
struct Conversations(HashMap<String, Conversation>);

struct Conversation {
    last: Observed,
    seen: Instant,
}

impl Conversations {
    fn learn(mut self, requests: &Receiver<Observed>) {
        let mut looked = Instant::now();
        loop {
            match requests.recv_timeout(TICK) {
                Ok(observed) => self.observe(observed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if looked.elapsed() >= TICK {
                looked = Instant::now();
                self.end(|conversation| conversation.seen.elapsed() >= IDLE);
            }
        }
        self.end(|_| true);
    }

    fn observe(&mut self, observed: Observed) {
        let Some(name) = guarded(|| observed.learn_from(Part::Earlier)).flatten() else {
            return;
        };
        let conversation = Conversation {
            last: observed,
            seen: Instant::now(),
        };
        self.0.insert(name, conversation);
        if self.0.len() > MOST_CONVERSATIONS {
            let quietest = self.0.values().map(|conversation| conversation.seen).min();
            self.end(|conversation| Some(conversation.seen) == quietest);
        }
    }

    /// Learns from the last turn of conversations that are over, and makes segments of what was learned.
    fn end(&mut self, is_over: impl Fn(&Conversation) -> bool) {
        let over: Vec<_> = self.0.extract_if(|_, conversation| is_over(conversation)).collect();
        for (_, conversation) in over {
            let _name = guarded(|| conversation.last.learn_from(Part::Last));
            guarded(|| conversation.last.flush());
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

impl Observed {
    /// Learns, and returns the client's name of the conversation; `None` where it is none that can be told apart.
    fn learn_from(&self, part: Part) -> Option<String> {
        let prompt = Prompt::parse(self.format, &self.body).ok()?;
        let identity = identify(&self.headers, &prompt);
        let name = identity
            .session
            .clone()
            .or_else(|| identity.derived().map(|id| id.to_string()))?;
        let turns = human_turns(&prompt);
        let newest = turns.len().checked_sub(1)?;
        let is_new = turns[newest].0 >= prompt.tail();
        let learned = match part {
            Part::Earlier if is_new && newest > 0 => Some(newest - 1),
            Part::Earlier => None,
            Part::Last => Some(newest),
        };
        if let Some(at) = learned {
            let kept = self.keep(&prompt, &identity, &name, (&turns, at), part);
            if let Err(error) = kept {
                tracing::warn!(%error, "what was learned could not be kept");
            }
        }
        Some(name)
    }

    fn keep(
        &self,
        prompt: &Prompt<'_>,
        identity: &Identity<'_>,
        name: &str,
        (turns, at): (&[(usize, String)], usize),
        part: Part,
    ) -> Result<(), muninn_memory::records::SpoolError> {
        let Some(store) = &self.repository.memory else {
            return Ok(());
        };
        let place = self.place(store, name)?;
        let turn = self.turn(prompt, identity, turns, at);
        if !turn.is_empty() {
            store.keep(name, Some(&mark(&turns[..=at])), &turn.records(&place))?;
        }
        if part == Part::Last {
            let all: Vec<Turn> = (0..turns.len())
                .map(|at| self.turn(prompt, identity, turns, at))
                .collect();
            let whole: Vec<Record> = summary(&all, &place).into_iter().collect();
            store.keep(name, Some(&format!("summary {}", mark(turns))), &whole)?;
        }
        Ok(())
    }

    fn place<'a>(&self, store: &'a Store, name: &str) -> Result<Place<'a>, muninn_memory::records::SpoolError> {
        Ok(Place {
            worktree: store.worktree(),
            session: store.spool().session(name)?,
            task: current_task(store.worktree()),
            with_text: self.repository.settings().memory.with_text,
        })
    }

    /// What the agent did for one turn of a person.
    fn turn(&self, prompt: &Prompt<'_>, identity: &Identity<'_>, turns: &[(usize, String)], at: usize) -> Turn {
        let (message, question) = &turns[at];
        let end = turns.get(at + 1).map_or(prompt.messages.len(), |(next, _)| *next);
        let places = (self.repository.root.as_path(), identity.workplace.now.as_slice());
        let is_there = |path: &muninn_repo_tools::RelPath| self.may_be_named(path);
        // First, because the index catches up with the disk for it.
        let terms = self.terms(question);
        let Deeds {
            edited,
            cited,
            read,
            failures,
        } = deeds(prompt, message + 1..end, places, &is_there);
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

    fn flush(&self) {
        let Some(store) = &self.repository.memory else { return };
        let Some(destination) = self.repository.settings().memory.write.destination() else {
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
