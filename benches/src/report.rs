//! The report of the overhead benchmark: one JSON object on one line.
//!
//! Times are milliseconds, memory is MB of 10^6 bytes. Each figure is the median over rounds of
//! that round's value. A figure that could not be taken is left out.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stats::median;

/// The whole report.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// One entry per cell of the matrix.
    pub runs: Vec<Run>,
    /// Our gateway's resident memory before the first request, the repository indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_idle_mb: Option<f64>,
    /// Its highest resident memory over the matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_peak_mb: Option<f64>,
    /// Growth of memory in a fresh gateway, context off.
    #[serde(flatten)]
    pub growth: Option<Growth>,
    /// The same with context on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_context_on: Option<Growth>,
    /// The machine's load average over a minute, at the start and at the end.
    pub load1: [Option<f64>; 2],
}

/// Resident memory of a gateway after so many requests of 2 kB.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Growth {
    /// After 2,000 requests.
    pub rss_at_2000_mb: f64,
    /// After 10,000 requests.
    pub rss_at_10000_mb: f64,
}

/// One cell of the matrix.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Request body in bytes.
    pub body: usize,
    /// Concurrent clients.
    pub clients: usize,
    /// Milliseconds between events.
    pub pace_ms: u64,
    /// `off` or `on`.
    pub context: &'static str,
    /// Without a gateway.
    pub direct: Figures,
    /// Through the gateway under test.
    pub gateway: Figures,
    /// The gateway's median time to the first byte, less the direct one.
    pub added_first_p50_ms: f64,
    /// The gateway's requests per second as a share of the direct ones.
    pub rps_ratio: f64,
    /// Bytes that the gateway added to a request body, on average: shows that context was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_body_bytes: Option<f64>,
    /// Other gateways in the same rounds, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<String, Figures>,
}

/// The measurements of one target in one cell.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figures {
    /// Time from sending to the first byte of the answer's body, median.
    pub first_p50_ms: f64,
    /// The same, 99th percentile.
    pub first_p99_ms: f64,
    /// Time between events as they reach the client, median.
    pub gap_p50_ms: f64,
    /// The same, 99th percentile.
    pub gap_p99_ms: f64,
    /// Of paced answers: time from the mock's sending of a word to the client's reading, median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_p50_ms: Option<f64>,
    /// The same, 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_p99_ms: Option<f64>,
    /// Requests per second.
    pub rps: f64,
    /// CPU time of the target's process per request, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_request: Option<f64>,
}

impl Figures {
    /// The medians of the figures of several rounds.
    pub fn medians<'a>(rounds: impl IntoIterator<Item = &'a Self>) -> Self {
        let rounds: Vec<&Self> = rounds.into_iter().collect();
        let of = |field: fn(&Self) -> f64| {
            let value = median(rounds.iter().map(|one| field(one)).collect()).unwrap_or_default();
            rounded(value)
        };
        let of_some = |field: fn(&Self) -> Option<f64>| {
            let values = rounds.iter().filter_map(|one| field(one)).collect();
            median(values).map(rounded)
        };
        Self {
            first_p50_ms: of(|one| one.first_p50_ms),
            first_p99_ms: of(|one| one.first_p99_ms),
            gap_p50_ms: of(|one| one.gap_p50_ms),
            gap_p99_ms: of(|one| one.gap_p99_ms),
            delay_p50_ms: of_some(|one| one.delay_p50_ms),
            delay_p99_ms: of_some(|one| one.delay_p99_ms),
            rps: of(|one| one.rps),
            cpu_us_per_request: of_some(|one| one.cpu_us_per_request),
        }
    }
}

/// A figure with the four digits after the point that it deserves at most.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_of_each_field() {
        let round = |first: f64, rps: f64, cpu: Option<f64>| Figures {
            first_p50_ms: first,
            rps,
            cpu_us_per_request: cpu,
            ..Figures::default()
        };
        let rounds = [round(1.0, 30.0, Some(5.0)), round(3.0, 10.0, None), round(2.0, 20.000_01, Some(7.0))];
        let figures = Figures::medians(&rounds);
        assert_eq!(figures.first_p50_ms, 2.0);
        assert_eq!(figures.rps, 20.0);
        assert_eq!(figures.cpu_us_per_request, Some(5.0));
    }

    #[test]
    fn growth_stands_among_the_other_fields() {
        let growth = Growth { rss_at_2000_mb: 30.5, rss_at_10000_mb: 31.0 };
        let report = Report { growth: Some(growth), growth_context_on: Some(growth), ..Report::default() };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["rss_at_2000_mb"], 30.5);
        assert_eq!(json["growth_context_on"]["rss_at_10000_mb"], 31.0);
        assert!(json.get("rss_idle_mb").is_none());
    }
}
