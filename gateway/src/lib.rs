//! The gateway: HTTP, wire formats, backends, injection, configuration and the commands of the binary `muninn`.
//!
//! This is the only crate that knows HTTP, the command line, the environment and configuration files. A request enters
//! through [`mod@http`] and is read by `muninn_wire` and `session`. `inject` and the crates below provide its blocks,
//! and `backend` sends it. ARCHITECTURE.md describes each step.

mod allocator;
pub mod cli;

pub use cli::run;
