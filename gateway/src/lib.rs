//! The gateway: HTTP, wire formats, backends, injection, configuration and the commands of the binary `muninn`.
//!
//! This is the only crate that knows HTTP, the command line, the environment and configuration files. A request enters
//! through [`mod@http`] and is read by [`wire`] and [`session`]. [`inject`] and the crates below provide its blocks,
//! and [`backend`] sends it. ARCHITECTURE.md describes each step.
//!
//! A block is inserted into a body without changing any other byte:
//!
//! ```
//! use muninn_gateway::inject::splice;
//! use muninn_gateway::wire::{ParseError, Prompt, Site, WireFormat};
//!
//! let body = r#"{"messages": [{"role": "user", "content": "hi"}], "seed": 1.0}"#;
//! let prompt = Prompt::parse(WireFormat::Chat, body.as_bytes())?;
//! let insertions = prompt.insert(Site { message: 0, block: 0 }, "a block");
//! assert_eq!(
//!     splice(body.as_bytes(), insertions),
//!     r#"{"messages": [{"role": "user", "content": "hi\n\na block"}], "seed": 1.0}"#
//! );
//! # Ok::<(), ParseError>(())
//! ```

pub mod access;
pub mod app;
pub mod backend;
pub mod cli;
pub mod config;
#[cfg(unix)]
pub mod daemon;
mod hooks;
pub mod http;
pub mod inject;
pub mod mcp;
pub mod metrics;
pub mod model;
#[cfg(unix)]
mod ownership;
mod pattern;
mod percent;
pub mod personal;
pub mod presence;
pub mod secrets;
pub mod session;
pub mod socket;
pub mod socket_owner;
pub mod store;
pub mod transcript;
pub mod wire;

pub use cli::run;
