//! The interface to language models that explore, summarize and reconcile.
//!
//! The interface is declared here, in the lowest crate that needs it. The gateway implements it over its backends,
//! because only the gateway knows HTTP and wire formats. Each request carries the whole conversation; no state is kept
//! between calls.

pub mod answer;
mod exchange;

pub use exchange::{
    AnswerSchema, Message, Model, ModelError, ModelRequest, PendingReply, Reply, Tool, ToolInvocation, ToolMode,
    ToolOutput, Usage, block_on,
};
