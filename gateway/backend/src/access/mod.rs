//! Access keys: authentication, permissions and rate limits.
//!
//! A gateway on loopback without keys serves every program of the machine. If keys are configured, every request needs
//! one, also from loopback. Muninn listens on addresses that other machines can reach only if keys are configured. An
//! access key is valid for Muninn only: the door removes it from the request, so that no later code can forward, log or
//! store it.

mod caller;
mod checks;
mod doors;
mod headers;
mod keys;
mod peer;

pub use caller::{Caller, Forbidden};
pub use checks::Access;
#[cfg(any(test, feature = "fixture"))]
pub use doors::page;
pub use doors::{CallerKind, ClosedDoor, Door, Rule};
pub use headers::{contains_key, remove_keys};
pub(super) use keys::ActiveKey;
pub use keys::Denied;
pub use peer::Peer;
