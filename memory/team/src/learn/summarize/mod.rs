//! Learning from a conversation with a model, if the user configured one.
//!
//! The rest of [`learn`](super) records actions. A model can also record reasons and lessons. The conversation is
//! untrusted text, and the model's answer is a guess. Therefore the conversation is sent as data, in a frame that the
//! data cannot close, without secrets and within a token limit. The answer is parsed strictly, redacted, stored with
//! low confidence, and signed with the model's name.

mod notes;
mod prompt;
mod request;
mod turn;

pub use notes::{Notes, NotesError};
pub use request::SummaryPrompt;
pub use turn::AnsweredTurn;
