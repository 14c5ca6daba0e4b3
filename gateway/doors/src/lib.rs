//! The doors for agents beside HTTP: the Model Context Protocol, the hooks of coding agents, and the daemon that answers
//! both through a socket.

#[cfg(unix)]
pub mod daemon;
pub mod hooks;
pub mod mcp;
pub mod socket;
