//! What requests are counted for beside the ledger: how often an access key asks, and how a backend does.
//!
//! Several replicas would have to count these together, so they are asked of the store. One process alone counts in
//! memory ([`LocalCounters`]), and a restart begins anew.

mod circuit;
mod local;
mod window;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::StoreError;
use crate::config::CircuitConfig;

pub use circuit::{Admission, CircuitOpen, CircuitOutcome, CircuitState};
pub use local::LocalCounters;

/// A backend's name and address: what stays the same while a configuration is read again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CircuitId {
    /// The backend's name.
    pub backend: Arc<str>,
    /// Its address.
    pub url: Arc<str>,
}

/// The counters. The clock is passed in; those methods named `note_` return at once and are carried out later.
#[async_trait]
pub trait Counters: Send + Sync {
    /// Counts a use of an access key, unless it was used `limit` times within the last minute. Then it gives how long
    /// it is until a use would be counted.
    ///
    /// # Errors
    /// [`StoreError`] where nobody can be asked.
    async fn count_use(&self, key: &str, limit: u32, now: Instant) -> Result<Result<(), Duration>, StoreError>;

    /// Asks whether a request may be sent to a backend, whose circuit opens and closes as `config` says.
    ///
    /// # Errors
    /// [`StoreError`] where nobody can be asked.
    async fn admit(
        &self,
        circuit: &CircuitId,
        config: CircuitConfig,
        now: Instant,
    ) -> Result<Result<Admission, CircuitOpen>, StoreError>;

    /// Notes how a request ended that was admitted.
    fn note_end(
        &self,
        circuit: &CircuitId,
        config: CircuitConfig,
        admission: Admission,
        end: CircuitOutcome,
        now: Instant,
    );

    /// What a circuit is doing, and the failures in a row. One that nobody asked for is closed.
    ///
    /// # Errors
    /// [`StoreError`] where nobody can be asked.
    async fn circuit(&self, circuit: &CircuitId, now: Instant) -> Result<(CircuitState, u32), StoreError>;

    /// Forgets a circuit: no configuration names its backend any more.
    fn note_gone(&self, circuit: &CircuitId);
}
