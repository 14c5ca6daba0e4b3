//! Writer of sampling parameters and stop sequences.

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::request::{Dropped, Sampling};
use super::capabilities::{Capabilities, Thinking, ThinkingPlan};

/// A number: the client's JSON text or Muninn's own value.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Number<'r> {
    Client(&'r RawValue),
    Own(u64),
}

/// Reads a number of tokens in any notation.
pub(super) fn token_count(raw: &RawValue) -> Option<u64> {
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
pub(super) type SamplingParameters<'r> = (Option<&'r RawValue>, Option<&'r RawValue>, Option<&'r RawValue>);

/// Returns the parameters that the model accepts and counts the others as dropped.
pub(super) fn sampling<'r>(
    sampling: &Sampling<'r>,
    capabilities: Capabilities,
    plan: &ThinkingPlan,
    dropped: &mut Dropped,
) -> SamplingParameters<'r> {
    let value = |raw: &RawValue| raw.get().parse::<f64>().unwrap_or_default();
    let thinks = matches!(plan.thinking, Some(Thinking::Enabled { .. } | Thinking::Adaptive { .. }));
    let mut drop = |name: &str, when: bool| {
        if when {
            dropped.add(name);
        }
        !when
    };
    // The API's default temperature is 1, so dropping a 1 changes nothing and is not counted.
    let temperature = sampling.temperature.filter(|raw| {
        let refused = thinks || !capabilities.sampling;
        drop("temperature", refused && value(raw) < 1.0) && !refused
    });
    let top_p = sampling.top_p.filter(|raw| {
        let refused = !capabilities.sampling
            || (thinks && value(raw) < 0.95)
            || (capabilities.top_p_excludes_temperature && temperature.is_some());
        drop("top_p", refused && value(raw) < 1.0) && !refused
    });
    let top_k = sampling.top_k.filter(|_| drop("top_k", thinks || !capabilities.sampling));
    for (name, penalty) in
        [("presence_penalty", sampling.presence_penalty), ("frequency_penalty", sampling.frequency_penalty)]
    {
        drop(name, penalty.is_some_and(|raw| value(raw) != 0.0));
    }
    drop("seed", sampling.seed.is_some());
    (temperature, top_p, top_k)
}
