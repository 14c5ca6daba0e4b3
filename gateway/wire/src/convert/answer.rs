//! The neutral form of an answer: events in the order of a stream. A whole answer is the same events at once, so both
//! take the same path through a conversion.

use std::borrow::Cow;

use serde::Serialize;

use crate::surrogates::well_formed;

pub use crate::error::{ErrorKind as FailureKind, Failure};

/// An event of an answer.
///
/// Readers follow this grammar: one `Start`; then for each block one `Open`, any number of `Delta` and `Seal`, one
/// `Close`; `Usage` at any point after `Start`; one `Stop`; then `End`. `Failed` may replace the rest of the events at
/// any point. Blocks are numbered from 0 in the order of their `Open`, and may overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The answer begins.
    Start {
        /// The backend's name of the model.
        model: Option<String>,
    },
    /// A block begins.
    Open {
        /// The block's number.
        block: usize,
        /// The block's kind.
        kind: BlockKind,
    },
    /// More text of a block: text, thinking, or the JSON text of a call's arguments.
    Delta {
        /// The block's number.
        block: usize,
        /// The new text.
        text: String,
    },
    /// The seal of a thinking block.
    Seal {
        /// The block's number.
        block: usize,
        /// `signature`, `encrypted_content` or `data`, after the tag of its format.
        seal: String,
    },
    /// A block is complete.
    Close {
        /// The block's number.
        block: usize,
    },
    /// The usage so far. Later values replace earlier ones.
    Usage(Usage),
    /// The reason why the model stopped.
    Stop(Stop),
    /// The answer is complete.
    End,
    /// The backend or the connection to it failed.
    Failed(Failure),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    /// The text of a refusal, from formats that mark refusals.
    Refusal,
    /// Thinking with text.
    Thinking,
    /// Thinking that is only a seal (`redacted_thinking`, a reasoning item without text).
    SealedThinking,
    ToolCall {
        /// The call's id, repeated in its result.
        id: String,
        /// The tool's name.
        name: String,
    },
}

/// The reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The answer is finished.
    Done,
    /// The token limit was reached.
    Length,
    /// A stop sequence was reached. The backend may name it.
    Sequence(Option<String>),
    /// The model waits for results of tools.
    ToolCalls,
    /// A content filter or a refusal ended the answer.
    Filtered,
    /// The vendor paused a long turn, and the client must continue it (`pause_turn`).
    Paused,
}

/// Counts of tokens. `None` is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens of the prompt, including those read from and written to a cache.
    pub input: Option<u64>,
    /// Tokens of the prompt that were read from a cache.
    pub cached: Option<u64>,
    /// Tokens of the prompt that were written to a cache.
    pub cache_write: Option<u64>,
    /// Those of them that the cache keeps for an hour.
    pub cache_write_1h: Option<u64>,
    /// Tokens of the answer, including thinking.
    pub output: Option<u64>,
    /// Tokens of thinking.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Replaces each count that `later` has.
    pub fn update(&mut self, later: Usage) {
        self.input = later.input.or(self.input);
        self.cached = later.cached.or(self.cached);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.cache_write_1h = later.cache_write_1h.or(self.cache_write_1h);
        self.output = later.output.or(self.output);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

/// A whole answer, collected from its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The backend's name of the model.
    pub model: Option<String>,
    /// The blocks in order.
    pub blocks: Vec<Block>,
    /// The token counts.
    pub usage: Usage,
    /// The reason why the model stopped. `None` if the backend gave no reason.
    pub stop: Option<Stop>,
}

/// One block of a whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The block's kind.
    pub kind: BlockKind,
    /// Text, thinking, or a call's arguments as JSON text.
    pub text: String,
    /// The seal of thinking.
    pub seal: Option<String>,
}

impl Answer {
    /// Collects events into an answer.
    ///
    /// # Errors
    /// The [`Failure`] of an [`Event::Failed`].
    pub fn collect(events: impl IntoIterator<Item = Event>) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        for event in events {
            answer.take(event)?;
        }
        answer.repair_arguments();
        Ok(answer)
    }

    /// Replaces halves of surrogate pairs in the arguments of calls, because clients parse this JSON text.
    fn repair_arguments(&mut self) {
        for block in &mut self.blocks {
            if let (BlockKind::ToolCall { .. }, Cow::Owned(repaired)) = (&block.kind, well_formed(&block.text)) {
                block.text = repaired;
            }
        }
    }

    /// Adds one event.
    ///
    /// # Errors
    /// The [`Failure`] of an [`Event::Failed`].
    pub fn take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Start { model } => self.model = model,
            Event::Open { kind, .. } => self.blocks.push(Block { kind, text: String::new(), seal: None }),
            Event::Delta { block, text } => {
                if let Some(block) = self.blocks.get_mut(block) {
                    block.text.push_str(&text);
                }
            }
            Event::Seal { block, seal } => {
                if let Some(block) = self.blocks.get_mut(block) {
                    block.seal = Some(seal);
                }
            }
            Event::Usage(usage) => self.usage.update(usage),
            Event::Stop(stop) => self.stop = Some(stop),
            Event::Close { .. } | Event::End => {}
            Event::Failed(failure) => return Err(failure),
        }
        Ok(())
    }
}
