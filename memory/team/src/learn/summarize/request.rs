use muninn_base::Until;
use muninn_text::model::{Message, Model, ModelError, ModelRequest, Reply, ToolMode};
use muninn_text::tokens;

use super::prompt;
use super::turn::AnsweredTurn;

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
