//! The hooks of coding agents: the input of an event becomes a call of the application, and the reply the client's JSON.
//!
//! A hook must never stop the user's work. Whatever is wrong with the input, there is no output, and the caller exits with
//! code 0: Claude Code blocks the prompt if a hook exits with 2.

mod addresses;
mod event;
mod payload;
mod reply;

pub use event::Event;
pub use payload::request;
pub use reply::{InputError, answer, read};
