//! A backend that records requests and answers with a function or a script.

pub mod answers;
mod connection;
mod exchange;
mod head;
mod script;
mod server;

#[cfg(unix)]
pub use connection::reset;
pub use connection::until_closed;
pub(crate) use exchange::Kind;
pub(super) use exchange::Shared;
pub use exchange::{Recorded, Reply};
pub use script::{Control, Script, script};
pub use server::Upstream;
