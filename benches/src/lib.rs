//! Shared support for the benchmarks.
