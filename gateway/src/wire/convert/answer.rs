//! An answer in no format, as events in the order in which a stream brings them. A whole answer is the same events at
//! once, so there is one way through for both.

use std::borrow::Cow;

use serde::Serialize;

use crate::wire::surrogates::well_formed;

pub use crate::wire::error::{ErrorKind as FailureKind, Failure};

/// One thing that happens in an answer.
///
/// A reader keeps to this grammar: one `Start`; then for each block one `Open`, any number of `Delta`, one `Close`;
/// `Usage` whenever something is known; one `Stop`; last `End`, or `Failed` at any point instead of all that would
/// follow. Blocks are numbered from 0 in the order in which they open, and may overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The answer begins.
    Start {
        /// The model, as the backend names it.
        model: Option<String>,
    },
    /// A block begins.
    Open {
        /// Its number.
        block: usize,
        /// What it is.
        kind: BlockKind,
    },
    /// More of a block: words, thinking, or the JSON text of a call's arguments.
    Delta {
        /// The block.
        block: usize,
        /// What comes.
        text: String,
    },
    /// The seal of a thinking block.
    Seal {
        /// The block.
        block: usize,
        /// `signature` or `encrypted_content`.
        seal: String,
    },
    /// A block is complete.
    Close {
        /// The block.
        block: usize,
    },
    /// What the answer costs, as far as it is known; later ones overwrite what earlier ones said.
    Usage(Usage),
    /// Why the model stopped.
    Stop(Stop),
    /// The backend said that this was all.
    End,
    /// The backend, or the way to it, failed.
    Failed(Failure),
}

/// What a block of an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    /// Words.
    Text,
    /// Words of a refusal, where the format tells them apart.
    Refusal,
    /// Thinking in the open.
    Thinking,
    /// Thinking that is sealed whole (`redacted_thinking`, a reasoning item without text).
    SealedThinking,
    /// A call.
    ToolCall {
        /// Its id, which the result will name.
        id: String,
        /// The tool.
        name: String,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It was done.
    Done,
    /// The token limit.
    Length,
    /// A stop sequence; which, where the backend says.
    Sequence(Option<String>),
    /// It waits for results of tools.
    ToolCalls,
    /// It was kept from going on.
    Filtered,
    /// A long turn that the client is to continue (`pause_turn`).
    Paused,
}

/// Tokens, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Of the prompt, those read from and written to a cache included.
    pub input: Option<u64>,
    /// Of these, read from a cache.
    pub cached: Option<u64>,
    /// Of these, written to a cache.
    pub cache_write: Option<u64>,
    /// Of the answer, thinking included.
    pub output: Option<u64>,
    /// Of these, thinking.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Takes over what `later` knows.
    pub fn update(&mut self, later: Usage) {
        self.input = later.input.or(self.input);
        self.cached = later.cached.or(self.cached);
        self.cache_write = later.cache_write.or(self.cache_write);
        self.output = later.output.or(self.output);
        self.reasoning = later.reasoning.or(self.reasoning);
    }
}

/// A whole answer, collected from its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The model, as the backend names it.
    pub model: Option<String>,
    /// The blocks in their order.
    pub blocks: Vec<Block>,
    /// What it costs.
    pub usage: Usage,
    /// Why it ended; `None` where the backend did not say.
    pub stop: Option<Stop>,
}

/// One block of a whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Words, thinking, or a call's arguments as JSON text.
    pub text: String,
    /// The seal of thinking.
    pub seal: Option<String>,
}

impl Answer {
    /// Puts events together.
    ///
    /// # Errors
    /// The [`Failure`] that the events tell of.
    pub fn collect(events: impl IntoIterator<Item = Event>) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        for event in events {
            answer.take(event)?;
        }
        answer.mend_arguments();
        Ok(answer)
    }

    /// Replaces halves of surrogate pairs inside the arguments of calls, which is JSON that clients parse.
    fn mend_arguments(&mut self) {
        for block in &mut self.blocks {
            if let (BlockKind::ToolCall { .. }, Cow::Owned(mended)) = (&block.kind, well_formed(&block.text)) {
                block.text = mended;
            }
        }
    }

    /// Takes one more event.
    ///
    /// # Errors
    /// The [`Failure`] that it tells of.
    pub fn take(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Start { model } => self.model = model,
            Event::Open { kind, .. } => self.blocks.push(Block {
                kind,
                text: String::new(),
                seal: None,
            }),
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
