//! Models whose answers are scripts, at a socket, and the gateway's own way to them.

pub(crate) mod heard;
pub(crate) mod remote;
pub(crate) mod said;
pub(crate) mod server;
