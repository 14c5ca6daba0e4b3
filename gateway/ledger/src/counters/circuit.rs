//! The circuit breaker: skips a backend that keeps failing, so that requests do not wait for it.
//!
//! A circuit counts failures in a row. At the configured number it opens: requests are refused at once, or go to a
//! fallback. After a cool-down one request is admitted as a probe, and others are still refused. A successful probe
//! closes the circuit; a failed probe opens it again for twice as long.

use std::time::{Duration, Instant};

use muninn_config::CircuitConfig;
use serde::Serialize;

/// The circuit of one backend.
#[derive(Debug)]
pub(super) struct Circuit {
    phase: Phase,
    /// The failures in a row since the last success.
    failures: u32,
    /// The next cool-down.
    cooldown: Duration,
    /// Incremented when the circuit opens, starts a probe or closes. Outcomes of requests that were admitted in an
    /// earlier epoch are ignored, so a burst of requests that fail together opens the circuit once.
    epoch: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed,
    /// Requests are refused until `until`; the next one is the probe.
    Open {
        until: Instant,
    },
    /// The probe is under way; other requests are refused.
    Probing,
}

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

/// A request was refused by an open circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitOpen {
    /// The time until a retry is admitted; zero while a probe is under way.
    pub retry_after: Duration,
}

/// The right to send one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    at: Instant,
    epoch: u64,
    is_probe: bool,
}

/// The outcome of an admitted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitOutcome {
    /// The backend answered without a failure of its own.
    Succeeded,
    /// The backend failed.
    Failed,
    /// The client left before the answer: nothing changes, and the next request may be the probe.
    Cancelled,
}

impl Circuit {
    /// A closed circuit.
    pub(super) fn new(config: CircuitConfig) -> Circuit {
        Circuit { phase: Phase::Closed, failures: 0, cooldown: config.cooldown, epoch: 0 }
    }

    pub(super) fn admit(&mut self, config: CircuitConfig, now: Instant) -> Result<Admission, CircuitOpen> {
        // A reload may have changed the configuration since the last request.
        self.cooldown = self.cooldown.clamp(config.cooldown, longest(config));
        let is_probe = match self.phase {
            Phase::Closed => false,
            Phase::Open { until } if now >= until => {
                self.enter(Phase::Probing);
                true
            }
            Phase::Open { until } => {
                return Err(CircuitOpen { retry_after: until - now });
            }
            Phase::Probing => {
                return Err(CircuitOpen { retry_after: Duration::ZERO });
            }
        };
        Ok(Admission { at: now, epoch: self.epoch, is_probe })
    }

    pub(super) fn end(&mut self, config: CircuitConfig, admission: Admission, outcome: CircuitOutcome, now: Instant) {
        if self.epoch != admission.epoch {
            return;
        }
        match outcome {
            CircuitOutcome::Succeeded => {
                self.failures = 0;
                if self.phase != Phase::Closed {
                    self.cooldown = config.cooldown;
                    self.enter(Phase::Closed);
                }
            }
            CircuitOutcome::Failed => {
                self.failures = self.failures.saturating_add(1);
                let enough = config.failures > 0 && self.failures >= config.failures;
                if admission.is_probe || enough {
                    self.enter(Phase::Open { until: now + self.cooldown });
                    self.cooldown = (self.cooldown * 2).min(longest(config));
                }
            }
            // The cool-down was over when the probe was admitted, so the next request is the probe.
            CircuitOutcome::Cancelled if admission.is_probe => self.enter(Phase::Open { until: admission.at }),
            CircuitOutcome::Cancelled => {}
        }
    }

    pub(super) fn state(&self, now: Instant) -> (CircuitState, u32) {
        let state = match self.phase {
            Phase::Closed => CircuitState::Closed,
            Phase::Open { until } if now < until => CircuitState::Open,
            Phase::Open { .. } | Phase::Probing => CircuitState::HalfOpen,
        };
        (state, self.failures)
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }
}

