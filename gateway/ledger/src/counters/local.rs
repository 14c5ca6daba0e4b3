//! The counters of one process, in memory.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use muninn_config::CircuitConfig;
use parking_lot::{Mutex, MutexGuard};

use super::circuit::Circuit;
use super::window::Window;
use super::{Admission, CircuitId, CircuitOpen, CircuitOutcome, CircuitState, Counters};
use crate::StoreError;

/// Counters in the memory of one process.
#[derive(Debug, Default)]
pub struct LocalCounters {
    uses: Mutex<HashMap<String, Window>>,
    circuits: Mutex<HashMap<CircuitId, Circuit>>,
}

impl LocalCounters {
    fn circuits(&self) -> MutexGuard<'_, HashMap<CircuitId, Circuit>> {
        self.circuits.lock()
    }
}

#[async_trait]
impl Counters for LocalCounters {
    async fn count_use(&self, key: &str, limit: u32, now: Instant) -> Result<Result<(), Duration>, StoreError> {
        let mut uses = self.uses.lock();
        let window = match uses.get_mut(key) {
            Some(window) => window,
            None => uses.entry(key.to_owned()).or_default(),
        };
        Ok(window.count(limit, now))
    }

    fn note_refused(&self, key: &str) {
        if let Some(window) = self.uses.lock().get_mut(key) {
            window.take_back();
        }
    }

    async fn admit(
        &self,
        circuit: &CircuitId,
        config: CircuitConfig,
        now: Instant,
    ) -> Result<Result<Admission, CircuitOpen>, StoreError> {
        let mut circuits = self.circuits();
        let known = match circuits.get_mut(circuit) {
            Some(known) => known,
            None => circuits.entry(circuit.clone()).or_insert_with(|| Circuit::new(config)),
        };
        Ok(known.admit(config, now))
    }

    fn note_end(
        &self,
        circuit: &CircuitId,
        config: CircuitConfig,
        admission: Admission,
        outcome: CircuitOutcome,
        now: Instant,
    ) {
        if let Some(known) = self.circuits().get_mut(circuit) {
            known.end(config, admission, outcome, now);
        }
    }

    async fn circuit(&self, circuit: &CircuitId, now: Instant) -> Result<(CircuitState, u32), StoreError> {
        let state = self.circuits().get(circuit).map(|known| known.state(now));
        Ok(state.unwrap_or((CircuitState::Closed, 0)))
    }

    fn note_gone(&self, circuit: &CircuitId) {
        self.circuits().remove(circuit);
    }
}
