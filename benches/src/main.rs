//! Shared support for the benchmarks.
//!
//! A benchmark of the gateway also measures the mock backend and the load client. [`upstream`] and [`client`] are
//! therefore small and fast, and the same run measures them without a gateway. Where speed does not count, fakes and
//! clients come from `muninn_tests`.
//!
//! A benchmark of the engine needs repositories: [`trees`] checks them out of clones, and [`subject`] opens an engine over
//! one.
//!
//! ```
//! use muninn_benches::stats;
//!
//! assert_eq!(stats::percentile(&mut [4.0, 1.0, 3.0, 2.0], 0.5), Some(2.0));
//! ```

pub mod abstain;
#[cfg(feature = "gateway")]
pub mod admit;
pub mod answer;
pub mod bodies;
pub mod client;
pub mod command_line;
pub mod connection;
#[cfg(feature = "gateway")]
pub mod conversion;
#[cfg(feature = "gateway")]
pub mod decisions;
#[cfg(feature = "gateway")]
pub mod explore;
pub mod format;
#[cfg(feature = "gateway")]
pub mod gateway_process;
#[cfg(feature = "gateway")]
pub mod hooks;
pub mod http1;
pub mod instances;
pub mod json_lines;
pub mod limits;
pub mod localization;
pub mod matrix;
pub mod measure;
pub mod memory_scale;
pub mod options;
#[cfg(feature = "gateway")]
pub mod overhead;
#[cfg(feature = "gateway")]
pub mod packs;
#[cfg(feature = "gateway")]
pub mod pairs;
#[cfg(feature = "gateway")]
pub mod past_sessions;
pub mod place;
pub mod procfs;
pub mod recall;
pub mod reconcile_scale;
pub mod record_store;
#[cfg(feature = "gateway")]
mod remembered;
pub mod report;
pub mod scale;
#[cfg(feature = "gateway")]
mod scripted;
#[cfg(feature = "gateway")]
pub mod soak;
pub mod sse;
pub mod stamp;
pub mod stand;
pub mod stats;
#[cfg(feature = "gateway")]
pub mod streams;
pub mod subject;
pub mod subprocess;
pub mod trees;
#[cfg(feature = "gateway")]
pub mod turns;
pub mod upstream;
#[cfg(feature = "gateway")]
pub mod value;
