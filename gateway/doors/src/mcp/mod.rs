//! The MCP door: the tools, memories and receipts of a repository for clients of the Model Context Protocol.
//!
//! `server` handles the protocol's requests with the official SDK, which speaks all revisions. `offer` lists the tools,
//! `call` waits for one, `resources`, `skills` and `prompts` are the protocol's other lists. `source` says who answers. `stdio` serves
//! one client on the standard streams, `http` all clients of a gateway.

mod call;
mod http;
mod lines;
mod offer;
mod prompts;
mod resources;
mod server;
mod skills;
mod source;
mod stdio;

pub use http::service;
pub use offer::{Offer, UnknownTool};
pub use source::{Answer, Answerer, LocalClient};
pub use stdio::serve;

#[cfg(test)]
mod tests;
