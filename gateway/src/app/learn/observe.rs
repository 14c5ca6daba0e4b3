//! Extracting records from one request of a conversation.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use muninn_memory::knowledge::metis::current_task;
use muninn_memory::learn::{LearnContext, Turn, summary};
use muninn_memory::records::SpoolError;
use muninn_memory::store::Store;

use super::summarizer::{ConversationTurns, SummarizerChoice};
use super::usage;
use crate::app::Workspace;
use crate::session::{Identity, ToolEffects, answer, human_turn, identify, tool_effects};
use crate::store::Store as Receipts;
use crate::wire::{Prompt, WireFormat};

/// A request of a conversation, as it came in.
pub(crate) struct ObservedRequest {
    pub(crate) body: Bytes,
    pub(crate) headers: HeaderMap,
    pub(crate) format: WireFormat,
    pub(crate) workspace: Arc<Workspace>,
    /// The summarizer of the conversation.
    pub(crate) summarizer: Option<SummarizerChoice>,
}

/// The turns of a conversation to learn from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnsToLearn {
    /// The turn before the newest, if the newest has no answer yet.
    Earlier,
    /// The newest turn, and the conversation as a whole.
    Last,
}

/// The conversation of a request that was learned from.
pub(super) struct LearnedConversation {
    /// Its session id or derived id.
    pub(super) name: String,
    /// All its turns, if it has ended.
    pub(super) whole: Option<ConversationTurns>,
}

impl ObservedRequest {
    /// Learns from the request; `None` where the conversation has neither a session id nor a derived id.
    pub(super) fn learn_from(
        &self,
        part: TurnsToLearn,
        receipts: Option<&dyn Receipts>,
        lookup: Instant,
    ) -> Option<LearnedConversation> {
        let prompt = Prompt::parse(self.format, &self.body).ok()?;
        let identity = identify(&self.headers, &prompt);
        let name = identity
            .session
            .clone()
            .or_else(|| identity.derived().map(|id| id.to_string()))?;
        let turns = human_turns(&prompt);
        let newest = turns.len().checked_sub(1)?;
        let is_new = turns[newest].0 >= prompt.tail();
        let effects = |at: usize| self.effects(&prompt, &identity, done_for(&prompt, &turns, at));
        let note_usage = |at: usize, effects: &ToolEffects| {
            let Some(receipts) = receipts else { return };
            match usage::note(receipts, (&name, &turns[at].1), effects, part == TurnsToLearn::Last) {
                Ok(noted) => noted.iter().for_each(|receipt| self.workspace.note_effect(receipt)),
                Err(error) => tracing::debug!(%error, "the receipt's used items are not marked"),
            }
        };
        let (kept, whole) = match part {
            TurnsToLearn::Earlier if is_new && newest > 0 => {
                let terms = self.terms(&turns[newest - 1].1, lookup);
                let effects = effects(newest - 1);
                note_usage(newest - 1, &effects);
                let mut turn = turn(&turns[newest - 1].1, effects);
                turn.terms = terms;
                (self.keep_turn(&name, &turn, &mark(&turns[..newest])), None)
            }
            TurnsToLearn::Earlier => (Ok(()), None),
            TurnsToLearn::Last => {
                let terms = self.terms(&turns[newest].1, lookup);
                let effects: Vec<ToolEffects> = (0..=newest).map(effects).collect();
                note_usage(newest, &effects[newest]);
                let mut whole = whole(&prompt, &turns, effects);
                if let Some(last) = whole.turns.last_mut() {
                    last.terms = terms;
                }
                (self.keep_whole(&name, &whole), Some(whole))
            }
        };
        if let Err(error) = kept {
            tracing::warn!(%error, "cannot write records to the spool");
        }
        Some(LearnedConversation { name, whole })
    }

    fn keep_turn(&self, name: &str, turn: &Turn, mark: &str) -> Result<(), SpoolError> {
        if let (Some(store), false) = (&self.workspace.memory, turn.is_empty()) {
            let learn = |session: &str| turn.records(&place(&self.workspace, store, session));
            store.keep(name, Some(mark), learn)?;
        }
        Ok(())
    }

    /// Keeps the records of an ended conversation: those of its last turn, and the session summary.
    fn keep_whole(&self, name: &str, whole: &ConversationTurns) -> Result<(), SpoolError> {
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

    /// The effects of the agent's tools in the messages of one human turn.
    fn effects(&self, prompt: &Prompt<'_>, identity: &Identity<'_>, messages: Range<usize>) -> ToolEffects {
        let places = (
            self.workspace.root.as_path(),
            identity.claimed_directories.now.as_slice(),
        );
        let is_there = |path: &muninn_repo_tools::RelPath| self.may_be_named(path);
        tool_effects(prompt, messages, places, &is_there)
    }

    /// Whether a path is a file of the worktree that git does not ignore.
    fn may_be_named(&self, path: &muninn_repo_tools::RelPath) -> bool {
        let Some(engine) = &self.workspace.engine else {
            return false;
        };
        engine.has_file(path)
    }

    /// The question's terms that the repository contains. Must run before [`Self::effects`]: it brings the index up to date.
    fn terms(&self, question: &str, until: Instant) -> Vec<String> {
        let engine = self.workspace.engine.as_ref();
        engine
            .map(|engine| engine.known_terms(question, until))
            .unwrap_or_default()
    }
}

/// Makes the record of a conversation from the effects of each human turn.
fn whole(prompt: &Prompt<'_>, turns: &[(usize, String)], effects: Vec<ToolEffects>) -> ConversationTurns {
    let all = 0..turns.len();
    ConversationTurns {
        turns: turns
            .iter()
            .zip(effects)
            .map(|((_, question), effects)| turn(question, effects))
            .collect(),
        answers: all
            .clone()
            .map(|at| answer(prompt, done_for(prompt, turns, at)))
            .collect(),
        marks: all.map(|at| mark(&turns[..=at])).collect(),
    }
}

/// Makes the record of one human turn from the effects of the agent's tools.
fn turn(question: &str, effects: ToolEffects) -> Turn {
    let ToolEffects {
        edited,
        cited,
        read,
        failures,
        ..
    } = effects;
    Turn {
        question: question.to_owned(),
        terms: Vec::new(),
        edited,
        cited,
        read,
        failures,
    }
}

/// The origin of records that are learned now in a session.
pub(super) fn place<'a>(workspace: &Workspace, store: &'a Store, session: &str) -> LearnContext<'a> {
    LearnContext {
        home: store.home(),
        clock: store.clock(),
        session: session.to_owned(),
        task: store.home().worktree().and_then(current_task),
        with_text: workspace.settings().memory.with_text,
    }
}

/// The messages between a human turn and the next one.
fn done_for(prompt: &Prompt<'_>, turns: &[(usize, String)], at: usize) -> Range<usize> {
    let end = turns.get(at + 1).map_or(prompt.messages.len(), |(next, _)| *next);
    turns[at].0 + 1..end
}

/// The human turns: the message index and the question of each.
fn human_turns(prompt: &Prompt<'_>) -> Vec<(usize, String)> {
    let messages = 0..prompt.messages.len();
    messages
        .filter_map(|index| Some((index, human_turn(prompt, index)?.question)))
        .collect()
}

/// The mark of the last of these turns: a hash of all questions so far.
fn mark(turns: &[(usize, String)]) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("muninn learned turn 1");
    for (_, question) in turns {
        hasher.update(&(question.len() as u64).to_le_bytes());
        hasher.update(question.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
