use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use muninn_config::CircuitConfig;

use super::super::StoreError;
use super::circuit::{Admission, CircuitOpen, CircuitOutcome, CircuitState};

/// A backend's name and address, which identify its circuit across reloads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CircuitId {
    /// The backend's name.
    pub backend: Arc<str>,
    /// Its address.
    pub url: Arc<str>,
}

/// The counters. Callers pass the current time. The methods named `note_` return at once; their effect may follow
/// later.
#[async_trait]
pub trait Counters: Send + Sync {
    /// Counts a use of an access key, unless it was used `limit` times within the last minute. In that case the inner
    /// error is the time until the next use is admitted.
    ///
    /// # Errors
    /// [`StoreError`] if the counters are not available.
    async fn count_use(&self, key: &str, limit: u32, now: Instant) -> Result<Result<(), Duration>, StoreError>;

    /// Takes the newest use of an access key back: the request was refused.
    fn note_refused(&self, key: &str);

    /// Admits a request to a backend, or refuses it because the circuit is open. `config` holds the circuit's limits.
    ///
    /// # Errors
    /// [`StoreError`] if the counters are not available.
    async fn admit(
        &self,
        circuit: &CircuitId,
        config: CircuitConfig,
        now: Instant,
    ) -> Result<Result<Admission, CircuitOpen>, StoreError>;

    /// Records the outcome of an admitted request.
    fn note_end(
        &self,
        circuit: &CircuitId,
        config: CircuitConfig,
        admission: Admission,
        outcome: CircuitOutcome,
        now: Instant,
    );

    /// The state of a circuit and its failures in a row. An unused circuit is closed.
    ///
    /// # Errors
    /// [`StoreError`] if the counters are not available.
    async fn circuit(&self, circuit: &CircuitId, now: Instant) -> Result<(CircuitState, u32), StoreError>;

    /// Forgets a circuit whose backend is no longer configured.
    fn note_gone(&self, circuit: &CircuitId);
}
