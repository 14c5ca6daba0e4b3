//! Rate limits of access keys and circuits of backends.
//!
//! Several replicas would have to share these, so they belong to the store. A single process keeps them in memory
//! ([`LocalCounters`]) and starts with zero.

mod circuit;
mod counting;
mod local;
mod window;

pub use circuit::{Admission, CircuitOpen, CircuitOutcome, CircuitState};
pub use counting::{CircuitId, Counters};
pub use local::LocalCounters;
