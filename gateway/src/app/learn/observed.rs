//! What one request of a conversation teaches.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use muninn_memory::knowledge::metis::current_task;
use muninn_memory::learn::{LearnContext, Turn, summary};
use muninn_memory::records::SpoolError;
use muninn_memory::store::Store;

use super::summarizer::{Summarizing, Whole};
use super::used;
use crate::app::Workspace;
use crate::session::{Deeds, Identity, answer, deeds, human_turn, identify};
use crate::store::Store as Receipts;
use crate::wire::{Prompt, WireFormat};

/// A request of a conversation, as it came in.
pub(crate) struct Observed {
    pub(crate) body: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) format: WireFormat,
    pub(crate) workspace: Arc<Workspace>,
    /// Who sums the conversation up.
    pub(crate) summarizing: Option<Summarizing>,
}

/// Which turns of a conversation are learned from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The one before the newest, where the newest was not answered yet.
    Earlier,
    /// The newest, and the conversation as a whole.
    Last,
}

/// What a request tells of its conversation.
pub(super) struct Learned {
    /// What its client calls it.
    pub(super) name: String,
    /// All of it, where it is over.
    pub(super) whole: Option<Whole>,
}

impl Observed {
    /// Learns; `None` where the conversation is none that can be told apart.
    pub(super) fn learn_from(&self, part: Part, receipts: Option<&dyn Receipts>, lookup: Instant) -> Option<Learned> {
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
pub(super) fn place<'a>(workspace: &Workspace, store: &'a Store, session: &str) -> LearnContext<'a> {
    LearnContext {
        home: store.home(),
        clock: store.clock(),
        session: session.to_owned(),
        task: store.home().worktree().and_then(current_task),
        with_text: workspace.settings().memory.with_text,
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
