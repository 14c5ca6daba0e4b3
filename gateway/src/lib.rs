//! The gateway: HTTP, wire formats, backends, injection, configuration and the commands of the binary `muninn`.
//!
//! This is the only floor that knows HTTP, the command line, the environment and configuration files. A request comes in
//! through [`server`], is read by [`wire`] and [`session`], gets its blocks from [`inject`] and the floors below, and
//! leaves through [`backend`]. ARCHITECTURE.md follows it on its way.

pub mod backend;
pub mod cli;
pub mod config;
pub mod inject;
pub mod server;
pub mod session;
pub mod store;
pub mod wire;

pub use cli::run;
