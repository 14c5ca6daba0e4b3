//! The transcripts of clients, as requests in the client's wire format.
//!
//! Claude Code and Codex append each message of a conversation to a file, in the format in which they send it. A plugin of
//! opencode passes the messages of its session instead. From either this module makes a request body that holds the same
//! turns as the client's next request, so that a hook is planned and learned from like a request. Messages are copied
//! verbatim.
//!
//! A transcript is read as a whole, because its turns name the conversation. The messages before a compaction are dropped,
//! as the client drops them. Where the rest is larger than `MOST_BYTES`, the oldest messages are dropped down to
//! half of it. What is dropped depends only on the lines before, so the conversation does not change with each new line.

mod claude;
mod client;
mod codex;
mod opencode;
mod reading;

pub use client::{Client, Transcript};
pub use reading::{TranscriptError, UnknownClient};
