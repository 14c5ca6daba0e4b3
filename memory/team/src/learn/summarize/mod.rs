//! Learning from a conversation with a model, if the user configured one.
//!
//! The rest of [`learn`](super) records actions. A model can also record reasons and lessons. The conversation is
//! untrusted text, and the model's answer is a guess. Therefore the conversation is sent as data, in a frame that the
//! data cannot close, without secrets and within a token limit. The answer is parsed strictly, redacted, stored with
//! low confidence, and signed with the model's name.

mod notes;
mod prompt;

use muninn_base::Until;
use muninn_text::model::{Message, Model, ModelError, ModelRequest, Reply, ToolMode};
use muninn_text::tokens;

use super::Turn;

pub use notes::{Notes, NotesError};

/// A turn with the agent's answer.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredTurn<'a> {
    /// The question and the actions.
    pub turn: &'a Turn,
    /// The agent's final answer; empty if unknown.
    pub answer: &'a str,
}

/// A request to a model to summarize turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryPrompt {
    text: String,
    tokens: u32,
}

impl SummaryPrompt {
    /// A prompt about these turns, oldest first, of at most `most` tokens. The oldest turns are dropped if there are
    /// too many. `None` if no turn has actions, or if not even the newest fits.
    pub fn about(turns: &[AnsweredTurn<'_>], most: u32) -> Option<SummaryPrompt> {
        if turns.iter().all(|answered| answered.turn.is_empty()) {
            return None;
        }
        let text = prompt::write(turns, most.saturating_sub(prompt::overhead()))?;
        let tokens = prompt::overhead().saturating_add(tokens::count(&text));
        Some(SummaryPrompt { text, tokens })
    }

    /// Length of the request, instructions included.
    pub fn tokens(&self) -> u32 {
        self.tokens
    }

    /// Asks a model, once.
    ///
    /// # Errors
    /// The model's error.
    pub fn ask(&self, model: &dyn Model, max_answer_tokens: u32, until: &Until) -> Result<Reply, ModelError> {
        let ask = ModelRequest {
            system: prompt::INSTRUCTIONS,
            messages: &[Message::User(self.text.clone())],
            tools: &[],
            choice: ToolMode::Auto,
            shape: None,
            max_tokens: max_answer_tokens,
        };
        model.ask(&ask, until)
    }
}

#[cfg(test)]
mod tests;
