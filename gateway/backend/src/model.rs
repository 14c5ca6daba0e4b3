//! A backend's model for Muninn's own tasks: exploring, summarizing and reconciling.
//!
//! Questions are built in the neutral form of [`convert`] ([`ask`]) and reuse the writers and readers of the formats,
//! which are tested against real backends. They are sent like every request, by [`attempt`], with the backend's circuit
//! and retries. At the caller's deadline the request is cancelled, which closes the connection to the backend.
//!
//! [`convert`]: muninn_wire::convert
//! [`attempt`]: super::attempt

mod ask;
mod failure;
mod fetch;
mod remote;

pub(super) use failure::{unreachable, unusable};
pub use remote::RemoteModel;
