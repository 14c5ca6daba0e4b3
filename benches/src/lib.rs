//! Shared support for the benchmarks.
//!
//! A benchmark of a gateway measures the machine, the mock backend and the load client as much as
//! the gateway, so all three are here, small and fast, over bare TCP: what they cost is what is left
//! when nothing stands between them, and that is measured in the same run as the gateway.
//!
//! A benchmark of the engine needs repositories instead: [`trees`] cuts them out of clones, and
//! [`subject`] puts an engine over one.
//!
//! ```
//! use muninn_benches::stats;
//!
//! assert_eq!(stats::percentile(&mut [4.0, 1.0, 3.0, 2.0], 0.5), Some(2.0));
//! ```

pub mod abstain;
pub mod answer;
pub mod bodies;
pub mod client;
pub mod command_line;
pub mod connection;
pub mod conversion;
#[cfg(feature = "gateway")]
pub mod explore;
pub mod format;
pub mod gateway_process;
pub mod gateway_role;
pub mod git;
pub mod grep;
pub mod http1;
pub mod instances;
pub mod learning;
pub mod limits;
pub mod localization;
pub mod matrix;
pub mod measure;
pub mod memory_scale;
pub mod options;
pub mod overhead;
#[cfg(feature = "gateway")]
pub mod pairs;
#[cfg(feature = "gateway")]
pub mod past_sessions;
pub mod procfs;
pub mod recall;
pub mod reconcile_scale;
pub mod record_store;
pub mod report;
pub mod scale;
#[cfg(feature = "gateway")]
mod scripted;
pub mod soak;
pub mod sse;
pub mod stamp;
pub mod stand;
pub mod stats;
pub mod streams;
pub mod subject;
pub mod subprocess;
pub mod syntax;
pub mod trees;
pub mod upstream;
pub mod vectors;
