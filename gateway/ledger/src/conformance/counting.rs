//! Rate limits and circuits. The clock is passed in.

use std::time::{Duration, Instant};

use muninn_config::CircuitConfig;

use super::TestStores;
use crate::{CircuitId, CircuitOutcome, CircuitState};

const CONFIG: CircuitConfig =
    CircuitConfig { failures: 2, cooldown: Duration::from_secs(2), longest_cooldown: Duration::from_secs(5) };

fn backend(name: &str) -> CircuitId {
    CircuitId { backend: name.into(), url: "http://127.0.0.1:1".into() }
}

pub(crate) async fn uses_of_a_key_are_counted_within_a_minute(subject: &impl TestStores) {
    let (counters, start) = (subject.open().counters(), Instant::now());
    let count = async |key: &str, limit, second| {
        let now = start + Duration::from_secs(second);
        counters.count_use(key, limit, now).await.unwrap()
    };
    assert_eq!(count("ana", 2, 0).await, Ok(()));
    assert_eq!(count("ana", 2, 30).await, Ok(()));
    assert_eq!(count("ana", 2, 40).await, Err(Duration::from_secs(20)));
    assert_eq!(count("ben", 2, 40).await, Ok(()), "each key has its own count");
    assert_eq!(count("ana", 3, 40).await, Ok(()), "a raised limit holds at once");
    assert_eq!(count("ana", 2, 60).await, Err(Duration::from_secs(30)), "a lowered limit holds at once");
    assert_eq!(count("ana", 2, 100).await, Ok(()));
    assert!(count("ana", 1, 100).await.is_err());
    counters.note_refused("ana");
    counters.note_refused("nobody");
    assert_eq!(count("ana", 1, 100).await, Ok(()), "a refused request does not count");
}

pub(crate) async fn circuit_opens_admits_one_probe_and_closes(subject: &impl TestStores) {
    let (counters, start) = (subject.open().counters(), Instant::now());
    let (circuit, other) = (backend("a"), backend("b"));
    let admit = async |circuit: &CircuitId, now| counters.admit(circuit, CONFIG, now).await.unwrap();
    for _ in 0..2 {
        let admission = admit(&circuit, start).await.unwrap();
        counters.note_end(&circuit, CONFIG, admission, CircuitOutcome::Failed, start);
    }
    assert_eq!(counters.circuit(&circuit, start).await.unwrap(), (CircuitState::Open, 2));
    assert_eq!(admit(&circuit, start).await.unwrap_err().retry_after, CONFIG.cooldown);
    assert!(admit(&other, start).await.is_ok(), "each backend has its own circuit");
    let later = start + CONFIG.cooldown;
    let left = admit(&circuit, later).await.unwrap();
    assert_eq!(admit(&circuit, later).await.unwrap_err().retry_after, Duration::ZERO);
    counters.note_end(&circuit, CONFIG, left, CircuitOutcome::Cancelled, later);
    let probe = admit(&circuit, later).await.unwrap();
    assert_eq!(counters.circuit(&circuit, later).await.unwrap().0, CircuitState::HalfOpen);
    counters.note_end(&circuit, CONFIG, probe, CircuitOutcome::Succeeded, later);
    assert_eq!(counters.circuit(&circuit, later).await.unwrap(), (CircuitState::Closed, 0));
}

pub(crate) async fn unknown_and_forgotten_circuits_are_closed(subject: &impl TestStores) {
    let (counters, now, circuit) = (subject.open().counters(), Instant::now(), backend("a"));
    assert_eq!(counters.circuit(&circuit, now).await.unwrap(), (CircuitState::Closed, 0));
    let once = CircuitConfig { failures: 1, ..CONFIG };
    let admission = counters.admit(&circuit, once, now).await.unwrap().unwrap();
    counters.note_end(&circuit, once, admission, CircuitOutcome::Failed, now);
    assert_eq!(counters.circuit(&circuit, now).await.unwrap(), (CircuitState::Open, 1));
    counters.note_gone(&circuit);
    assert_eq!(counters.circuit(&circuit, now).await.unwrap(), (CircuitState::Closed, 0));
}
