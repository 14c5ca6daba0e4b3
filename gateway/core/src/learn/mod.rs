//! Learning from conversations in the background.
//!
//! A request with a new human turn holds everything that the agent did for the turn before, so that turn is learned from
//! then. The last turn of a conversation is learned from after an idle time, or when the gateway stops: from the last
//! request and the answer to it, of which the door keeps a copy ([`ObservedAnswer`]). One thread does the work, from the
//! bodies as they came in: they hold nothing that Muninn adds, and no request waits. If the thread falls behind, requests
//! are dropped. If the user configured a summarizer, another thread also summarises conversations that have ended.

pub mod answer;
mod conversation;
mod conversations;
mod flush;
mod guard;
mod host;
mod learner;
mod observe;
mod place;
mod summarize;
mod summarizer;
mod usage;

pub use answer::{AnswerRecorder, ObservedAnswer};
pub use conversation::SummarizerChoice;
pub use flush::flush;
pub(super) use guard::{MOST_BYTES, guarded};
pub use host::SummarizerHost;
pub use learner::Learner;
pub use observe::{ObservedConversation, ObservedRequest, Observing};
pub use place::place;
