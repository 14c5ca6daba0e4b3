//! The gateway: HTTP, wire formats, backends, injection, configuration and the commands of the binary `muninn`.
//!
//! This is the only crate that knows HTTP, the command line, the environment and configuration files. A request enters
//! through [`mod@http`] and is read by `muninn_wire` and [`session`]. [`inject`] and the crates below provide its blocks,
//! and [`backend`] sends it. ARCHITECTURE.md describes each step.

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

pub use cli::run;
