//! The circuits of all backends, by name and address.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;

use super::circuit::{Circuit, CircuitState};
use crate::config::CircuitConfig;

/// A backend's name and address: what stays the same while a configuration is read again.
type Key = (String, String);

/// Hands out one circuit for each backend, made when it is first asked for. Clones share them.
#[derive(Debug, Clone)]
pub struct Circuits {
    config: CircuitConfig,
    known: Arc<Mutex<BTreeMap<Key, Arc<Circuit>>>>,
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
    pub fn new(config: CircuitConfig) -> Circuits {
        Circuits {
            config,
            known: Arc::default(),
        }
    }

    /// The circuit of a backend.
    #[must_use]
    pub fn of(&self, name: &str, url: &str) -> Arc<Circuit> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let circuit = known
            .entry((name.to_owned(), url.to_owned()))
            .or_insert_with(|| Arc::new(Circuit::new(self.config)));
        Arc::clone(circuit)
    }

    /// The circuits that go on under a new configuration: those whose backend `stays`, with what they counted.
    #[must_use]
    pub fn renewed(&self, config: CircuitConfig, stays: impl Fn(&str, &str) -> bool) -> Circuits {
        let mut kept = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        kept.retain(|(name, url), _| stays(name, url));
        kept.values().for_each(|circuit| circuit.set_config(config));
        Circuits {
            config,
            known: Arc::new(Mutex::new(kept)),
        }
    }

    /// What all of them are doing, by name.
    #[must_use]
    pub fn report(&self, now: Instant) -> Vec<CircuitReport> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let report = |((name, _), circuit): (&Key, &Arc<Circuit>)| {
            let (state, failures) = circuit.state(now);
            CircuitReport {
                backend: name.clone(),
                state,
                failures,
            }
        };
        known.iter().map(report).collect()
    }
}
