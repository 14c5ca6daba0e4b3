//! The value of a pack: the estimate at its request, and the effect on its turn. `context-engine/src/value.rs` is the
//! cost model. The unit is the price of an input token that is not cached.

use muninn_context_engine::value::{Prices, spared_calls};
use serde::{Deserialize, Serialize};

/// The estimated value of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The price of the block over the run.
    pub price: f64,
    /// The expected gain in spared calls. Absent for a client without file tools, which has no calls to spare.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gain: Option<f64>,
    /// The worth of one spared exploring call: its price, less in a repository of which the map names a large share. Absent
    /// without `gain`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<f64>,
}

impl Estimate {
    /// The estimate of a block of this many tokens. `map` is the expected gain of its map, and the share of a call's price
    /// that a call is worth which it spares.
    pub fn new(prices: &Prices, tokens: u32, map: Option<(f32, f32)>) -> Estimate {
        Estimate {
            price: rounded(prices.of_tokens(tokens)),
            gain: map.map(|(gain, _)| rounded(gain)),
            call: map.map(|(_, share)| rounded(share * prices.of_call())),
        }
    }
}

/// The effect of a map on its turn, from the tool calls and the answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The exploring calls (search, list, read) before the first use of a place's file and before the first edit; all of
    /// the turn if there was neither.
    pub exploring_calls: u32,
    /// The places whose file was read, edited or cited.
    pub places_used: u32,
    /// The edited files that the pack did not name.
    pub files_missed: u32,
    /// The exploring calls that the map spared: an estimate that errs on the low side.
    pub spared_calls: f64,
    /// The price of the spared calls; absent if the receipt has no price of a call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gain: Option<f64>,
}

impl Effect {
    /// Sets the spared calls and their price. `reached`: the exploring calls before the first use of a place's file;
    /// `None` if the turn used none.
    pub fn with_gain(self, reached: Option<u32>, estimate: Option<&Estimate>) -> Effect {
        let spared = rounded(reached.map_or(0.0, spared_calls));
        let call = estimate.and_then(|estimate| estimate.call);
        Effect { spared_calls: spared, gain: call.map(|call| (spared * call).round()), ..self }
    }
}

/// Rounds to three decimal digits, which stay the same through repeated writing and parsing.
pub fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e3).round() / 1e3
}
