//! Length, sampling and stopping, as far as the model takes them.

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, Sampling};
use super::capabilities::{Capabilities, Thinking, ThinkingPlan};

#[derive(Serialize)]
#[serde(untagged)]
/// A number: the client's, as it wrote it, or our own.
pub(super) enum Number<'r> {
    Theirs(&'r RawValue),
    Ours(u64),
}

/// A count of tokens, from a number in any notation.
pub(super) fn count(raw: &RawValue) -> Option<u64> {
    if let Ok(count) = raw.get().parse() {
        return Some(count);
    }
    let count = raw.get().parse::<f64>().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and a bound need not be exact"
    )]
    Some(count as u64)
}

/// `temperature`, `top_p` and `top_k`.
pub(super) type SamplingParameters<'r> = (Option<Number<'r>>, Option<&'r RawValue>, Option<&'r RawValue>);

/// Writes what the model takes, and names the rest.
pub(super) fn sampling<'r>(
    sampling: &Sampling<'r>,
    capabilities: Capabilities,
    plan: &ThinkingPlan,
    dropped: &mut Dropped,
) -> SamplingParameters<'r> {
    let value = |raw: &RawValue| raw.get().parse::<f64>().unwrap_or_default();
    let thinks = matches!(
        plan.thinking,
        Some(Thinking::Enabled { .. } | Thinking::Adaptive { .. })
    );
    let mut drop = |name: &str, when: bool| {
        if when {
            dropped.add(name);
        }
        !when
    };
    // One is what it is without being said.
    let temperature = sampling.temperature.filter(|raw| {
        let refused = thinks || !capabilities.sampling;
        drop("temperature", refused && value(raw) < 1.0) && !refused
    });
    let top_p = sampling.top_p.filter(|raw| {
        let refused = !capabilities.sampling
            || (thinks && value(raw) < 0.95)
            || (capabilities.one_of_both && temperature.is_some());
        drop("top_p", refused && value(raw) < 1.0) && !refused
    });
    let top_k = sampling
        .top_k
        .filter(|_| drop("top_k", thinks || !capabilities.sampling));
    for (name, penalty) in [
        ("presence_penalty", sampling.presence_penalty),
        ("frequency_penalty", sampling.frequency_penalty),
    ] {
        drop(name, penalty.is_some_and(|raw| value(raw) != 0.0));
    }
    drop("seed", sampling.seed.is_some());
    // Other formats go up to 2.
    let temperature = temperature.map(|raw| match value(raw) {
        1.0.. => Number::Ours(1),
        _ => Number::Theirs(raw),
    });
    (temperature, top_p, top_k)
}

/// The API refuses a stop sequence of nothing but white space.
pub(super) fn stops<'r>(sampling: &'r Sampling<'_>, dropped: &mut Dropped) -> Vec<&'r str> {
    let mut stops = Vec::with_capacity(sampling.stop.len());
    for stop in &sampling.stop {
        if stop.trim().is_empty() {
            dropped.add("stop");
        } else {
            stops.push(&**stop);
        }
    }
    stops
}
