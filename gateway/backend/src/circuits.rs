//! The circuit breakers of all backends, by name and address. Their counters are in the store.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use muninn_config::CircuitConfig;
use muninn_ledger::{Admission, CircuitId, CircuitOpen, CircuitOutcome, CircuitState, Counters, StoreError};
use parking_lot::Mutex;
use serde::Serialize;

/// Creates and returns one circuit per backend. Clones share the circuits.
#[derive(Clone)]
pub struct Circuits {
    config: CircuitConfig,
    counters: Arc<dyn Counters>,
    known: Arc<Mutex<BTreeMap<CircuitId, Arc<Circuit>>>>,
}

/// One backend's circuit, for metrics, `status` and `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CircuitReport {
    /// The backend's name.
    pub backend: String,
    pub state: CircuitState,
    /// Failures in a row.
    pub failures: u32,
}

impl Circuits {
    /// Creates an empty set.
    pub fn new(config: CircuitConfig, counters: Arc<dyn Counters>) -> Circuits {
        Circuits { config, counters, known: Arc::default() }
    }

    /// Returns the circuit of a backend, created on first use.
    pub fn of(&self, name: &str, url: &str) -> Arc<Circuit> {
        let id = CircuitId { backend: name.into(), url: url.into() };
        let mut known = self.known.lock();
        let circuit = known.entry(id).or_insert_with_key(|id| {
            let counters = Arc::clone(&self.counters);
            Arc::new(Circuit { id: id.clone(), config: self.config, counters, fails: AtomicBool::new(false) })
        });
        Arc::clone(circuit)
    }

    /// Returns the circuits under a new configuration. `is_kept` gets a backend's name and address; the counters of
    /// other backends are deleted.
    pub fn renewed(&self, config: CircuitConfig, is_kept: impl Fn(&str, &str) -> bool) -> Circuits {
        let renewed = Circuits::new(config, Arc::clone(&self.counters));
        for circuit in self.known() {
            let id = &circuit.id;
            if is_kept(&id.backend, &id.url) {
                drop(renewed.of(&id.backend, &id.url));
            } else {
                self.counters.note_gone(id);
            }
        }
        renewed
    }

    /// Returns the states of all circuits, ordered by name. A circuit whose state cannot be read is logged and left
    /// out.
    pub async fn report(&self, now: Instant) -> Vec<CircuitReport> {
        let mut reports = Vec::new();
        for circuit in self.known() {
            match circuit.state(now).await {
                Ok((state, failures)) => {
                    reports.push(CircuitReport { backend: circuit.id.backend.to_string(), state, failures });
                }
                Err(error) => tracing::warn!(%error, "cannot read the circuit of backend {}", circuit.id.backend),
            }
        }
        reports
    }

    fn known(&self) -> Vec<Arc<Circuit>> {
        let known = self.known.lock();
        known.values().cloned().collect()
    }

    /// Creates a set with default limits and counters in memory.
    #[cfg(test)]
    pub(crate) fn local() -> Circuits {
        let limits = muninn_config::LimitsConfig::default();
        Circuits::new(limits.circuit, Arc::new(muninn_ledger::LocalCounters::default()))
    }
}

/// The circuit of one backend.
pub struct Circuit {
    id: CircuitId,
    config: CircuitConfig,
    counters: Arc<dyn Counters>,
    /// Whether the last request that this process sent failed.
    fails: AtomicBool,
}

impl fmt::Debug for Circuit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Circuit").field(&self.id).finish()
    }
}

impl Circuit {
    /// Requests the permit to send one request. If the store fails, the request may be sent (invariant 4).
    ///
    /// # Errors
    /// [`CircuitOpen`] if the circuit is open.
    pub async fn admit(self: &Arc<Self>, now: Instant) -> Result<Permit, CircuitOpen> {
        let admission = match self.counters.admit(&self.id, self.config, now).await {
            Ok(admission) => Some(admission?),
            Err(error) => {
                tracing::warn!(%error, "cannot read the circuit of backend {}", self.id.backend);
                None
            }
        };
        Ok(Permit { circuit: Arc::clone(self), admission })
    }

    /// Returns the state and the number of failures in a row.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    pub async fn state(&self, now: Instant) -> Result<(CircuitState, u32), StoreError> {
        self.counters.circuit(&self.id, now).await
    }
}

/// The right to send one request. Its holder reports the outcome. If it is dropped without a report, because the client
/// left, the failures stay as they are and another request may probe.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    circuit: Arc<Circuit>,
    admission: Option<Admission>,
}

impl Permit {
    /// Reports an answer that is no failure of the backend. Returns whether the request before it failed.
    pub fn succeed(mut self) -> bool {
        self.end(CircuitOutcome::Succeeded);
        self.circuit.fails.swap(false, Ordering::Relaxed)
    }

    /// Reports a failure of the backend. Returns whether it is the first since an answer.
    pub fn fail(mut self) -> bool {
        self.end(CircuitOutcome::Failed);
        !self.circuit.fails.swap(true, Ordering::Relaxed)
    }

    fn end(&mut self, outcome: CircuitOutcome) {
        if let Some(admission) = self.admission.take() {
            let Circuit { id, config, counters, .. } = &*self.circuit;
            counters.note_end(id, *config, admission, outcome, Instant::now());
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end(CircuitOutcome::Cancelled);
    }
}
