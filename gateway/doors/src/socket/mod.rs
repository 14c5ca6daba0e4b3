//! The user's socket: programs of one user on one machine call each other, so that the index is in memory once.
//!
//! A connection carries one call: one line of JSON to the server and one line back. Closing the connection cancels the call. The socket and the types of this module know nothing of what a
//! request means.
//!
//! Both sides must have the same version, because requests and replies are types of one binary. `status` and `stop` are
//! understood by every version.

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod listener;
#[cfg(unix)]
mod place;
mod protocol;
#[cfg(unix)]
mod start;

#[cfg(unix)]
pub use client::{CallError, call, status, stop};
#[cfg(unix)]
pub use listener::{ClaimError, Listener, is_own};
#[cfg(unix)]
pub use muninn_config::ownership::OwnershipError;
#[cfg(unix)]
pub use place::Place;
pub use protocol::{Answer, Call, Host, MOST_BYTES, Method, Status, VERSION, is_older};
#[cfg(unix)]
pub use start::{Start, start};