fn longest(config: CircuitConfig) -> Duration {
    config.longest_cooldown.max(config.cooldown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONFIG: CircuitConfig =
        CircuitConfig { failures: 3, cooldown: Duration::from_secs(2), longest_cooldown: Duration::from_secs(5) };

    fn circuit() -> (Circuit, Instant) {
        (Circuit::new(CONFIG), Instant::now())
    }

    fn admit(circuit: &mut Circuit, now: Instant) -> Result<Admission, Duration> {
        circuit.admit(CONFIG, now).map_err(|refused| refused.retry_after)
    }

    fn ask(circuit: &mut Circuit, now: Instant, end: CircuitOutcome) {
        let admission = admit(circuit, now).unwrap();
        circuit.end(CONFIG, admission, end, now);
    }

    fn fail(circuit: &mut Circuit, now: Instant) {
        ask(circuit, now, CircuitOutcome::Failed);
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn failures_in_a_row_open_the_circuit_and_a_success_resets_their_count() {
        let (mut circuit, now) = circuit();
        fail(&mut circuit, now);
        fail(&mut circuit, now);
        ask(&mut circuit, now, CircuitOutcome::Succeeded);
        fail(&mut circuit, now);
        fail(&mut circuit, now);
        assert_eq!(circuit.state(now), (CircuitState::Closed, 2));
        fail(&mut circuit, now);
        assert_eq!(circuit.state(now), (CircuitState::Open, 3));
        assert_eq!(admit(&mut circuit, now + secs(1)), Err(secs(1)));
    }

    #[test]
    fn one_probe_is_admitted_and_closes_the_circuit() {
        let (mut circuit, now) = circuit();
        (0..3).for_each(|_| fail(&mut circuit, now));
        let later = now + secs(2);
        assert_eq!(circuit.state(later).0, CircuitState::HalfOpen);
        let probe = admit(&mut circuit, later).unwrap();
        assert_eq!(admit(&mut circuit, later), Err(Duration::ZERO));
        circuit.end(CONFIG, probe, CircuitOutcome::Succeeded, later);
        assert_eq!(circuit.state(later), (CircuitState::Closed, 0));
        assert!(admit(&mut circuit, later).is_ok());
    }

    #[test]
    fn each_failed_probe_doubles_the_cooldown_up_to_the_longest() {
        let (mut circuit, mut now) = circuit();
        (0..3).for_each(|_| fail(&mut circuit, now));
        for expected in [2, 4, 5, 5] {
            let retry_after = admit(&mut circuit, now).unwrap_err();
            assert_eq!(retry_after, secs(expected));
            now += retry_after;
            fail(&mut circuit, now);
        }
        now += secs(5);
        ask(&mut circuit, now, CircuitOutcome::Succeeded);
        (0..3).for_each(|_| fail(&mut circuit, now));
        assert_eq!(admit(&mut circuit, now), Err(secs(2)), "a success resets the cool-down");
    }

    #[test]
    fn cancelled_probe_is_replaced_by_the_next_request() {
        let (mut circuit, now) = circuit();
        (0..3).for_each(|_| fail(&mut circuit, now));
        let later = now + secs(2);
        ask(&mut circuit, later, CircuitOutcome::Cancelled);
        assert_eq!(circuit.state(later), (CircuitState::HalfOpen, 3));
        ask(&mut circuit, later, CircuitOutcome::Succeeded);
        assert_eq!(circuit.state(later).0, CircuitState::Closed);
    }

    #[test]
    fn failures_of_requests_admitted_before_the_opening_are_ignored() {
        let (mut circuit, now) = circuit();
        let early: Vec<_> = (0..5).map(|_| admit(&mut circuit, now).unwrap()).collect();
        for admission in early {
            circuit.end(CONFIG, admission, CircuitOutcome::Failed, now);
        }
        assert_eq!(circuit.state(now), (CircuitState::Open, 3));
        assert_eq!(admit(&mut circuit, now), Err(secs(2)));
    }

    #[test]
    fn circuit_with_zero_failures_configured_never_opens() {
        let config = CircuitConfig { failures: 0, ..CONFIG };
        let (mut circuit, now) = (Circuit::new(config), Instant::now());
        for _ in 0..100 {
            let admission = circuit.admit(config, now).unwrap();
            circuit.end(config, admission, CircuitOutcome::Failed, now);
        }
        assert_eq!(circuit.state(now), (CircuitState::Closed, 100));
    }

    #[derive(Debug, Clone)]
    enum Event {
        Ask,
        CircuitOutcome(usize, CircuitOutcome),
        Wait(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        let end = |end| (0..8_usize).prop_map(move |at| Event::CircuitOutcome(at, end));
        prop_oneof![
            4 => Just(Event::Ask),
            2 => end(CircuitOutcome::Succeeded),
            4 => end(CircuitOutcome::Failed),
            2 => end(CircuitOutcome::Cancelled),
            2 => (0..6_000_u64).prop_map(Event::Wait),
        ]
    }

    proptest! {
        #[test]
        fn at_most_one_probe_runs_and_open_circuits_can_close(events in proptest::collection::vec(event(), 0..80)) {
            let (mut circuit, mut now) = circuit();
            let mut admitted: Vec<Admission> = Vec::new();
            for event in events {
                match event {
                    Event::Ask => admitted.extend(admit(&mut circuit, now)),
                    Event::CircuitOutcome(at, end) if !admitted.is_empty() => {
                        let admission = admitted.remove(at % admitted.len());
                        circuit.end(CONFIG, admission, end, now);
                    }
                    Event::CircuitOutcome(..) => {}
                    Event::Wait(ms) => now += Duration::from_millis(ms),
                }
                prop_assert!(admitted.iter().filter(|admission| admission.is_probe).count() <= 1);
            }
            // Once all requests have ended and a cool-down has passed, a request is admitted and can close the circuit.
            for admission in admitted {
                circuit.end(CONFIG, admission, CircuitOutcome::Cancelled, now);
            }
            now += CONFIG.longest_cooldown;
            let admission = admit(&mut circuit, now);
            prop_assert!(admission.is_ok());
            circuit.end(CONFIG, admission.unwrap(), CircuitOutcome::Succeeded, now);
            prop_assert_eq!(circuit.state(now), (CircuitState::Closed, 0));
        }
    }
}
