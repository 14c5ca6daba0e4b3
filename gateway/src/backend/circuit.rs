//! A backend that keeps failing is left alone for a while, so that nobody waits for it in vain.
//!
//! A circuit counts failures in a row. Enough of them open it, and requests are refused at once, or go to a fallback.
//! After a cool-down one request is let through as a probe while others are still refused; its success closes the
//! circuit, its failure opens it again for twice as long. All workers share a backend's circuit. The clock is passed in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::config::CircuitConfig;

/// The circuit of one backend.
#[derive(Debug)]
pub struct Circuit {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: CircuitConfig,
    phase: Phase,
    /// In a row, since the last success.
    failures: u32,
    /// How long it is opened the next time.
    cooldown: Duration,
    /// Goes up when a circuit opens, starts a probe or closes. What requests from before then report says nothing new:
    /// a burst of them that fail together is one reason to open it, and not many.
    epoch: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    /// Nobody passes until then, and then one.
    Open {
        until: Instant,
    },
    /// One has passed, and nobody else does until it is back.
    Probing,
}

/// What a circuit is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// Requests pass.
    Closed,
    /// Requests are refused.
    Open,
    /// The next request passes as a probe, or one is under way.
    HalfOpen,
}

/// A request is refused because of an open circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// When to ask again; zero while a probe is under way, whose end nobody knows.
    pub retry_after: Duration,
}

/// The right to send one request. Whoever has it says how the request went; dropped without a word, because its client
/// left, it changes nothing, and a probe's place is free for another.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    circuit: Arc<Circuit>,
    admitted: Instant,
    epoch: u64,
    is_probe: bool,
    is_settled: bool,
}

impl Circuit {
    /// A closed one.
    #[must_use]
    pub fn new(config: CircuitConfig) -> Circuit {
        Circuit {
            inner: Mutex::new(Inner {
                config,
                phase: Phase::Closed,
                failures: 0,
                cooldown: config.cooldown,
                epoch: 0,
            }),
        }
    }

    /// Changes when it opens from now on; what it counted stays.
    pub fn set_config(&self, config: CircuitConfig) {
        let mut inner = self.lock();
        inner.cooldown = inner
            .cooldown
            .clamp(config.cooldown, config.longest_cooldown.max(config.cooldown));
        inner.config = config;
    }

    /// Asks whether a request may be sent.
    ///
    /// # Errors
    /// [`Refused`] where the circuit is open.
    pub fn admit(self: &Arc<Self>, now: Instant) -> Result<Permit, Refused> {
        let mut inner = self.lock();
        let is_probe = match inner.phase {
            Phase::Closed => false,
            Phase::Open { until } if now >= until => {
                inner.enter(Phase::Probing);
                true
            }
            Phase::Open { until } => {
                return Err(Refused {
                    retry_after: until - now,
                });
            }
            Phase::Probing => {
                return Err(Refused {
                    retry_after: Duration::ZERO,
                });
            }
        };
        Ok(Permit {
            circuit: Arc::clone(self),
            admitted: now,
            epoch: inner.epoch,
            is_probe,
            is_settled: false,
        })
    }

    /// What it is doing, and the failures in a row.
    #[must_use]
    pub fn state(&self, now: Instant) -> (CircuitState, u32) {
        let inner = self.lock();
        let state = match inner.phase {
            Phase::Closed => CircuitState::Closed,
            Phase::Open { until } if now < until => CircuitState::Open,
            Phase::Open { .. } | Phase::Probing => CircuitState::HalfOpen,
        };
        (state, inner.failures)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }

    fn open(&mut self, now: Instant) {
        self.enter(Phase::Open {
            until: now + self.cooldown,
        });
        let longest = self.config.longest_cooldown.max(self.config.cooldown);
        self.cooldown = (self.cooldown * 2).min(longest);
    }
}

impl Permit {
    /// The backend answered, and not with a failure of its own.
    pub fn succeed(mut self) {
        self.is_settled = true;
        let mut inner = self.circuit.lock();
        if inner.epoch != self.epoch {
            return;
        }
        inner.failures = 0;
        if inner.phase != Phase::Closed {
            inner.cooldown = inner.config.cooldown;
            inner.enter(Phase::Closed);
        }
    }

