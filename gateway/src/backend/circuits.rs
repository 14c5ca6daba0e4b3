//! The circuits of all backends, by name and address. What they count is the store's.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;

use crate::config::CircuitConfig;
use crate::store::{Admission, CircuitId, CircuitOpen, CircuitOutcome, CircuitState, Counters, StoreError};

/// Hands out one circuit for each backend, made when it is first asked for. Clones share them.
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
    /// What its circuit is doing.
    pub state: CircuitState,
    /// Failures in a row.
    pub failures: u32,
}

impl Circuits {
    /// None yet.
    #[must_use]
    pub fn new(config: CircuitConfig, counters: Arc<dyn Counters>) -> Circuits {
        Circuits {
            config,
            counters,
            known: Arc::default(),
        }
    }

    /// The circuit of a backend.
    #[must_use]
    pub fn of(&self, name: &str, url: &str) -> Arc<Circuit> {
        let id = CircuitId {
            backend: name.into(),
            url: url.into(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let circuit = known.entry(id).or_insert_with_key(|id| {
            Arc::new(Circuit {
                id: id.clone(),
                config: self.config,
                counters: Arc::clone(&self.counters),
            })
        });
        Arc::clone(circuit)
    }

    /// None yet under a new configuration; what was counted of backends that do not stay is forgotten.
    #[must_use]
    pub fn renewed(&self, config: CircuitConfig, stays: impl Fn(&str, &str) -> bool) -> Circuits {
        let renewed = Circuits::new(config, Arc::clone(&self.counters));
        for circuit in self.known() {
            let id = &circuit.id;
            match stays(&id.backend, &id.url) {
                true => drop(renewed.of(&id.backend, &id.url)),
                false => self.counters.note_gone(id),
            }
        }
        renewed
    }

    /// What all of them are doing, by name.
    pub async fn report(&self, now: Instant) -> Vec<CircuitReport> {
        let mut reports = Vec::new();
        for circuit in self.known() {
            match circuit.state(now).await {
                Ok((state, failures)) => reports.push(CircuitReport {
                    backend: circuit.id.backend.to_string(),
                    state,
                    failures,
                }),
                Err(error) => tracing::warn!(%error, "the circuit of {} is not known", circuit.id.backend),
            }
        }
        reports
    }

    fn known(&self) -> Vec<Arc<Circuit>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().cloned().collect()
    }
}

/// The circuit of one backend.
pub struct Circuit {
    id: CircuitId,
    config: CircuitConfig,
    counters: Arc<dyn Counters>,
}

impl fmt::Debug for Circuit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Circuit").field(&self.id).finish()
    }
}

impl Circuit {
    /// Asks whether a request may be sent. Where nobody can be asked it may: what is wrong with our store keeps no
    /// request from its backend.
    ///
    /// # Errors
    /// [`CircuitOpen`] where the circuit is open.
    pub async fn admit(self: &Arc<Self>, now: Instant) -> Result<Permit, CircuitOpen> {
        let admission = match self.counters.admit(&self.id, self.config, now).await {
            Ok(admission) => Some(admission?),
            Err(error) => {
                tracing::warn!(%error, "the circuit of {} is not known", self.id.backend);
                None
            }
        };
        Ok(Permit {
            circuit: Arc::clone(self),
            admission,
        })
    }

    /// What it is doing, and the failures in a row.
    ///
    /// # Errors
    /// [`StoreError`] where nobody can be asked.
    pub async fn state(&self, now: Instant) -> Result<(CircuitState, u32), StoreError> {
        self.counters.circuit(&self.id, now).await
    }
}

/// The right to send one request. Whoever has it says how the request went; dropped without a word, because its client
/// left, it changes nothing, and a probe's place is free for another.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    circuit: Arc<Circuit>,
    admission: Option<Admission>,
}

impl Permit {
    /// The backend answered, and not with a failure of its own.
    pub fn succeed(mut self) {
        self.end(CircuitOutcome::Succeeded);
    }

    /// The backend failed.
    pub fn fail(mut self) {
        self.end(CircuitOutcome::Failed);
    }

    fn end(&mut self, end: CircuitOutcome) {
        if let Some(admission) = self.admission.take() {
            let Circuit { id, config, counters } = &*self.circuit;
            counters.note_end(id, *config, admission, end, Instant::now());
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end(CircuitOutcome::Cancelled);
    }
}
