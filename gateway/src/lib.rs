//! The gateway: HTTP, wire formats, backends, injection, configuration and the commands of the binary `muninn`.
//!
//! This is the only crate that knows HTTP, the command line, the environment and configuration files. A request enters
//! through [`mod@http`] and is read by `muninn_wire` and `session`. `inject` and the crates below provide its blocks,
//! and `backend` sends it. ARCHITECTURE.md describes each step.

pub mod cli;

pub use cli::run;

/// Requests begin on one thread and end on another (receipts, learned requests), for which glibc's allocator takes locks that
/// workers then wait for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