    /// The backend failed.
    pub fn fail(mut self, now: Instant) {
        self.is_settled = true;
        let mut inner = self.circuit.lock();
        if inner.epoch != self.epoch {
            return;
        }
        inner.failures = inner.failures.saturating_add(1);
        let enough = inner.config.failures > 0 && inner.failures >= inner.config.failures;
        if self.is_probe || enough {
            inner.open(now);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.is_settled || !self.is_probe {
            return;
        }
        let mut inner = self.circuit.lock();
        if inner.epoch == self.epoch {
            // The cool-down was over when it was let through, so the next request is the probe.
            let until = self.admitted;
            inner.enter(Phase::Open { until });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONFIG: CircuitConfig = CircuitConfig {
        failures: 3,
        cooldown: Duration::from_secs(2),
        longest_cooldown: Duration::from_secs(5),
    };

    fn circuit() -> (Arc<Circuit>, Instant) {
        (Arc::new(Circuit::new(CONFIG)), Instant::now())
    }

    fn fail(circuit: &Arc<Circuit>, now: Instant) {
        circuit.admit(now).unwrap().fail(now);
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn failures_in_a_row_open_it_and_a_success_in_between_does_not_let_them() {
        let (circuit, now) = circuit();
        fail(&circuit, now);
        fail(&circuit, now);
        circuit.admit(now).unwrap().succeed();
        fail(&circuit, now);
        fail(&circuit, now);
        assert_eq!(circuit.state(now), (CircuitState::Closed, 2));
        fail(&circuit, now);
        assert_eq!(circuit.state(now), (CircuitState::Open, 3));
        assert_eq!(circuit.admit(now + secs(1)).unwrap_err().retry_after, secs(1));
    }

    #[test]
    fn one_probe_passes_and_closes_it() {
        let (circuit, now) = circuit();
        (0..3).for_each(|_| fail(&circuit, now));
        let later = now + secs(2);
        assert_eq!(circuit.state(later).0, CircuitState::HalfOpen);
        let probe = circuit.admit(later).unwrap();
        assert_eq!(circuit.admit(later).unwrap_err().retry_after, Duration::ZERO);
        probe.succeed();
        assert_eq!(circuit.state(later), (CircuitState::Closed, 0));
        let _passes = circuit.admit(later).unwrap();
    }

    #[test]
    fn each_failed_probe_doubles_the_cooldown_up_to_the_longest() {
        let (circuit, mut now) = circuit();
        (0..3).for_each(|_| fail(&circuit, now));
        for expected in [2, 4, 5, 5] {
            let refused = circuit.admit(now).unwrap_err();
            assert_eq!(refused.retry_after, secs(expected));
            now += refused.retry_after;
            fail(&circuit, now);
        }
        now += secs(5);
        circuit.admit(now).unwrap().succeed();
        (0..3).for_each(|_| fail(&circuit, now));
        assert_eq!(
            circuit.admit(now).unwrap_err().retry_after,
            secs(2),
            "a success starts anew"
        );
    }

    #[test]
    fn a_probe_whose_client_left_frees_its_place() {
        let (circuit, now) = circuit();
        (0..3).for_each(|_| fail(&circuit, now));
        let later = now + secs(2);
        drop(circuit.admit(later).unwrap());
        assert_eq!(circuit.state(later), (CircuitState::HalfOpen, 3));
        circuit.admit(later).unwrap().succeed();
        assert_eq!(circuit.state(later).0, CircuitState::Closed);
    }

    #[test]
    fn what_was_sent_before_it_opened_says_nothing_new() {
        let (circuit, now) = circuit();
        let early: Vec<_> = (0..5).map(|_| circuit.admit(now).unwrap()).collect();
        let mut early = early.into_iter();
        early.by_ref().take(3).for_each(|permit| permit.fail(now));
        assert_eq!(circuit.state(now), (CircuitState::Open, 3));
        early.for_each(|permit| permit.fail(now));
        assert_eq!(circuit.state(now), (CircuitState::Open, 3));
        assert_eq!(circuit.admit(now).unwrap_err().retry_after, secs(2));
    }

    #[test]
    fn no_failures_allowed_means_never() {
        let circuit = Arc::new(Circuit::new(CircuitConfig { failures: 0, ..CONFIG }));
        let now = Instant::now();
        (0..100).for_each(|_| fail(&circuit, now));
        assert_eq!(circuit.state(now), (CircuitState::Closed, 100));
    }

    #[derive(Debug, Clone)]
    enum Event {
        Ask,
        Succeed(usize),
        Fail(usize),
        Leave(usize),
        Wait(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            4 => Just(Event::Ask),
            2 => (0..8_usize).prop_map(Event::Succeed),
            4 => (0..8_usize).prop_map(Event::Fail),
            2 => (0..8_usize).prop_map(Event::Leave),
            2 => (0..6_000_u64).prop_map(Event::Wait),
        ]
    }

    proptest! {
        #[test]
        fn there_is_one_probe_at_most_and_it_never_stays_open(events in proptest::collection::vec(event(), 0..80)) {
            let (circuit, mut now) = circuit();
            let mut permits: Vec<Permit> = Vec::new();
            for event in events {
                let pick = |at: usize, permits: &mut Vec<Permit>| {
                    (!permits.is_empty()).then(|| permits.remove(at % permits.len()))
                };
                match event {
                    Event::Ask => permits.extend(circuit.admit(now)),
                    Event::Succeed(at) => pick(at, &mut permits).into_iter().for_each(Permit::succeed),
                    Event::Fail(at) => pick(at, &mut permits).into_iter().for_each(|permit| permit.fail(now)),
                    Event::Leave(at) => drop(pick(at, &mut permits)),
                    Event::Wait(ms) => now += Duration::from_millis(ms),
                }
                prop_assert!(permits.iter().filter(|permit| permit.is_probe).count() <= 1);
            }
            // Whatever has happened: once all requests are over, a cool-down later somebody passes and can close it.
            permits.clear();
            now += CONFIG.longest_cooldown;
            let permit = circuit.admit(now);
            prop_assert!(permit.is_ok());
            permit.into_iter().for_each(Permit::succeed);
            prop_assert_eq!(circuit.state(now), (CircuitState::Closed, 0));
        }
    }
}
