//! Learning from a conversation by asking a model, where its user has one for it.
//!
//! The rest of [`learn`](super) writes down what was done; a model can also say why, and what is worth knowing the next
//! time. What it is told was written by others, and what it says is a guess. So a conversation reaches it as data, in a
//! frame that the data cannot close, without secrets and within a number of tokens; and its answer is read to the letter,
//! redacted, kept with little confidence, and signed with the model's name.

mod notes;
mod prompt;

use muninn_repo_tools::Until;

use super::Turn;
use crate::model::{Ask, Choice, Message, Model, ModelError, Reply};
use crate::tokens;

pub use notes::{Notes, NotesError};

/// A turn as a model is told of it.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredTurn<'a> {
    /// What was asked and done.
    pub turn: &'a Turn,
    /// What the agent said in the end; empty where that is not known.
    pub answer: &'a str,
}

/// A question to a model: what did these turns come to?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryPrompt {
    text: String,
    tokens: u32,
}

impl SummaryPrompt {
    /// The question about these turns, oldest first, that is no longer than `most` tokens; the oldest are left out where
    /// there are too many. `None` where nothing was done in any of them, and where not even the newest can be told.
    #[must_use]
    pub fn about(turns: &[AnsweredTurn<'_>], most: u32) -> Option<SummaryPrompt> {
        if turns.iter().all(|told| told.turn.is_empty()) {
            return None;
        }
        let text = prompt::write(turns, most.saturating_sub(prompt::overhead()))?;
        let tokens = prompt::overhead().saturating_add(tokens::count(&text));
        Some(SummaryPrompt { text, tokens })
    }

    /// How long it is, instructions and all.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Asks a model, once.
    ///
    /// # Errors
    /// Those of the model.
    pub fn ask(&self, model: &dyn Model, max_answer_tokens: u32, until: &Until) -> Result<Reply, ModelError> {
        let ask = Ask {
            system: prompt::INSTRUCTIONS,
            messages: &[Message::User(self.text.clone())],
            tools: &[],
            choice: Choice::Auto,
            shape: None,
            max_tokens: max_answer_tokens,
        };
        model.ask(&ask, until)
    }
}

#[cfg(test)]
mod tests;
