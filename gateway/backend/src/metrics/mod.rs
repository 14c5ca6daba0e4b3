//! The metrics of a gateway, which Prometheus reads from `GET /metrics`.
//!
//! Metrics contain no text of prompts. Every label has few values, all known beforehand: configured names of keys and
//! backends, and constants. Names from clients or backends (models, unknown fields, other hosts) are no labels or
//! become `other`, because each new label value stays in memory.
//!
//! A running request costs two counts, at its start and its end. Everything else is recorded once, after the last byte
//! of its answer, by [`Metrics::finished`].

mod counters;
mod labels;
mod recent;
mod requests;

pub use counters::{Active, Metrics};
pub use recent::AddedTimes;
pub use requests::{CONTENT_TYPE, FinishedRequest, ForwardedRequest};
